// Operators that gather, scatter, sort and accumulate, among them those whose results are as long
// as data says.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/index.h"

namespace lathe::onnx {

V CheckIndex(V indices, Dim bound) {
  if (indices.c == nullptr) return indices;
  ir::Attrs attrs;
  attrs.dim = bound;
  return indices.c->Create(ir::Op::k_check_index, {Cast(indices, i64)}, std::move(attrs));
}

V Flat(V x) { return ReshapeTo(x, {Product(x.shape(), 0, x.rank())}); }

V GatherFlat(V data, V indices) {
  if (data.c == nullptr) return data;
  ir::Attrs attrs;
  attrs.axis = 0;
  attrs.unchecked = true;
  return data.c->Create(ir::Op::k_gather, {Flat(data), indices}, std::move(attrs));
}

V ScatterFlat(V data, V indices, V updates, const std::string& reduction) {
  if (data.c == nullptr) return data;
  const Shape shape = data.shape();
  ir::Attrs attrs;
  attrs.reduction = reduction;
  return ReshapeTo(data.c->Create(ir::Op::k_scatter, {Flat(data), Flat(indices), Flat(updates)},
                                  std::move(attrs)),
                   shape);
}

V CumulativeSum(V x, int axis, bool exclusive, bool reverse) {
  if (x.c == nullptr) return x;
  ir::Attrs attrs;
  attrs.axis = axis;
  attrs.exclusive = exclusive;
  attrs.reverse = reverse;
  return x.c->Create(ir::Op::k_cumsum, {x}, std::move(attrs));
}

V Argsort(V x, bool descending) {
  if (x.c == nullptr) return x;
  ir::Attrs attrs;
  attrs.descending = descending;
  return x.c->Create(ir::Op::k_argsort, {x}, std::move(attrs));
}

Compacted Compact(NodeContext& c, V keep) {
  const Dim n = keep.dim(0);
  V position = CumulativeSum(Cast(keep, i64), 0, false, false);
  // What isn't kept is written nowhere: one past the end.
  V target = Select(keep, position - 1.0, c.SizeOf(n));
  Compacted result;
  result.padded = ScatterFlat(c.Fill({n}, i64, 0), target, c.Iota({n}, 0), "");
  result.count = ReshapeTo(Reduce(ir::Op::k_sum, Cast(keep, i64), {0}, false), {1});
  return result;
}

namespace {

std::vector<int> LastTo(int axis, int rank) {  // `axis` and the last one change places
  std::vector<int> order;
  for (int i = 0; i < rank; ++i) order.push_back(i);
  if (rank > 0) std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(rank - 1)]);
  return order;
}

// The row-major index into `shape` of each element of a tensor of shape `at`, where axis `axis` is
// replaced by `index` (of shape `at`).
V LinearAlong(NodeContext& c, const Shape& shape, const Shape& at, int axis, V index) {
  V linear = c.ScalarInt(i64, 0);
  for (size_t i = 0; i < shape.size() && c.ok(); ++i) {
    Shape along(shape.size(), 1);
    along[i] = at[i];
    V place = static_cast<int>(i) == axis ? index : c.Iota(along, static_cast<int>(i));
    linear = linear * c.SizeOf(shape[i]) + place;
  }
  return Broadcast(linear, at);
}

void RequireInside(NodeContext& c, const Shape& at, const Shape& shape, int axis) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (static_cast<int>(i) != axis)
      c.Require(at[i] <= shape[i], absl::StrCat("the indices' axis ", i, " lies in the data's"));
}

void GatherElements(NodeContext& c) {
  V x = c.In(0), indices = c.In(1);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", 0), x.rank());
  if (indices.rank() != x.rank()) return c.Fail("data and indices have different ranks");
  RequireInside(c, indices.shape(), x.shape(), axis);
  V index = CheckIndex(indices, x.dim(axis));
  c.Out(0, GatherFlat(x, LinearAlong(c, x.shape(), indices.shape(), axis, index)));
}

std::string Reduction(NodeContext& c) {
  const std::string how = c.Str("reduction", "none");
  if (how == "none") return "";
  if (how != "add" && how != "mul" && how != "max" && how != "min")
    c.Fail(absl::StrCat("reduction is '", how, "'"));
  return how;
}

