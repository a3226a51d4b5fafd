#pragma once
// The entry of a function: how its symbols come from the inputs' shapes, and what every call
// checks. Made once a function; the call path (runtime/call.cc) reads it. Everything that an error
// text needs is made here, so that no call touches the DimContext, on which a build may be at work.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/dim/dim_program.h"
#include "ir/graph.h"
#include "lathe/dim.h"
#include "lathe/tensor.h"

namespace lathe::rt {

struct EntryPlan {
  struct Axis {                     // input `input`, axis `axis` has extent coefficient*s + offset
    int32_t input = -1, axis = -1;  // input -1: the symbol is the constant `offset`, or derived
    int64_t coefficient = 0, offset = 0;
  };
  struct InputSpec {
    std::string name;
    DType dtype = DType::kF32;
    Shape shape;
    std::string text;  // "f32[batch, 768]"
  };
  // A symbol that is found with the help of others: (extent - rest) / coefficient of its Axis, or
  // just `rest` where no axis shows it ("a == b" is declared). Run in order, after the plain ones.
  struct Derived {
    int32_t symbol = 0;
    dim::DimProgram rest;  // inputs: all symbols
    int32_t slot = 0;
    // Slot of the coefficient where other symbols give it: the axis is a*b. -1: the Axis has it.
    int32_t coefficient_slot = -1;
    std::string coefficient_text;  // "a"
  };
  // A symbol that an element of a shape input gives; unless it `binds`, an earlier one has given
  // the symbol, and they must agree.
  struct Element {
    int32_t symbol = 0, input = 0, element = 0;
    bool binds = true;
  };
  // The offsets of a ragged dim (ir/ragged.h). A size is the constant `value`, or `symbol`, which
  // the data give if `binds`, an axis otherwise; then it is checked.
  struct Offsets {
    struct Size {
      int32_t symbol = -1;
      int64_t value = 0;
      bool binds = false;
    };
    int32_t input = 0;
    Size total, longest;
  };
  struct StaticAxis {
    int32_t input = 0, axis = 0;
    int64_t extent = 0;
  };
  struct DimAxis {  // the extent must equal `dim`; axes that bind are not among them
    int32_t input = 0, axis = 0;
    Dim dim;
    std::string text;                    // of the dim
    std::vector<dim::SymbolId> symbols;  // free in the dim
  };
  struct Check {
    Claim claim;                     // over symbols
    std::string text;                // "seq % 8 == 0, declared by dim seq (demo.lathe:1)"
    std::string claim_text, source;  // its two parts
    std::string lhs;                 // of the claim, as text
    bool remainder = false;          // lhs is `e % m`
    std::string dividend;            // of a remainder: `e`, unless it is a symbol
    int32_t slot = 0, lhs_slot = 0;  // in check_program
    int32_t dividend_slot = -1;
    std::vector<dim::SymbolId> symbols;  // free in the claim
  };

  std::vector<InputSpec> inputs;
  std::vector<Dim> symbols;  // in order of SymbolId; value slots 0..n-1 of every dim program
  std::vector<std::string> symbol_names;
  std::vector<Axis> bind;     // one a symbol
  std::vector<bool> derives;  // one a symbol: it has a row in `derived`
  std::vector<bool> unused;   // one a symbol: nothing needs it; `offset` is a made-up value
  std::vector<bool> limited;  // one a symbol: a call refuses values beyond ir::kMaxDim
  std::vector<std::string> data_origins;  // one a symbol: "element 0 of input target", or empty
  std::vector<Derived> derived;
  std::vector<Element> elements;
  std::vector<Offsets> offsets;
  std::vector<StaticAxis> static_axes;
  std::vector<DimAxis> dim_axes;
  dim::DimProgram check_program, output_program;   // inputs: all symbols
  std::vector<std::vector<int32_t>> output_slots;  // by output and axis, in output_program
  std::vector<Check> checks;  // declared and required facts that a call must satisfy

  // Whether every call has the same value of the symbol: `offset`.
  bool HasOneValue(size_t s) const {
    return bind[s].input < 0 && !derives[s] && data_origins[s].empty();
  }
  // Calls look at elements of inputs before they run.
  bool reads_data() const { return !elements.empty() || !offsets.empty(); }
  // Puts the sizes that elements give into `values`, where those from plain axes are already, and
  // checks offsets. Types, ranks, static extents and pointers are right. The call path's own: it
  // allocates nothing unless it fails.
  absl::Status ReadData(absl::Span<const Tensor> inputs, int64_t* values) const;

  // "batch = 3 (axis 0 of input x), seq = 7 (axis 1 of input x)" for the symbols given.
  std::string Describe(absl::Span<const dim::SymbolId> which,
                       absl::Span<const int64_t> values) const;
  // Fills in `values` (one a symbol) where `given` is false and the value follows from the others,
  // then checks all facts. InvalidArgument names what is missing or violated. A symbol that is
  // unused gets its made-up value even if it is given: a call could have no other.
  absl::Status Complete(const std::vector<bool>& given, std::vector<int64_t>& values) const;

  absl::StatusOr<std::vector<std::vector<int64_t>>> OutputShapes(
      absl::Span<const int64_t> values) const;

  // Cold side of the call path: what is wrong, with the input's name, axis, found and wanted.
  // OK if the inputs' count, types, ranks, static extents and binding axes are right.
  absl::Status InputError(absl::Span<const Tensor> inputs) const;
  // A limited size beyond ir::kMaxDim, if there is one.
  absl::Status LimitError(absl::Span<const int64_t> values) const;
  // `error`, with the value of the graph that is too large at these sizes, if there is one, and the
  // largest size found for which `fits` holds.
  absl::Status OverflowError(const ir::Graph& graph, const absl::Status& error,
                             absl::Span<const int64_t> values,
                             absl::FunctionRef<bool(absl::Span<const int64_t>)> fits) const;
  absl::Status DimAxisError(size_t dim_axis, int64_t found, int64_t wanted,
                            absl::Span<const int64_t> values) const;
  // Which fact `values` violate, by how much, with the symbols' origins.
  absl::Status CheckError(size_t check, absl::Span<const int64_t> values) const;

 private:
  absl::Status OffsetsFault(const Offsets& o, const Tensor& t, const std::string& fault) const;
  std::string SizeText(const Offsets::Size& size, const int64_t* values) const;
};

// FailedPrecondition if some symbol can't be found from the inputs' shapes. A symbol that nothing
// in the graph uses gets a value that satisfies its own facts.
absl::StatusOr<EntryPlan> MakeEntryPlan(const ir::Graph& graph);

}  // namespace lathe::rt
