// If, Loop, Scan: decided while importing where sizes decide, stages otherwise.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/loops.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

const GraphDef* Body(NodeContext& c, const std::string& name) {
  const Attribute* a = c.Find(name);
  if (a != nullptr && a->graphs.size() == 1) return a->graphs[0].get();
  c.Fail(absl::StrCat("attribute ", name, " is missing; wanted a graph"));
  return nullptr;
}

// The type that both branches give: dims that differ become fresh symbols.
absl::StatusOr<ir::ValueType> Joined(NodeContext& c, const ir::ValueType& a, const ir::ValueType& b,
                                     const std::string& hint) {
  if (a.dtype != b.dtype || a.rank() != b.rank()) {
    return absl::UnimplementedError(absl::StrCat("the branches give ", a.ToString(), " and ",
                                                 b.ToString(),
                                                 "; wanted one element type and rank"));
  }
  ir::ValueType type = a;
  for (size_t i = 0; i < type.shape.size(); ++i)
    if (a.shape[i] != b.shape[i]) type.shape[i] = c.scope().dims()->FreshSymbol(hint);
  return type;
}

// The branch as a part of the graph.
void Inline(NodeContext& c, const GraphDef& branch) {
  if (!c.ok()) return;
  absl::StatusOr<std::vector<Val>> results = c.importer().ImportGraph(branch, c.scope(), {});
  if (!results.ok()) return c.Fail(results.status());
  for (size_t i = 0; i < results->size(); ++i) c.OutVal(static_cast<int>(i), (*results)[i]);
}

void If(NodeContext& c) {
  const GraphDef* then_graph = Body(c, "then_branch");
  const GraphDef* else_graph = Body(c, "else_branch");
  if (!c.ok()) return;
  const Val condition = c.InTensor(0);
  if (!c.ok()) return;
  if (const std::optional<bool> decided = c.importer().Decided(condition))
    return Inline(c, *decided ? *then_graph : *else_graph);
  Scope then_scope(&c.scope(), "then"), else_scope(&c.scope(), "else");
  std::vector<Val> results[2];
  std::vector<ir::ValueType> types[2];
  for (int side : {0, 1}) {
    Scope& scope = side == 0 ? then_scope : else_scope;
    const GraphDef& graph = side == 0 ? *then_graph : *else_graph;
    absl::StatusOr<std::vector<Val>> values = c.importer().ImportGraph(graph, scope, {});
    if (!values.ok()) return c.Fail(values.status());
    std::vector<std::string> names;
    for (size_t i = 0; i < values->size(); ++i) {
      if ((*values)[i].kind != Val::Kind::kTensor) {  // the content of an input may decide
        if (c.ConstantTensor(0))
          c.Unsupported("a branch gives a sequence or nothing, and data decides which one");
        return;
      }
      types[side].push_back(scope.TypeOf((*values)[i]));
      names.push_back(absl::StrCat("r", i));
    }
    if (absl::Status s = scope.Finish(*values, names); !s.ok()) return c.Fail(s);
    results[side] = *std::move(values);
  }
  if (types[0].size() != types[1].size())
    return c.Fail("the branches have different numbers of outputs");
  std::vector<ir::ValueType> joined;
  for (size_t i = 0; i < types[0].size(); ++i) {
    absl::StatusOr<ir::ValueType> type =
        Joined(c, types[0][i], types[1][i], absl::StrCat("If.", i));
    if (!type.ok()) {
      // Exporters write "squeeze if the extent is 1": only one side fits what follows. Where sizes
      // are what is asked about, the first side is taken, and the sizes must be such.
      const std::optional<Claim> claim = c.importer().ClaimOf(condition);
      if (!claim) return c.Fail(type.status());
      c.Require(*claim, "the first branch is taken, because the other gives another rank or type");
      return Inline(c, *then_graph);
    }
    joined.push_back(*std::move(type));
  }
  ir::Stage stage;
  stage.kind = ir::Stage::Kind::kIf;
  stage.name = c.importer().Where(c.node());
  absl::StatusOr<std::vector<Val>> out = c.scope().AppendStage(
      std::move(stage), {}, condition, Val(), {&then_scope, &else_scope}, std::move(joined));
  if (!out.ok()) return c.Fail(out.status());
  for (size_t i = 0; i < out->size(); ++i) c.OutVal(static_cast<int>(i), (*out)[i]);
}

