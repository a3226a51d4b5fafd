// The DSL's sizes from data: shapes given as values, and ragged dims.
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/trace_state.h"
#include "ir/element_dims.h"
#include "ir/ragged.h"

namespace lathe {

using ir::Op;
using Ids = TraceState::Ids;

namespace {

Value Apply(Op op, const Value& x, const Ragged& rows, ir::Attrs attrs, Loc loc) {
  return TraceState::Op(
      ir::Name(op), {{x, rows.offsets()}}, loc,
      [&](ir::Builder& b, const Ids& ids) { return b.Create(op, ids, std::move(attrs)); });
}

}  // namespace

Value shape_of(const Value& x, Loc loc) {
  return TraceState::Op("shape_of", {&x, 1}, loc, [](ir::Builder& b, const Ids& ids) {
    return b.Create(Op::k_shape_of, ids);
  });
}

Shape element_dims(const Value& v, Loc loc) {
  Shape dims;
  TraceState::Op("element_dims", {&v, 1}, loc,
                 [&](ir::Builder& b, const Ids& ids) -> absl::StatusOr<ir::ValueId> {
                   absl::StatusOr<Shape> shape = ir::ShapeFromValue(b.graph(), ids[0]);
                   if (!shape.ok()) return shape.status();
                   dims = *std::move(shape);
                   return ids[0];
                 });
  return dims;
}

Dim element_dim(const Value& v, Loc loc) {
  Dim dim;
  TraceState::Op("element_dim", {&v, 1}, loc,
                 [&](ir::Builder& b, const Ids& ids) -> absl::StatusOr<ir::ValueId> {
                   absl::StatusOr<Dim> found = ir::DimFromValue(b.graph(), ids[0]);
                   if (!found.ok()) return found.status();
                   dim = *found;
                   return ids[0];
                 });
  return dim;
}

Ragged Trace::ragged(const std::string& name, Dim batch, const std::string& bounds, DType dtype,
                     Loc loc) {
  ir::RaggedDim r;
  const std::string what = absl::StrCat("ragged ", name);
  const Value offsets =
      state_->Source(what, loc, [&](ir::Builder& b, const auto&) -> absl::StatusOr<ir::ValueId> {
        absl::StatusOr<ir::RaggedDim> made =
            ir::DeclareRagged(b, name, batch, bounds, {what, LocationOf(loc).ToString()}, dtype);
        if (!made.ok()) return made.status();
        r = *std::move(made);
        return r.offsets;
      });
  return Ragged(batch, r.total, r.longest, offsets);
}

Value Trace::input(const std::string& name, DType dtype, const Ragged& rows, const Shape& then,
                   Loc loc) {
  Shape shape = {rows.total()};
  shape.insert(shape.end(), then.begin(), then.end());
  return input(name, dtype, shape, loc);
}

Value sum(const Value& x, const Ragged& rows, Loc loc) {
  return Apply(Op::k_segment_sum, x, rows, {}, loc);
}
Value mean(const Value& x, const Ragged& rows, Loc loc) {
  return Apply(Op::k_segment_mean, x, rows, {}, loc);
}
Value max(const Value& x, const Ragged& rows, Loc loc) {
  return Apply(Op::k_segment_max, x, rows, {}, loc);
}
Value max(const Value& x, const Ragged& rows, double empty, Loc loc) {
  ir::Attrs attrs;
  attrs.value = empty;
  return Apply(Op::k_segment_max, x, rows, std::move(attrs), loc);
}
Value softmax(const Value& x, const Ragged& rows, Loc loc) {
  return Apply(Op::k_segment_softmax, x, rows, {}, loc);
}
Value spread(const Value& per_row, const Ragged& rows, Loc loc) {
  return Apply(Op::k_segment_rows, per_row, rows, {}, loc);
}
Value to_padded(const Value& x, const Ragged& rows, double value, Loc loc) {
  ir::Attrs attrs;
  attrs.value = value;
  return Apply(Op::k_to_padded, x, rows, std::move(attrs), loc);
}
Value to_ragged(const Value& x, const Ragged& rows, Loc loc) {
  return Apply(Op::k_to_ragged, x, rows, {}, loc);
}

}  // namespace lathe
