// Trace: symbols, facts, inputs, sources, conditions.
#include "lathe/trace.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/trace_state.h"
#include "ir/lexer.h"
#include "ir/text_parser.h"

namespace lathe {

Trace::Trace(const std::string& name) : state_(std::make_unique<TraceState>(name)) {}
Trace::~Trace() = default;

Dim Trace::dim(const std::string& name, const std::string& facts, Loc loc) {
  const std::string what = absl::StrCat("dim ", name);
  if (absl::Status s = state_->CheckOpen(); !s.ok()) {
    state_->Fail(what, loc, s);
    return Dim();
  }
  ir::Graph* graph = state_->graph();
  const Dim symbol = graph->dims()->Symbol(name);
  absl::Status s = symbol.status();
  if (name == "_" || name == "None") {
    s = absl::InvalidArgumentError(
        absl::StrCat(name, " stands for a size without a name in shape specs; wanted another"));
  }
  if (s.ok() && !ir::IsPlainName(name))
    s = absl::InvalidArgumentError(absl::StrCat("'", name, "' is a word of the text form"));
  if (s.ok() && !facts.empty())
    s = graph->facts().AddSpec(&symbol, facts, {what, LocationOf(loc).ToString()});
  if (!s.ok()) state_->Fail(what, loc, s);
  return symbol;
}

void Trace::assume(const std::string& facts, Loc loc) {
  absl::Status s = state_->CheckOpen();
  if (s.ok())
    s = state_->graph()->facts().AddSpec(nullptr, facts, {"assume", LocationOf(loc).ToString()});
  if (!s.ok()) state_->Fail("assume", loc, s);
}

void Trace::assume(const Claim& claim, Loc loc) {
  absl::Status s = state_->CheckOpen();
  if (s.ok()) {
    s = state_->graph()
            ->facts()
            .Add(claim, dim::Standing::kDeclared, {"assume", LocationOf(loc).ToString()})
            .status();
  }
  if (!s.ok()) state_->Fail("assume", loc, s);
}

Value Trace::input(const std::string& name, DType dtype, const Shape& shape, Loc loc) {
  return state_->Source(absl::StrCat("input ", name), loc, [&](ir::Builder& b, const auto&) {
    return b.Input(name, {dtype, shape});
  });
}

Value Trace::input(const std::string& name, const std::string& spec, Loc loc) {
  return state_->Source(absl::StrCat("input ", name), loc,
                        [&](ir::Builder& b, const auto&) -> absl::StatusOr<ir::ValueId> {
                          absl::StatusOr<ir::ValueType> type =
                              ir::ParseTypeSpec(spec, b.graph(), name);
                          if (!type.ok()) return type.status();
                          return b.Input(name, *std::move(type));
                        });
}

Value Trace::input(const std::string& name, DType dtype, const PartialShape& shape, Loc loc) {
  return state_->Source(absl::StrCat("input ", name), loc,
                        [&](ir::Builder& b, const auto&) -> absl::StatusOr<ir::ValueId> {
                          absl::StatusOr<Shape> dims = shape.ToShape(b.graph()->dims(), name);
                          if (!dims.ok()) return dims.status();
                          return b.Input(name, {dtype, *std::move(dims)});
                        });
}

Value Trace::constant(const Tensor& t, Loc loc) {
  return state_->Source("constant", loc,
                        [&](ir::Builder& b, const auto&) { return b.Constant(t); });
}

Value Trace::scalar(DType dtype, double value, Loc loc) {
  return state_->Source(
      "scalar", loc, [&](ir::Builder& b, const auto&) { return b.ScalarConstant(dtype, value); });
}

Value Trace::iota(const Shape& shape, int axis, DType dtype, Loc loc) {
  ir::Attrs attrs;
  attrs.shape = shape;
  attrs.axis = axis;
  attrs.dtype = dtype;
  return state_->Source("iota", loc, [&](ir::Builder& b, const auto&) {
    return b.Create(ir::Op::k_iota, {}, std::move(attrs));
  });
}

Value Trace::size(Dim d, DType dtype, Loc loc) {
  return state_->Source(
      "size", loc, [&](ir::Builder& b, const auto&) -> absl::StatusOr<ir::ValueId> {
        ir::Attrs attrs;
        attrs.dim = d;
        absl::StatusOr<ir::ValueId> v = b.Create(ir::Op::k_size, {}, std::move(attrs));
        if (!v.ok() || dtype == i64) return v;
        ir::Attrs to;
        to.dtype = dtype;
        return b.Create(ir::Op::k_cast, {*v}, std::move(to));
      });
}

Value Trace::random(const Shape& shape, int64_t seed, const std::string& distribution, Loc loc) {
  ir::Attrs attrs;
  attrs.shape = shape;
  attrs.seed = seed;
  attrs.distribution = distribution;
  attrs.dtype = f32;
  return state_->Source("random", loc, [&](ir::Builder& b, const auto&) {
    return b.Create(ir::Op::k_random, {}, std::move(attrs));
  });
}

Value Trace::if_(const Claim& condition, const std::function<Value()>& then,
                 const std::function<Value()>& otherwise, Loc loc) {
  return state_->If(condition, then, otherwise, loc);
}

absl::Status Trace::status() const { return state_->status(); }

absl::StatusOr<Program> Trace::finish(const std::vector<Value>& outputs,
                                      const std::vector<std::string>& names) {
  return state_->Finish(outputs, names);
}

}  // namespace lathe