// A loop that carries sequences or optionals, whose structure must be known: step by step.
void UnrolledLoop(NodeContext& c, const GraphDef& body) {
  constexpr int64_t kMostSteps = 1024;
  int64_t steps = kMostSteps + 1;
  if (c.Has(0)) {
    const std::optional<std::vector<int64_t>> trips = c.Constants(0);
    if (!trips) return;
    if (trips->size() != 1) return c.Fail("the number of trips is no scalar");
    steps = (*trips)[0];
  }
  Val condition = c.Has(1) ? c.InVal(1) : Val::Constant(Tensor::Scalar<bool>(true));
  if (c.Has(1) && !c.importer().Decided(condition) && !c.ConstantTensor(1)) return;
  std::vector<Val> carried;
  for (int i = 2; i < c.num_inputs(); ++i) carried.push_back(c.InVal(i));
  std::vector<std::vector<Val>> scanned(
      static_cast<size_t>(std::max<int64_t>(0, c.num_outputs() - (c.num_inputs() - 2))));
  for (int64_t step = 0; step < steps; ++step) {
    const std::optional<bool> goes_on = c.importer().Decided(condition);
    if (!goes_on)
      return c.Unsupported("carries a sequence or optional, and data decides when it ends");
    if (!*goes_on) break;
    if (step == kMostSteps)
      return c.Fail(absl::ResourceExhaustedError(absl::StrCat(
          "carries a sequence or optional for more steps than the limit of ", kMostSteps)));
    std::vector<Val> inputs = {Val::Constant(Tensor::Scalar<int64_t>(step)), condition};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    absl::StatusOr<std::vector<Val>> results = c.importer().ImportGraph(body, c.scope(), inputs);
    if (!results.ok()) return c.Fail(results.status());
    if (results->size() < 1 + carried.size() + scanned.size())
      return c.Fail("the body gives fewer values than it carries");
    condition = (*results)[0];
    std::copy_n(results->begin() + 1, carried.size(), carried.begin());
    for (size_t k = 0; k < scanned.size(); ++k)
      scanned[k].push_back((*results)[1 + carried.size() + k]);
  }
  for (size_t i = 0; i < carried.size(); ++i) c.OutVal(static_cast<int>(i), carried[i]);
  for (size_t k = 0; k < scanned.size(); ++k) {
    std::vector<V> parts;
    for (const Val& v : scanned[k]) parts.push_back(Unsqueeze(c.Use(v), {0}));
    if (!parts.empty()) c.Out(static_cast<int>(carried.size() + k), Concat(parts, 0));
  }
}

void Loop(NodeContext& c) {
  const GraphDef* body = Body(c, "body");
  if (!c.ok()) return;
  for (int i = 2; i < c.num_inputs(); ++i)
    if (c.InVal(i).kind != Val::Kind::kTensor) return UnrolledLoop(c, *body);
  LoopSpec spec;
  for (int i = 2; i < c.num_inputs(); ++i) {
    spec.carried.push_back(c.InVal(i));
  }
  if (c.Has(0)) spec.trips = c.InTensor(0);
  if (c.Has(1)) spec.condition = c.InTensor(1);
  spec.gives_condition = true;
  spec.body = [&](Scope& scope, std::vector<Val> in) {
    in.insert(in.begin() + 1, Val::Constant(Tensor::Scalar<bool>(true)));
    return c.importer().ImportGraph(*body, scope, in);
  };
  const std::vector<Val> out = RunLoop(c, std::move(spec));
  for (size_t i = 0; i < out.size(); ++i) c.OutVal(static_cast<int>(i), out[i]);
}

// One scan: slices of inputs along axes, step by step.
struct ScanSpec {
  const GraphDef* body = nullptr;
  std::vector<Val> states, scanned;
  std::vector<int> axes;      // of each scanned input
  std::vector<int64_t> back;  // 1: from the end
  Dim count;                  // of steps
};

std::vector<Val> RunScan(NodeContext& c, const ScanSpec& scan) {
  LoopSpec spec;
  spec.carried = scan.states;
  spec.count = scan.count;
  spec.trips = c.scope().Here(c.SizeOf(scan.count).id);
  spec.body = [&](Scope& scope, std::vector<Val> in) -> absl::StatusOr<std::vector<Val>> {
    NodeContext inner(c.importer(), scope, c.node(), c.opset());
    const V step = inner.Use(in[0]);
    in.erase(in.begin());
    for (size_t i = 0; i < scan.scanned.size(); ++i) {
      const V x = inner.Use(scan.scanned[i]);
      const V at = scan.back[i] != 0 ? inner.SizeOf(scan.count - 1) - step : step;
      in.push_back(scope.Here(Gather(x, at, scan.axes[i]).id));
    }
    if (!inner.ok()) return inner.status();
    return c.importer().ImportGraph(*scan.body, scope, in);
  };
  return RunLoop(c, std::move(spec));
}