void ScatterElements(NodeContext& c) {
  V x = c.In(0), indices = c.In(1), updates = c.In(2);
  const std::string how = Reduction(c);
  if (!c.ok()) return;
  const int axis = c.Axis(c.Int("axis", 0), x.rank());
  if (indices.rank() != x.rank()) return c.Fail("data and indices have different ranks");
  RequireInside(c, indices.shape(), x.shape(), axis);
  V index = CheckIndex(indices, x.dim(axis));
  V linear = LinearAlong(c, x.shape(), indices.shape(), axis, index);
  c.Out(0, ScatterFlat(x, linear, updates, how));
}

// Tuples of `depth` indices, [.., depth], as positions of slices of data's axes first..first+depth.
V LinearTuples(NodeContext& c, V x, V indices, int first, int depth) {
  V linear = c.ScalarInt(i64, 0);
  const int last = indices.rank() - 1;
  for (int k = 0; k < depth && c.ok(); ++k) {
    V part = Squeeze(SliceAxis(indices, last, k, k + 1), {last});
    linear = linear * c.SizeOf(x.dim(first + k)) + CheckIndex(part, x.dim(first + k));
  }
  return linear;
}

bool TupleDepth(NodeContext& c, V x, V indices, int64_t batch, int* depth) {
  if (!c.ok()) return false;
  if (indices.rank() < 1 || !indices.dim(indices.rank() - 1).is_constant()) {
    c.Unsupported(absl::StrCat("the indices are ", indices.type().ToString(),
                               "; their last extent must be known while loading"));
    return false;
  }
  const int64_t extent = indices.dim(indices.rank() - 1).constant();
  if (batch < 0 || batch > x.rank() || extent > x.rank() - batch) {
    c.Fail(absl::StrCat("tuples of ", extent, " indices into ", x.type().ToString(), " behind ",
                        batch, " axes of a batch"));
    return false;
  }
  *depth = static_cast<int>(extent);
  return c.ok();
}

void GatherNd(NodeContext& c) {
  V x = c.In(0), indices = c.In(1);
  const int64_t batch_dims = c.Int("batch_dims");
  int depth = 0;
  if (!TupleDepth(c, x, indices, batch_dims, &depth)) return;
  const int batch = static_cast<int>(batch_dims);
  if (batch >= indices.rank()) return c.Fail("batch_dims is out of range");
  V linear = LinearTuples(c, x, indices, batch, depth);
  const Shape given = indices.shape();
  const Shape picked(given.begin(), given.end() - 1);
  linear = Broadcast(linear, picked);
  // Batches lie one behind the other.
  const Dim slices = Product(x.shape(), batch, batch + depth);
  V base = c.ScalarInt(i64, 0);
  for (int i = 0; i < batch; ++i) {
    Shape along(picked.size(), 1);
    along[static_cast<size_t>(i)] = picked[static_cast<size_t>(i)];
    c.Require(Eq(x.dim(i), picked[static_cast<size_t>(i)]), "the batch axes are equal");
    base = base * c.SizeOf(x.dim(i)) + c.Iota(along, i);
  }
  linear = base * c.SizeOf(slices) + linear;
  Shape rows = {Product(x.shape(), 0, batch + depth)}, result = picked;
  for (int i = batch + depth; i < x.rank(); ++i) {
    rows.push_back(x.dim(i));
    result.push_back(x.dim(i));
  }
  ir::Attrs attrs;
  attrs.axis = 0;
  attrs.unchecked = true;
  V flat = Flat(Broadcast(linear, picked));
  c.Out(0, ReshapeTo(c.Create(ir::Op::k_gather, {ReshapeTo(x, rows), flat}, std::move(attrs)),
                     result));
}

void ScatterNd(NodeContext& c) {
  V x = c.In(0), indices = c.In(1), updates = c.In(2);
  const std::string how = Reduction(c);
  int depth = 0;
  if (!TupleDepth(c, x, indices, 0, &depth)) return;
  V linear = LinearTuples(c, x, indices, 0, depth);
  const Shape given = indices.shape();
  const Shape picked(given.begin(), given.end() - 1);
  linear = Broadcast(linear, picked);
  // Each tuple writes a slice of the rest.
  const Dim rest = Product(x.shape(), depth, x.rank());
  V start = ReshapeTo(linear, {Product(picked, 0, static_cast<int>(picked.size())), 1});
  V positions = start * c.SizeOf(rest) + c.Iota({1, rest}, 1);
  c.Out(0, ScatterFlat(x, positions, updates, how));
}

