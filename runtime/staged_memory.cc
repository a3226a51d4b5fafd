#include "runtime/staged_memory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/input_data.h"
#include "ir/status_macros.h"

namespace lathe::rt {
namespace {

// Saturates like SaturatingAdd.
int64_t Product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

// What is known of a slot's value.
struct Held {
  int64_t bytes = 0;     // at most
  bool counted = false;  // among the bytes live in this frame: its memory is the frame's own
  bool own = false;      // written by a graph: no other slot shares its memory
  std::optional<int64_t> value;  // of an integer scalar, at most
};

struct Outcome {
  int64_t peak = 0;  // most bytes live in the frame
  std::vector<Held> outputs;
};

class Walker {
 public:
  Walker(const StagedState& state, const KnownSizes& sizes) : state_(state), sizes_(sizes) {}

  absl::StatusOr<StagedPeak> Run() {
    const StagedCode& code = state_.codes()[0];
    std::vector<Held> inputs;
    for (const ir::ValueType& type : code.program->input_types) {
      LATHE_ASSIGN_OR_RETURN(const int64_t bytes, BytesOf(type));
      inputs.push_back({.bytes = bytes});
    }
    LATHE_ASSIGN_OR_RETURN(const Outcome outcome, Walk(0, std::move(inputs)));
    // Outputs that may share memory are copied behind the run.
    int64_t copies = 0;
    for (size_t i = 0; i < outcome.outputs.size(); ++i) {
      const std::vector<ir::SlotId>& slots = code.program->outputs;
      const bool again = std::find(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(i),
                                   slots[i]) != slots.begin() + static_cast<std::ptrdiff_t>(i);
      if (again || !outcome.outputs[i].own)
        copies = SaturatingAdd(copies, outcome.outputs[i].bytes);
    }
    int64_t outputs = copies;
    for (const Held& h : outcome.outputs)
      if (h.counted) outputs = SaturatingAdd(outputs, h.bytes);
    return StagedPeak{arena_, std::max(outcome.peak, outputs)};
  }

 private:
  using Frame = std::vector<Held>;
  static Held& At(Frame& frame, ir::SlotId slot) { return frame[static_cast<size_t>(slot)]; }

  // The most that `d` can be, or which of its sizes is without a bound.
  absl::StatusOr<int64_t> MostOf(Dim d) const {
    const int64_t most = IntervalOf(d, sizes_).max;
    if (most != dim::kUnboundedMax) return std::max<int64_t>(most, 0);
    for (dim::SymbolId s : dim::FreeSymbols(d)) {
      if (s >= sizes_.range.size() || sizes_.bounded(s)) continue;
      const std::string& name = state_.entry().plan().symbol_names[s];
      return absl::FailedPreconditionError(
          absl::StrCat("size ", name, " has no upper bound: give it among the sizes, {\"", name,
                       "\", ..}, or declare a fact such as `", name, " <= n` where it is read"));
    }
    return absl::OutOfRangeError(absl::StrCat(d.ToString(), " may pass 64 bits"));
  }

  absl::StatusOr<int64_t> BytesOf(const ir::ValueType& type) const {
    int64_t bytes = SizeOf(type.dtype);
    for (Dim d : type.shape) {
      LATHE_ASSIGN_OR_RETURN(const int64_t extent, MostOf(d));
      bytes = Product(bytes, extent);
    }
    return AlignedBytes(bytes);
  }