// States from input `first` on, and scanned inputs behind them; the axes are counted as given.
// False after a fault.
bool ReadScan(NodeContext& c, int first, std::vector<int64_t> axes, ScanSpec* scan) {
  scan->body = Body(c, "body");
  if (!c.ok()) return false;
  const int64_t num_scanned = c.Int("num_scan_inputs");
  const int64_t given = c.num_inputs() - first;
  if (num_scanned < 1 || num_scanned > given) {
    c.Fail(absl::StrCat("num_scan_inputs is ", num_scanned, " of ", given, " inputs"));
    return false;
  }
  const int64_t num_states = given - num_scanned;
  for (int64_t i = 0; i < num_states; ++i) {
    scan->states.push_back(c.InVal(first + static_cast<int>(i)));
    if (scan->states.back().kind != Val::Kind::kTensor) c.Fail("a state is no tensor");
  }
  for (size_t i = 0; i < static_cast<size_t>(num_scanned); ++i) {
    V x = c.In(first + static_cast<int>(num_states) + static_cast<int>(i));
    if (!c.ok()) return false;
    scan->axes.push_back(c.Axis(i < axes.size() ? axes[i] : 0, x.rank()));
    if (!c.ok()) return false;
    const Dim extent = x.dim(scan->axes.back());
    if (i == 0) scan->count = extent;
    c.Require(Eq(extent, scan->count), "the scanned inputs have one length");
    scan->scanned.push_back(c.scope().Here(x.id));
  }
  scan->back.resize(scan->scanned.size(), 0);
  return c.ok();
}

// Opset 8: all have a batch axis first, and each of the batch is a scan of its own.
void BatchedScan(NodeContext& c) {
  if (c.Has(0)) return c.Unsupported("sequence_lens of Scan isn't supported");
  ScanSpec scan;
  scan.back = c.Ints("directions");
  const std::vector<int64_t> steps(static_cast<size_t>(c.num_inputs()), 1);
  if (!ReadScan(c, 1, steps, &scan)) return;
  const Dim batch = c.Use(scan.scanned[0]).dim(0);
  LoopSpec spec;
  spec.count = batch;
  spec.trips = c.scope().Here(c.SizeOf(batch).id);
  spec.body = [&](Scope& scope, std::vector<Val> in) -> absl::StatusOr<std::vector<Val>> {
    NodeContext inner(c.importer(), scope, c.node(), c.opset());
    ScanSpec one = scan;
    for (std::vector<Val>* values : {&one.states, &one.scanned})
      for (Val& v : *values) v = scope.Here(Gather(inner.Use(v), inner.Use(in[0]), 0).id);
    for (int& axis : one.axes) --axis;
    if (!inner.ok()) return inner.status();
    std::vector<Val> results = RunScan(inner, one);
    if (!inner.ok()) return inner.status();
    return results;
  };
  const std::vector<Val> out = RunLoop(c, std::move(spec));
  for (size_t i = 0; i < out.size(); ++i) c.OutVal(static_cast<int>(i), out[i]);
}

void Scan(NodeContext& c) {
  if (c.opset() < 9) return BatchedScan(c);
  ScanSpec scan;
  scan.back = c.Ints("scan_input_directions");
  if (!ReadScan(c, 0, c.Ints("scan_input_axes"), &scan)) return;
  const std::vector<Val> out = RunScan(c, scan);
  std::vector<int64_t> out_axes = c.Ints("scan_output_axes");
  std::vector<int64_t> out_back = c.Ints("scan_output_directions");
  out_axes.resize(out.size(), 0);
  out_back.resize(out.size(), 0);
  for (size_t i = 0; i < out.size(); ++i) {
    if (i < scan.states.size()) {
      c.OutVal(static_cast<int>(i), out[i]);
      continue;
    }
    const size_t k = i - scan.states.size();
    V y = c.Use(out[i]);
    if (out_back[k] != 0) y = Reversed(y, 0);
    if (!c.ok()) return;
    const int axis = c.Axis(out_axes[k], y.rank());
    std::vector<int> order;
    for (int a = 1; a < y.rank(); ++a) order.push_back(a);
    order.insert(order.begin() + axis, 0);
    c.Out(static_cast<int>(i), Permute(y, order));
  }
}

}  // namespace

std::vector<Mapping> ControlMappings() {
  return {{"", "If", If}, {"", "Loop", Loop}, {"", "Scan", Scan}};
}

}  // namespace lathe::onnx