void TopK(NodeContext& c) {
  std::vector<Dim> count;
  if (c.HasAttr("k")) {
    count = {c.Int("k")};
  } else if (const auto dims = c.Dims(1)) {
    count = *dims;
  }
  V x = c.In(0);
  if (!c.ok()) return;
  if (count.size() != 1 || x.rank() < 1) return c.Fail("wanted one k and a tensor of rank >= 1");
  const int axis = c.Axis(c.Int("axis", -1), x.rank());
  const std::vector<int> order = LastTo(axis, x.rank());
  const int last = x.rank() - 1;
  c.Require(count[0] <= x.dim(axis), "k is at most the extent of the axis");
  V turned = Permute(x, order);
  V positions = SliceAxis(Argsort(turned, c.Int("largest", 1) != 0), last, 0, count[0]);
  if (!c.ok()) return;
  V linear = LinearAlong(c, turned.shape(), positions.shape(), last, positions);
  c.Out(0, Permute(GatherFlat(turned, linear), order));
  c.Out(1, Permute(positions, order));
}

Mapper Cumulative(ir::Op op) {
  return [op](NodeContext& c) {
    const auto axes = c.Constants(1);
    V x = c.In(0);
    if (!c.ok()) return;
    if (axes->size() != 1) return c.Fail("wanted one axis");
    ir::Attrs attrs;
    attrs.axis = c.Axis((*axes)[0], x.rank());
    attrs.exclusive = c.Int("exclusive") != 0;
    attrs.reverse = c.Int("reverse") != 0;
    c.Out(0, c.Create(op, {x}, std::move(attrs)));
  };
}

void NonZero(NodeContext& c) {
  const auto keep = [&] {
    V x = c.In(0);
    if (!c.ok()) return x;
    return Flat(x.dtype() == bool_ ? x : Bin(ir::Op::k_ne, x, 0.0));
  };
  const Val padded = c.Keep("positions", [&] { return Compact(c, keep()).padded; });
  const Shape shape = c.TypeOf(0).shape;
  const Dim all = Product(shape, 0, static_cast<int>(shape.size()));
  const std::vector<Dim> count =
      c.SizesFromData("count", [&] { return Compact(c, keep()).count; }, {all});
  V flat = c.Use(padded);
  if (!c.ok()) return;
  flat = SliceAxis(flat, 0, 0, count[0]);
  // A row of coordinates for each axis.
  std::vector<V> rows;
  for (size_t i = 0; i < shape.size(); ++i) {
    V inner = c.SizeOf(Product(shape, static_cast<int>(i) + 1, static_cast<int>(shape.size())));
    V place = Bin(ir::Op::k_rem, Bin(ir::Op::k_div, flat, inner), c.SizeOf(shape[i]));
    rows.push_back(Unsqueeze(place, {0}));
  }
  if (rows.empty()) return c.Out(0, c.Fill({0, count[0]}, i64, 0));
  c.Out(0, Concat(rows, 0));
}

void Compress(NodeContext& c) {
  const bool flat = !c.HasAttr("axis");
  const Shape shape = c.TypeOf(0).shape;
  const int axis = flat ? 0 : c.Axis(c.Int("axis"), static_cast<int>(shape.size()));
  if (!c.ok()) return;
  const Dim extent =
      flat ? Product(shape, 0, static_cast<int>(shape.size())) : shape[static_cast<size_t>(axis)];
  const Shape given = c.TypeOf(1).shape;
  if (c.ok() && given.size() != 1) c.Fail("wanted a condition of rank 1");
  if (!c.ok()) return;
  const Val padded = c.Keep("positions", [&] { return Compact(c, c.In(1)).padded; });
  const std::vector<Dim> count =
      c.SizesFromData("count", [&] { return Compact(c, c.In(1)).count; }, {given[0]});
  V positions = c.Use(padded), x = c.In(0);
  if (!c.ok()) return;
  c.Require(given[0] <= extent, "the condition is no longer than the axis");
  if (flat) x = Flat(x);
  c.Out(0, Gather(x, SliceAxis(positions, 0, 0, count[0]), axis));
}

