#pragma once
// Staged: a program whose later sizes or steps depend on data. It runs stage after stage; tensors
// pass between stages in slots. A program without such data is one graph, and never one of these.
//
// A size that data gives is an integer tensor in a slot which the next graph takes as an input with
// `elements`: it becomes symbols there, with facts (0 <= k <= n), like every shape input. The sizes
// that earlier stages know travel in the same way. All graphs of a program share one DimContext,
// and a symbol stands for one size in all of them; in the body of a loop, for one of that step.
//
// Who makes one: the importer of models (compiler/onnx). Who runs one: Engine::compile
// (runtime/staged_state.h), and ir/staged_interpreter.h, its oracle.
#include <memory>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace lathe::ir {

struct Staged;

using SlotId = int;
inline constexpr SlotId kNoSlot = -1;

struct Stage {
  enum class Kind {
    kGraph,  // `graph` on `inputs` gives `outputs`
    kIf,     // bodies[0] if the bool scalar in `condition` holds, else bodies[1]
    kLoop,   // bodies[0] again and again
  };
  Kind kind = Kind::kGraph;
  std::string name;  // for messages: "loop 'encoder/Loop_3'"
  std::shared_ptr<Graph> graph;
  std::vector<SlotId> inputs, outputs;
  std::vector<std::shared_ptr<const Staged>> bodies;
  SlotId condition = kNoSlot;  // kIf; kLoop: whether the first step runs (none: it does)
  // kLoop. At most `trips` steps, of one element (none: as long as the condition holds).
  // The body takes [step i64 scalar] + the carried values + the rest of `inputs`; it gives
  // [condition bool scalar, if `gives_condition`] + the carried values + the scanned ones.
  // `inputs` are the carried values' first, then what every step sees. `outputs` are the carried
  // values' last, then each scanned value of all steps joined along a new first axis.
  SlotId trips = kNoSlot;
  int num_carried = 0;
  bool gives_condition = false;
  // kLoop: type of one step's scanned values, for a loop of no steps; extents in symbols that an
  // input of the loop knows, else 0 is taken.
  std::vector<ValueType> scanned;
};

struct Staged {
  std::string name;
  int num_slots = 0;
  std::vector<SlotId> inputs;  // slots that the caller fills, in order
  std::vector<std::string> input_names;
  std::vector<ValueType> input_types;
  std::vector<SlotId> outputs;  // slots that the caller gets; one may stand twice, or be an input
  std::vector<std::string> output_names;
  std::vector<Stage> stages;
};

// Slots are written once, before they are read; graphs have as many inputs and results as slots are
// given; bodies likewise, recursively to kMaxBlockDepth; element types of slots agree, and ranks
// where they are known; all graphs share one DimContext, and a loop ends by something. The graphs
// themselves are not looked into: Verify(graph) does that.
absl::Status Verify(const Staged& program);

// For people: a line a stage, graphs as their text.
std::string Print(const Staged& program);

// Every program and every graph in `program`, bodies included, each once, outer before inner.
std::vector<const Staged*> ProgramsOf(const Staged& program);
std::vector<std::shared_ptr<Graph>> GraphsOf(const Staged& program);

// What a call checks before anything runs, as a graph without results: the program's inputs, those
// of their elements that a stage outside bodies takes as sizes, and the declared facts of such
// stages about these sizes alone.
absl::StatusOr<Graph> EntryGraph(const Staged& program);

// What a loop's scanned values are after no steps: `graph` gives them, of extent 0, from the loop's
// inputs of these numbers, which show the symbols of their extents.
struct EmptyScans {
  Graph graph;
  std::vector<int> inputs;
};
absl::StatusOr<EmptyScans> MakeEmptyScans(const Staged& body, const Stage& loop);

// What controls a stage: the one element of a condition, or of a number of steps (i32 or i64).
// InvalidArgument if a tensor has none, or more.
absl::StatusOr<bool> ConditionOf(const Tensor& t);
absl::StatusOr<int64_t> TripsOf(const Tensor& t);

// "stage 3, loop 'encoder/Loop_3'"
std::string StageText(const Staged& program, size_t stage);

}  // namespace lathe::ir
