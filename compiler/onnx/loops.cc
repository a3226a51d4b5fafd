#include "compiler/onnx/loops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "ir/status_macros.h"

namespace lathe::onnx {
namespace {

class Looping {
 public:
  Looping(NodeContext& c, LoopSpec spec) : c_(c), spec_(std::move(spec)) {
    for (const Val& v : spec_.carried) types_.push_back(c.scope().TypeOf(v));
  }

  absl::StatusOr<std::vector<Val>> Run() {
    constexpr int kMostAttempts = 16;
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
      Scope body(&c_.scope(), "body");
      LATHE_ASSIGN_OR_RETURN(const bool fits, ImportBody(body));
      if (fits) return Append(body);
    }
    return absl::InternalError("the types of carried values don't settle");
  }

 private:
  // A size of carried values that changes from step to step, or of what is made of them.
  Dim Changing(const std::string& hint) {
    const Dim d = c_.scope().dims()->FreshSymbol(absl::StrCat("Loop.", hint));
    dim::SymbolId s = 0;
    if (dim::IsSymbol(d, &s)) c_.importer().changing().insert(s);
    return d;
  }

  bool IsChanging(Dim d) {
    const std::vector<dim::SymbolId> symbols = dim::FreeSymbols(d);
    return std::any_of(symbols.begin(), symbols.end(),
                       [&](dim::SymbolId s) { return c_.importer().changing().contains(s); });
  }

  // False if a carried value came out with another shape; then its type has fresh symbols there.
  absl::StatusOr<bool> ImportBody(Scope& body) {
    std::vector<Val> inputs;
    LATHE_ASSIGN_OR_RETURN(const Val step, body.AddInput("step", {i64, {}}));
    inputs.push_back(step);
    for (size_t i = 0; i < types_.size(); ++i) {
      LATHE_ASSIGN_OR_RETURN(const Val v, body.AddInput(absl::StrCat("carried", i), types_[i]));
      inputs.push_back(v);
    }
    LATHE_ASSIGN_OR_RETURN(const std::vector<Val> results, spec_.body(body, std::move(inputs)));
    const size_t first = spec_.gives_condition ? 1 : 0;
    if (results.size() < first + types_.size())
      return absl::InvalidArgumentError("the body gives fewer values than it carries");
    for (const Val& v : results) {
      if (v.kind != Val::Kind::kTensor)
        return absl::UnimplementedError("a carried or scanned value is a sequence or optional");
    }
    if (first == 1)
      LATHE_RETURN_IF_ERROR(
          CheckOneElement(body.TypeOf(results[0]), bool_, "the body's condition"));
    bool same = true;
    for (size_t i = 0; i < types_.size(); ++i) {
      const ir::ValueType type = body.TypeOf(results[first + i]);
      if (type.dtype != types_[i].dtype || type.rank() != types_[i].rank()) {
        return absl::UnimplementedError(absl::StrCat("carried value ", i, " goes from ",
                                                     types_[i].ToString(), " to ", type.ToString(),
                                                     "; wanted one element type and rank"));
      }
      for (size_t k = 0; k < type.shape.size(); ++k) {
        Dim& d = types_[i].shape[k];
        if (type.shape[k] == d || IsChanging(d)) continue;
        d = Changing(absl::StrCat(i, ".", k));
        same = false;
      }
    }
    if (!same) return false;
    scanned_.clear();
    std::vector<std::string> names;
    for (size_t i = 0; i < results.size(); ++i) {
      names.push_back(absl::StrCat("r", i));
      if (i >= first + types_.size()) scanned_.push_back(body.TypeOf(results[i]));
    }
    LATHE_RETURN_IF_ERROR(body.Finish(results, names));
    return true;
  }

  // What changes inside is a size of its own outside.
  ir::ValueType Outside(ir::ValueType type) {
    for (Dim& d : type.shape)
      if (IsChanging(d)) d = Changing("out");
    return type;
  }

  absl::StatusOr<std::vector<Val>> Append(Scope& body) {
    std::vector<ir::ValueType> outputs;
    for (const ir::ValueType& type : types_) outputs.push_back(Outside(type));
    const Dim steps = spec_.count ? *spec_.count : Changing("steps");
    for (const ir::ValueType& one : scanned_) {
      outputs.push_back(Outside(one));
      outputs.back().shape.insert(outputs.back().shape.begin(), steps);
    }
    ir::Stage stage;
    stage.kind = ir::Stage::Kind::kLoop;
    stage.name = c_.importer().Where(c_.node());
    stage.num_carried = static_cast<int>(types_.size());
    stage.gives_condition = spec_.gives_condition;
    stage.scanned = scanned_;
    return c_.scope().AppendStage(std::move(stage), spec_.carried, spec_.condition, spec_.trips,
                                  {&body}, std::move(outputs));
  }

  NodeContext& c_;
  LoopSpec spec_;
  std::vector<ir::ValueType> types_;    // of the carried values in the body
  std::vector<ir::ValueType> scanned_;  // of one step
};

}  // namespace

std::vector<Val> RunLoop(NodeContext& c, LoopSpec spec) {
  if (!c.ok()) return {};
  absl::StatusOr<std::vector<Val>> out = Looping(c, std::move(spec)).Run();
  if (out.ok()) return *std::move(out);
  c.Fail(out.status());
  return {};
}

}  // namespace lathe::onnx