  absl::StatusOr<Outcome> Walk(int number, std::vector<Held> inputs) {
    const StagedCode& code = state_.codes()[static_cast<size_t>(number)];
    Frame frame(static_cast<size_t>(code.program->num_slots));
    Outcome outcome;
    int64_t live = 0;
    const auto put = [&](ir::SlotId s, const Held& h) {
      At(frame, s) = h;
      if (h.counted) live = SaturatingAdd(live, h.bytes);
    };
    const auto drop = [&](ir::SlotId s) {
      if (At(frame, s).counted) live -= At(frame, s).bytes;
      At(frame, s).counted = false;
    };
    for (size_t i = 0; i < inputs.size(); ++i) put(code.program->inputs[i], inputs[i]);
    outcome.peak = live;
    for (ir::SlotId s : code.unused_inputs) drop(s);
    for (const StagedCode::Step& step : code.steps) {
      // What a body gets for good is counted there.
      std::vector<Held> given;
      for (size_t i = 0; i < step.stage->inputs.size(); ++i) {
        const ir::SlotId s = step.stage->inputs[i];
        given.push_back(At(frame, s));
        if (step.moves[i] && step.stage->graph == nullptr) {
          drop(s);
        } else {
          given.back().counted = false;
        }
        given.back().own = false;
      }
      absl::StatusOr<Outcome> inner = WalkStep(step, frame, std::move(given));
      if (!inner.ok()) return ir::WithPrefix(inner.status(), step.text);
      outcome.peak = std::max(outcome.peak, SaturatingAdd(live, inner->peak));
      for (size_t i = 0; i < inner->outputs.size(); ++i)
        put(step.stage->outputs[i], inner->outputs[i]);
      outcome.peak = std::max(outcome.peak, live);
      for (size_t i = 0; i < step.stage->inputs.size(); ++i)
        if (step.moves[i]) drop(step.stage->inputs[i]);
      for (ir::SlotId s : step.dies) drop(s);
    }
    for (ir::SlotId s : code.program->outputs) outcome.outputs.push_back(At(frame, s));
    return outcome;
  }

  absl::StatusOr<Outcome> WalkStep(const StagedCode::Step& step, Frame& frame,
                                   std::vector<Held> given) {
    switch (step.stage->kind) {
      case ir::Stage::Kind::kGraph:
        return Call(step.function);
      case ir::Stage::Kind::kIf: {
        LATHE_ASSIGN_OR_RETURN(Outcome a, Walk(step.bodies[0], given));
        LATHE_ASSIGN_OR_RETURN(const Outcome b, Walk(step.bodies[1], std::move(given)));
        a.peak = std::max(a.peak, b.peak);
        for (size_t i = 0; i < a.outputs.size(); ++i) {
          Held& h = a.outputs[i];
          h = {.bytes = std::max(h.bytes, b.outputs[i].bytes), .counted = true};
        }
        return a;
      }
      case ir::Stage::Kind::kLoop:
        return Loop(step, frame, std::move(given));
    }
    return absl::InternalError("a stage of no known kind");
  }

  // Bytes of the function's outputs, and of the arena of any version that may serve.
  absl::StatusOr<Outcome> Call(int number) {
    const FunctionState& f = *state_.functions()[static_cast<size_t>(number)];
    const std::shared_ptr<const VersionTable> table = f.table();
    if (table == nullptr) {
      return absl::FailedPreconditionError(
          "there is no version yet, hence no memory plan: call prepare first");
    }
    for (const std::shared_ptr<const Version>& version : table->versions()) {
      absl::StatusOr<int64_t> arena = MostOf(version->arena);
      if (!arena.ok()) return arena.status();
      arena_ = std::max(arena_, *arena);
    }
    Outcome outcome;
    for (ir::ValueId v : f.graph().body.results) {
      Held& h = outcome.outputs.emplace_back();
      LATHE_ASSIGN_OR_RETURN(h.bytes, BytesOf(f.graph().type(v)));
      h.counted = h.own = true;
      h.value = ScalarOf(f.graph(), v, sizes_);
      outcome.peak = SaturatingAdd(outcome.peak, h.bytes);
    }
    return outcome;
  }

