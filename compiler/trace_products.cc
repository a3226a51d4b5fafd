// The DSL's reductions, products, and the ops made of both.
#include <utility>

#include "compiler/trace_state.h"

namespace lathe {
namespace {

using ir::Op;
using Ids = TraceState::Ids;

Value Reduce(Op op, const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return TraceState::Op(ir::Name(op), {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.axes = ToInt64(axes);
    attrs.keep_dims = keep_dims;
    return b.Create(op, ids, std::move(attrs));
  });
}

Value ArgExtremum(Op op, const Value& x, int axis, bool keep_dims, bool last, Loc loc) {
  return TraceState::Op(ir::Name(op), {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.axis = axis;
    attrs.keep_dims = keep_dims;
    attrs.last = last;
    return b.Create(op, ids, std::move(attrs));
  });
}

}  // namespace

Value sum(const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return Reduce(Op::k_sum, x, axes, keep_dims, loc);
}
Value prod(const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return Reduce(Op::k_prod, x, axes, keep_dims, loc);
}
Value max(const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return Reduce(Op::k_max, x, axes, keep_dims, loc);
}
Value min(const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return Reduce(Op::k_min, x, axes, keep_dims, loc);
}
Value mean(const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return Reduce(Op::k_mean, x, axes, keep_dims, loc);
}

Value all(const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return Reduce(Op::k_all, x, axes, keep_dims, loc);
}
Value any(const Value& x, const std::vector<int>& axes, bool keep_dims, Loc loc) {
  return Reduce(Op::k_any, x, axes, keep_dims, loc);
}

Value argmax(const Value& x, int axis, bool keep_dims, bool last, Loc loc) {
  return ArgExtremum(Op::k_argmax, x, axis, keep_dims, last, loc);
}
Value argmin(const Value& x, int axis, bool keep_dims, bool last, Loc loc) {
  return ArgExtremum(Op::k_argmin, x, axis, keep_dims, last, loc);
}

Value matmul(const Value& a, const Value& b, Loc loc) {
  return TraceState::Op("matmul", {{a, b}}, loc, [](ir::Builder& builder, const Ids& ids) {
    return builder.MatMul(ids[0], ids[1]);
  });
}

Value softmax(const Value& x, int axis, Loc loc) {
  return TraceState::Op("softmax", {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.axis = axis;
    return b.Create(Op::k_softmax, ids, std::move(attrs));
  });
}

Value layer_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon, Loc loc) {
  return TraceState::Op("layer_norm", {{x, gamma, beta}}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.epsilon = epsilon;
    return b.Create(Op::k_layer_norm, ids, std::move(attrs));
  });
}

Value rms_norm(const Value& x, const Value& gamma, double epsilon, Loc loc) {
  return TraceState::Op("rms_norm", {{x, gamma}}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.epsilon = epsilon;
    return b.Create(Op::k_rms_norm, ids, std::move(attrs));
  });
}

Value attention(const Value& q, const Value& k, const Value& v, const AttentionOptions& options,
                Loc loc) {
  std::vector<Value> operands{q, k, v};
  const bool masked = TraceState::Of(options.mask) != nullptr;
  if (masked) operands.push_back(options.mask);
  return TraceState::Op("attention", operands, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.causal = options.causal;
    attrs.empty_row_nan = options.empty_row_nan;
    if (options.scale != 0) attrs.scale = options.scale;
    return b.Attention(ids[0], ids[1], ids[2], masked ? ids[3] : ir::kNoValue, std::move(attrs));
  });
}

}  // namespace lathe
