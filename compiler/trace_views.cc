// The DSL's views and data movement.
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/trace_state.h"

namespace lathe {

using ir::Op;
using Ids = TraceState::Ids;

Value broadcast_to(const Value& x, const Shape& shape, Loc loc) {
  return TraceState::Op("broadcast", {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    return b.BroadcastTo(ids[0], shape);
  });
}

Value reshape(const Value& x, const Shape& shape, Loc loc) {
  return TraceState::Op("reshape", {&x, 1}, loc,
                        [&](ir::Builder& b, const Ids& ids) { return b.Reshape(ids[0], shape); });
}

Value permute(const Value& x, const std::vector<int>& axes, Loc loc) {
  return TraceState::Op("permute", {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.axes = ToInt64(axes);
    return b.Create(Op::k_permute, ids, std::move(attrs));
  });
}

Value slice(const Value& x, int axis, Dim start, Dim limit, int64_t step, Loc loc) {
  return TraceState::Op("slice", {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    return b.Slice(ids[0], axis, start, limit, step);
  });
}

Value pad(const Value& x, const std::vector<Dim>& low, const std::vector<Dim>& high, double value,
          Loc loc) {
  return TraceState::Op("pad", {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.low = low;
    attrs.high = high;
    attrs.value = value;
    return b.Create(Op::k_pad, ids, std::move(attrs));
  });
}

Value windows(const Value& x, const std::vector<Dim>& sizes, const WindowOptions& options,
              Loc loc) {
  return TraceState::Op("windows", {&x, 1}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.sizes = sizes;
    attrs.steps = options.strides;
    attrs.dilations = options.dilations;
    attrs.low = options.low;
    attrs.high = options.high;
    attrs.value = options.value;
    if (attrs.steps.empty()) attrs.steps.assign(sizes.size(), 1);
    if (attrs.dilations.empty()) attrs.dilations.assign(sizes.size(), 1);
    if (attrs.low.empty()) attrs.low.assign(sizes.size(), 0);
    if (attrs.high.empty()) attrs.high.assign(sizes.size(), 0);
    return b.Create(Op::k_windows, ids, std::move(attrs));
  });
}

Value concat(const std::vector<Value>& xs, int axis, Loc loc) {
  return TraceState::Op("concat", xs, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.axis = axis;
    return b.Create(Op::k_concat, ids, std::move(attrs));
  });
}

Value gather(const Value& data, const Value& indices, int axis, Loc loc) {
  return TraceState::Op("gather", {{data, indices}}, loc, [&](ir::Builder& b, const Ids& ids) {
    ir::Attrs attrs;
    attrs.axis = axis;
    return b.Create(Op::k_gather, ids, std::move(attrs));
  });
}

Value embedding(const Value& table, const Value& ids, Loc loc) {
  return TraceState::Op("embedding", {{table, ids}}, loc, [&](ir::Builder& b, const Ids& operands) {
    return b.Create(Op::k_embedding, operands);
  });
}

std::vector<Value> split(const Value& x, int parts, int axis, Loc loc) {
  const auto fail = [&](const std::string& message) {
    const Value poison = TraceState::Fail(x, "split", loc, message);
    return std::vector<Value>(static_cast<size_t>(std::max(parts, 1)), poison);
  };
  const int rank = x.rank();
  if (parts < 1) return fail(absl::StrCat("wanted 1 part or more, found ", parts));
  if (axis < -rank || axis >= rank)
    return fail(absl::StrCat("axis ", axis, " is outside of rank ", rank));
  if (axis < 0) axis += rank;
  const Dim extent = x.dim(axis), part = FloorDiv(extent, parts);
  if (extent.is_constant() && extent.constant() % parts != 0)
    return fail(absl::StrCat("axis ", axis, " of extent ", extent.constant(), " can't be cut into ",
                             parts, " equal parts"));
  if (part * parts != extent) {
    // States the requirement extent % parts == 0; the reshaped value itself has no use.
    Shape blocks = x.shape();
    blocks[static_cast<size_t>(axis)] = parts;
    blocks.insert(blocks.begin() + axis + 1, part);
    if (!reshape(x, blocks, loc).ok()) return fail("");
  }
  std::vector<Value> result;
  for (int i = 0; i < parts; ++i)
    result.push_back(slice(x, axis, part * i, part * (i + 1), 1, loc));
  return result;
}

}  // namespace lathe
