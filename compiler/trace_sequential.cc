// The DSL's ops that walk elements in an order, and what checks and reads at computed places.
#include <utility>

#include "compiler/trace_state.h"

namespace lathe {

using ir::Op;
using Ids = TraceState::Ids;

namespace {

Value Apply(Op op, const std::vector<Value>& operands, ir::Attrs attrs, Loc loc) {
  return TraceState::Op(ir::Name(op), operands, loc, [&](ir::Builder& b, const Ids& ids) {
    return b.Create(op, ids, std::move(attrs));
  });
}

Value Prefix(Op op, const Value& x, int axis, PrefixOptions options, Loc loc) {
  ir::Attrs attrs;
  attrs.axis = axis;
  attrs.exclusive = options.exclusive;
  attrs.reverse = options.reverse;
  return Apply(op, {x}, std::move(attrs), loc);
}

}  // namespace

Value gather_unchecked(const Value& data, const Value& indices, int axis, Loc loc) {
  ir::Attrs attrs;
  attrs.axis = axis;
  attrs.unchecked = true;
  return Apply(Op::k_gather, {data, indices}, std::move(attrs), loc);
}

Value check_index(const Value& indices, Dim n, Loc loc) {
  ir::Attrs attrs;
  attrs.dim = n;
  return Apply(Op::k_check_index, {indices}, std::move(attrs), loc);
}

Value scatter(const Value& data, const Value& indices, const Value& updates,
              const std::string& reduction, Loc loc) {
  ir::Attrs attrs;
  attrs.reduction = reduction;
  return Apply(Op::k_scatter, {data, indices, updates}, std::move(attrs), loc);
}

Value argsort(const Value& x, bool descending, Loc loc) {
  ir::Attrs attrs;
  attrs.descending = descending;
  return Apply(Op::k_argsort, {x}, std::move(attrs), loc);
}

Value cumsum(const Value& x, int axis, PrefixOptions options, Loc loc) {
  return Prefix(Op::k_cumsum, x, axis, options, loc);
}

Value cumprod(const Value& x, int axis, PrefixOptions options, Loc loc) {
  return Prefix(Op::k_cumprod, x, axis, options, loc);
}

}  // namespace lathe