  absl::StatusOr<Outcome> Loop(const StagedCode::Step& step, Frame& frame,
                               std::vector<Held> given) {
    const ir::Stage& stage = *step.stage;
    const size_t carried = static_cast<size_t>(stage.num_carried);
    const size_t first = stage.gives_condition ? 1 : 0;
    std::optional<int64_t> trips;
    if (stage.trips != ir::kNoSlot) trips = At(frame, stage.trips).value;
    // A carried value may be as big as the first or as any step's. Values pass from one to another
    // at most once a round.
    std::vector<Held> values;
    values.push_back({.bytes = 0, .value = trips});
    values.insert(values.end(), given.begin(), given.end());
    int64_t kept = 0;  // what every step sees stays with the loop
    for (size_t i = 0; i < given.size(); ++i) {
      if (i >= carried && given[i].counted) kept = SaturatingAdd(kept, given[i].bytes);
      values[1 + i].counted = i < carried;
      if (i < carried) values[1 + i].value.reset();
    }
    Outcome inner;
    for (size_t round = 0; round <= carried + 1; ++round) {
      LATHE_ASSIGN_OR_RETURN(inner, Walk(step.bodies[0], values));
      bool grew = false;
      for (size_t i = 0; i < carried; ++i) {
        const int64_t bytes = std::max(values[1 + i].bytes, inner.outputs[first + i].bytes);
        grew = grew || bytes > values[1 + i].bytes;
        values[1 + i].bytes = bytes;
      }
      if (!grew) break;
    }
    Outcome outcome;
    int64_t scans = 0;
    for (size_t i = 0; i < carried; ++i)
      outcome.outputs.push_back({.bytes = values[1 + i].bytes, .counted = true});
    for (size_t i = 0; i < stage.scanned.size(); ++i) {
      const int64_t one = inner.outputs[first + carried + i].bytes;
      if (!trips && one > 0) {
        return absl::FailedPreconditionError(
            "the number of its steps has no bound, so neither have its scanned outputs: a loop "
            "over a size, or a constant number of steps, has one");
      }
      // A step's own bytes may be rounded up, so the product is a bound.
      const int64_t all = AlignedBytes(Product(std::max<int64_t>(trips.value_or(0), 0), one));
      // Doubling: the old buffer and one of twice its size.
      scans = SaturatingAdd(
          scans, stage.gives_condition ? Product(3, std::max(all, Product(4, one))) : all);
      outcome.outputs.push_back({.bytes = all, .counted = true, .own = true});
    }
    outcome.peak = SaturatingAdd(SaturatingAdd(inner.peak, scans), kept);
    int64_t initial = 0;  // of a loop without steps
    for (const Held& h : given)
      if (h.counted) initial = SaturatingAdd(initial, h.bytes);
    outcome.peak = std::max(outcome.peak, initial);
    return outcome;
  }

  const StagedState& state_;
  const KnownSizes& sizes_;
  int64_t arena_ = 0;
};

}  // namespace

std::optional<int64_t> ScalarOf(const ir::Graph& graph, ir::ValueId result, const KnownSizes& sizes,
                                bool exactly) {
  for (;;) {
    const ir::Node& n = graph.node(result);
    if (n.type.dtype != DType::kI64) return std::nullopt;
    if (n.op == ir::Op::k_constant && n.attrs.tensor.num_elements() == 1)
      return ir::IntegerElement(n.attrs.tensor, 0);
    if (n.op == ir::Op::k_size) {
      const dim::Interval range = IntervalOf(*n.attrs.dim, sizes);
      if (exactly && range.min != range.max) return std::nullopt;
      const int64_t most = range.max;
      return most == dim::kUnboundedMax ? std::nullopt : std::optional<int64_t>(most);
    }
    if (n.op != ir::Op::k_reshape && n.op != ir::Op::k_broadcast) return std::nullopt;
    result = n.operands[0];
  }
}

absl::StatusOr<StagedPeak> PeakOf(const StagedState& state, const KnownSizes& sizes) {
  return Walker(state, sizes).Run();
}

}  // namespace lathe::rt
