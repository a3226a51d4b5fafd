#pragma once
// Small well-typed graphs of one op each, and inputs for them: the sample generator of the op
// table. Tests of every backend run them against the interpreter; fuzzing draws from them.
//
//   for (const OpSample& s : SamplesOf(Op::k_sum, f32, {.symbolic = 0b01, .extents = {7, 3, 2,
//   5}}))
//     ... s.graph has a symbol "a" where slot 0 stands and 3 where slot 1 does
//
// Every sample draws its dims from kSampleSlots slots. A slot is symbolic or has a fixed extent, so
// one op gives as many shape classes as there are subsets of slots. Samples are valid for all
// extents, 0 and 1 included, except where the op itself has an error to report at some of them.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace lathe::ir {

inline constexpr int kSampleSlots = 4;  // named a, b, c, d

struct SampleOptions {
  uint32_t symbolic = 0;                        // bit i: slot i is a symbol
  std::vector<int64_t> extents = {2, 3, 5, 4};  // by slot, of those that aren't; missing ones: 1
};

struct OpSample {
  std::string label;                 // "sum over the first axis"
  Graph graph;                       // inputs, the op, one output
  std::vector<std::string> symbols;  // by SymbolId, in order of first use
  std::vector<int> slots;            // of each symbol
  uint32_t used_slots = 0;           // bit i: slot i occurs in the sample, symbolic or not
  // Not OK if the builder refused the op at these fixed extents (the maximum of nothing): the same
  // symbolic sample reports it when it is called. The graph is then unfinished.
  absl::Status status;
};

// `dtype` is that of the operand that decides (for sources: of the result). Empty if the op doesn't
// take it; otherwise one to five samples.
std::vector<OpSample> SamplesOf(Op op, DType dtype, const SampleOptions& options);

// Inputs in call order for the given sizes by SymbolId; equal arguments give equal inputs. With
// `integer_valued`, floats are whole numbers so small that sums and short products are exact in any
// order; otherwise normal numbers with zeros, denormals and large ones among them, and integers
// with the ends of their range among them. Inputs that index (a gather, a scatter, ..) are valid
// indices, negative ones included (0 where there is nothing to index). A tensor that can't exist
// isn't ok().
std::vector<Tensor> SampleInputs(const Graph& graph, absl::Span<const int64_t> sizes, uint64_t seed,
                                 bool integer_valued);

// Inputs to time calls with: floats are normal numbers, none denormal, and integers 0 or 1, which
// most programs take as ids, masks and flags; 0 where the graph indexes fewer than two elements.
// Inputs that give sizes give these. Otherwise as SampleInputs.
std::vector<Tensor> TimingInputs(const Graph& graph, absl::Span<const int64_t> sizes,
                                 uint64_t seed);

// For an input whose elements give sizes (a shape input, the offsets of a ragged dim): elements
// that give these sizes, rows of different lengths among them. False, and nothing done, for others.
bool FillSizes(const Attrs& attrs, absl::Span<const int64_t> sizes, uint64_t seed, Tensor* t);

}  // namespace lathe::ir
