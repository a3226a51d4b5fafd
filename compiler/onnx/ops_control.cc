// If, Loop, Scan: decided while importing where sizes decide, stages otherwise.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
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

void If(NodeContext& c) {
  const GraphDef* then_graph = Body(c, "then_branch");
  const GraphDef* else_graph = Body(c, "else_branch");
  if (!c.ok()) return;
  const Val condition = c.InVal(0);
  if (const std::optional<bool> decided = c.importer().Decided(condition)) {
    absl::StatusOr<std::vector<Val>> results =
        c.importer().ImportGraph(*decided ? *then_graph : *else_graph, c.scope(), {});
    if (!results.ok()) return c.Fail(results.status());
    for (size_t i = 0; i < results->size(); ++i) c.OutVal(static_cast<int>(i), (*results)[i]);
    return;
  }
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
      if ((*values)[i].kind != Val::Kind::kTensor)
        return c.Unsupported("a branch gives a sequence or nothing, which data decides");
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
    if (!type.ok()) return c.Fail(type.status());
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

struct LoopParts {
  std::vector<Val> carried;            // initial values
  std::vector<ir::ValueType> types;    // of the carried values in the body
  std::vector<ir::ValueType> scanned;  // of one step
};

// Imports the body with the carried values of `parts->types`. False if a carried value came out
// with another type; then `types` have fresh symbols there.
absl::StatusOr<bool> ImportBody(NodeContext& c, const GraphDef& body, Scope& scope,
                                LoopParts* parts, bool takes_condition,
                                const std::function<std::vector<Val>(std::vector<Val>)>& arrange,
                                bool gives_condition) {
  std::vector<Val> inputs;
  absl::StatusOr<Val> step = scope.AddInput("step", {i64, {}});
  if (!step.ok()) return step.status();
  inputs.push_back(*step);
  if (takes_condition) inputs.push_back(Val::Constant(Tensor::Scalar<bool>(true)));
  for (size_t i = 0; i < parts->types.size(); ++i) {
    absl::StatusOr<Val> v = scope.AddInput(absl::StrCat("carried", i), parts->types[i]);
    if (!v.ok()) return v.status();
    inputs.push_back(*v);
  }
  inputs = arrange(std::move(inputs));
  if (!c.ok()) return c.status();
  absl::StatusOr<std::vector<Val>> results = c.importer().ImportGraph(body, scope, inputs);
  if (!results.ok()) return results.status();
  const size_t first = gives_condition ? 1 : 0;
  if (results->size() < first + parts->types.size())
    return absl::InvalidArgumentError("the body gives fewer values than it carries");
  bool same = true;
  for (size_t i = 0; i < parts->types.size(); ++i) {
    const Val& v = (*results)[first + i];
    if (v.kind != Val::Kind::kTensor)
      return absl::UnimplementedError("a carried value is a sequence or optional");
    const ir::ValueType type = scope.TypeOf(v);
    ir::ValueType& carried = parts->types[i];
    if (type.dtype != carried.dtype || type.rank() != carried.rank()) {
      return absl::UnimplementedError(absl::StrCat("carried value ", i, " goes from ",
                                                   carried.ToString(), " to ", type.ToString(),
                                                   "; wanted one element type and rank"));
    }
    for (size_t k = 0; k < type.shape.size(); ++k) {
      if (type.shape[k] == carried.shape[k]) continue;
      dim::SymbolId symbol = 0;
      const bool fresh = dim::IsSymbol(carried.shape[k], &symbol) &&
                         c.scope().dims()->SymbolName(symbol).starts_with("Loop.");
      if (fresh) continue;  // it may change
      carried.shape[k] = c.scope().dims()->FreshSymbol(absl::StrCat("Loop.", i, ".", k));
      same = false;
    }
  }
  if (!same) return false;
  std::vector<std::string> names;
  parts->scanned.clear();
  for (size_t i = 0; i < results->size(); ++i) {
    names.push_back(absl::StrCat("r", i));
    if ((*results)[i].kind != Val::Kind::kTensor)
      return absl::UnimplementedError("a scanned value is a sequence or optional");
    if (i >= first + parts->types.size()) parts->scanned.push_back(scope.TypeOf((*results)[i]));
  }
  if (absl::Status s = scope.Finish(*results, names); !s.ok()) return s;
  return true;
}

// Runs the stage; the values are the carried ones' last, then the scanned ones.
absl::StatusOr<std::vector<Val>> RunLoop(
    NodeContext& c, const GraphDef& body, LoopParts parts, const Val& condition, const Val& trips,
    std::optional<Dim> count, bool takes_condition, bool gives_condition,
    const std::function<std::vector<Val>(Scope&, std::vector<Val>)>& arrange) {
  for (int attempt = 0;; ++attempt) {
    Scope scope(&c.scope(), "body");
    const auto here = [&](std::vector<Val> inputs) { return arrange(scope, std::move(inputs)); };
    absl::StatusOr<bool> fits =
        ImportBody(c, body, scope, &parts, takes_condition, here, gives_condition);
    if (!fits.ok()) return fits.status();
    if (!*fits) {
      if (attempt > 16) return absl::InternalError("the types of carried values don't settle");
      continue;
    }
    std::vector<ir::ValueType> outputs;
    for (size_t i = 0; i < parts.types.size(); ++i) {
      ir::ValueType type = parts.types[i];
      const Shape initial = c.scope().TypeOf(parts.carried[i]).shape;
      for (size_t k = 0; k < type.shape.size(); ++k)  // what changes is known to nobody outside
        if (type.shape[k] != initial[k])
          type.shape[k] = c.scope().dims()->FreshSymbol(absl::StrCat("Loop.out", i, ".", k));
      outputs.push_back(std::move(type));
    }
    const Dim steps = count ? *count : c.scope().dims()->FreshSymbol("Loop.steps");
    for (const ir::ValueType& one : parts.scanned) {
      ir::ValueType all = one;
      for (Dim& d : all.shape) {
        // A size that only the body knows.
        for (dim::SymbolId s : dim::FreeSymbols(d)) {
          const std::string& name = c.scope().dims()->SymbolName(s);
          if (name.starts_with("Loop.")) d = c.scope().dims()->FreshSymbol("Loop.scan");
          break;
        }
      }
      all.shape.insert(all.shape.begin(), steps);
      outputs.push_back(std::move(all));
    }
    ir::Stage stage;
    stage.kind = ir::Stage::Kind::kLoop;
    stage.name = c.importer().Where(c.node());
    stage.num_carried = static_cast<int>(parts.types.size());
    stage.gives_condition = gives_condition;
    stage.scanned = parts.scanned;
    return c.scope().AppendStage(std::move(stage), parts.carried, condition, trips, {&scope},
                                 std::move(outputs));
  }
}

void Loop(NodeContext& c) {
  const GraphDef* body = Body(c, "body");
  if (!c.ok()) return;
  LoopParts parts;
  for (int i = 2; i < c.num_inputs(); ++i) {
    const Val v = c.InVal(i);
    if (v.kind != Val::Kind::kTensor)
      return c.Unsupported("a carried value is a sequence or optional");
    parts.carried.push_back(v);
    parts.types.push_back(c.scope().TypeOf(v));
  }
  const Val trips = c.Has(0) ? c.InVal(0) : Val(), condition = c.Has(1) ? c.InVal(1) : Val();
  absl::StatusOr<std::vector<Val>> out =
      RunLoop(c, *body, std::move(parts), condition, trips, std::nullopt, true, true,
              [](Scope&, std::vector<Val> inputs) { return inputs; });
  if (!out.ok()) return c.Fail(out.status());
  for (size_t i = 0; i < out->size(); ++i) c.OutVal(static_cast<int>(i), (*out)[i]);
}

// Opset 9 and later: slices of inputs along axes, step by step.
void Scan(NodeContext& c) {
  const GraphDef* body = Body(c, "body");
  if (!c.ok()) return;
  if (c.opset() < 9) return c.Unsupported("Scan of opset 8 isn't supported");
  const int64_t num_scanned = c.Int("num_scan_inputs");
  const int64_t num_states = c.num_inputs() - num_scanned;
  if (num_scanned < 1 || num_states < 0) return c.Fail("num_scan_inputs is out of range");
  std::vector<int64_t> in_axes = c.Ints("scan_input_axes"), back = c.Ints("scan_input_directions");
  std::vector<int64_t> out_axes = c.Ints("scan_output_axes");
  std::vector<int64_t> out_back = c.Ints("scan_output_directions");
  in_axes.resize(static_cast<size_t>(num_scanned), 0);
  back.resize(static_cast<size_t>(num_scanned), 0);
  LoopParts parts;
  for (int64_t i = 0; i < num_states; ++i) {
    parts.carried.push_back(c.InVal(static_cast<int>(i)));
    if (parts.carried.back().kind != Val::Kind::kTensor) return c.Fail("a state is no tensor");
    parts.types.push_back(c.scope().TypeOf(parts.carried.back()));
  }
  std::vector<Val> scanned;
  Dim count = 0;
  for (int64_t i = 0; i < num_scanned; ++i) {
    V x = c.In(static_cast<int>(num_states + i));
    if (!c.ok()) return;
    int64_t& axis = in_axes[static_cast<size_t>(i)];
    axis = c.Axis(axis, x.rank());
    if (!c.ok()) return;
    const Dim extent = x.dim(static_cast<int>(axis));
    if (i == 0) count = extent;
    c.Require(Eq(extent, count), "the scanned inputs have one length");
    scanned.push_back(c.scope().Here(x.id));
  }
  const Val trips = c.scope().Here(c.SizeOf(count).id);
  if (!c.ok()) return;
  absl::StatusOr<std::vector<Val>> out =
      RunLoop(c, *body, std::move(parts), Val(), trips, count, false, false,
              [&](Scope& scope, std::vector<Val> inputs) {
                // [step, states..] -> states, then one slice of each scanned input.
                NodeContext inner(c.importer(), scope, c.node(), c.opset());
                const V step = inner.Use(inputs[0]);
                std::vector<Val> all(inputs.begin() + 1, inputs.end());
                for (size_t i = 0; i < scanned.size(); ++i) {
                  const V x = inner.Use(scanned[i]);
                  const V at = back[i] != 0 ? inner.SizeOf(count - 1) - step : step;
                  const V one = Gather(x, at, static_cast<int>(in_axes[i]));
                  all.push_back(scope.Here(one.id));
                }
                if (!inner.ok()) c.Fail(inner.status());
                return all;
              });
  if (!out.ok()) return c.Fail(out.status());
  out_axes.resize(out->size(), 0);
  out_back.resize(out->size(), 0);
  for (size_t i = 0; i < out->size(); ++i) {
    const int64_t k = static_cast<int64_t>(i) - num_states;
    if (k < 0) {
      c.OutVal(static_cast<int>(i), (*out)[i]);
      continue;
    }
    V y = c.Use((*out)[i]);
    if (out_back[static_cast<size_t>(k)] != 0) y = SliceAxis(y, 0, -1, -(int64_t{1} << 41), -1);
    if (!c.ok()) return;
    const int axis = c.Axis(out_axes[static_cast<size_t>(k)], y.rank());
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