// Rows of equal elements found by sorting: by the last column first, stable, as far as the first.
void Unique(NodeContext& c) {
  const bool flat = !c.HasAttr("axis"), sorted = c.Int("sorted", 1) != 0;
  const Shape shape = c.TypeOf(0).shape;
  const int rank = static_cast<int>(shape.size());
  const int axis = flat ? 0 : c.Axis(c.Int("axis"), rank);
  if (!c.ok()) return;
  const Dim all = Product(shape, 0, rank);
  const Dim n = flat ? all : shape[static_cast<size_t>(axis)];
  Dim width = 1;
  for (int i = 0; i < rank && !flat; ++i)
    if (i != axis) width *= shape[static_cast<size_t>(i)];
  constexpr int64_t kWidest = 256;
  if (!width.is_constant() || width.constant() > kWidest)
    return c.Unsupported(absl::StrCat("rows of ", width.ToString(),
                                      " elements are compared; wanted ", "a number of at most ",
                                      kWidest));
  const auto rows = [&] {  // [n, width]
    V x = c.In(0);
    std::vector<int> order = {axis};
    for (int i = 0; i < rank; ++i)
      if (i != axis) order.push_back(i);
    return ReshapeTo(flat ? Flat(x) : Permute(x, order), {n, width});
  };
  const auto order = [&] {
    V x = rows(), at = c.Iota({n}, 0);
    for (int64_t k = width.constant(); k-- > 0;) {
      V key = GatherFlat(SliceAxis(x, 1, k, k + 1), at);
      at = GatherFlat(at, Argsort(key, false));
    }
    return at;
  };
  const auto fresh = [&] {  // in sorted order: unlike the row before
    V at = order();
    ir::Attrs attrs;
    attrs.axis = 0;
    attrs.unchecked = true;
    V s = c.Create(ir::Op::k_gather, {rows(), at}, std::move(attrs));
    if (!c.ok()) return s;
    V before = PadBy(SliceAxis(s, 0, 0, n - 1), {n - Max(n - 1, 0), 0}, {0, 0});
    V differs = Reduce(ir::Op::k_any, Bin(ir::Op::k_ne, s, before), {1}, false);
    return Bin(ir::Op::k_or, differs, Bin(ir::Op::k_eq, c.Iota({n}, 0), 0.0));
  };
  const Val kept_order = c.Keep("order", order);
  const Val kept_starts = c.Keep("starts", [&] { return Compact(c, fresh()).padded; });
  const Val kept_inverse = c.Keep("inverse", [&] {
    V group = CumulativeSum(Cast(fresh(), i64), 0, false, false) - 1.0;
    return ScatterFlat(c.Fill({n}, i64, 0), order(), group, "");
  });
  const std::vector<Dim> count =
      c.SizesFromData("count", [&] { return Compact(c, fresh()).count; }, {n});
  if (!c.ok()) return;
  const Dim k = count[0];
  V starts = SliceAxis(c.Use(kept_starts), 0, 0, k);
  V first = GatherFlat(c.Use(kept_order), starts), inverse = c.Use(kept_inverse);
  V counts = ScatterFlat(c.Fill({k}, i64, 0), inverse, c.Fill({n}, i64, 1), "add");
  if (!sorted) {  // in the order in which they occur
    V perm = Argsort(first, false);
    first = GatherFlat(first, perm);
    counts = GatherFlat(counts, perm);
    inverse = GatherFlat(ScatterFlat(c.Fill({k}, i64, 0), perm, c.Iota({k}, 0), ""), inverse);
  }
  V x = c.In(0);
  c.Out(0, Gather(flat ? Flat(x) : x, first, axis));
  c.Out(1, first);
  c.Out(2, inverse);
  c.Out(3, counts);
}

}  // namespace

std::vector<Mapping> IndexMappings() {
  return {
      {"", "GatherElements", GatherElements},
      {"", "GatherND", GatherNd},
      {"", "ScatterElements", ScatterElements},
      {"", "Scatter", ScatterElements},
      {"", "ScatterND", ScatterNd},
      {"", "TopK", TopK},
      {"", "CumSum", Cumulative(ir::Op::k_cumsum)},
      {"", "CumProd", Cumulative(ir::Op::k_cumprod)},
      {"", "NonZero", NonZero},
      {"", "Compress", Compress},
      {"", "Unique", Unique},
  };
}

}  // namespace lathe::onnx
