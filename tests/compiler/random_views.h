#pragma once
// Steps of random programs: views, pads and concatenations. Internal to random_graph.cc.
#include <algorithm>

#include "tests/compiler/random_pool.h"

namespace lathe::fuzz {

class ViewSteps : public RandomPool {
 protected:
  using RandomPool::RandomPool;

  bool Broadcast() {
    const size_t i = PickAny();
    if (None(i)) return false;
    Shape shape = Type(i).shape;
    for (Dim& d : shape) {
      if (d == Dim(1) && random_.Percent(60)) d = InputDim();
    }
    if (random_.Percent(60)) shape.insert(shape.begin(), InputDim());
    if (Volume(shape) > kMostElements) return false;
    return Keep(b_.BroadcastTo(pool_[i].id, shape), pool_[i].bound);
  }

  bool Reshape() {
    const size_t i = PickAny();
    if (None(i)) return false;
    Shape shape = Type(i).shape;
    const int64_t rank = static_cast<int64_t>(shape.size());
    const int64_t axis = rank == 0 ? 0 : random_.Below(rank);
    switch (random_.Below(6)) {
      case 0:
        shape.insert(shape.begin() + axis, Dim(1));
        break;
      case 1:
        std::erase(shape, Dim(1));
        break;
      case 2:
        if (rank < 2) return false;
        if (axis + 1 < rank) {
          shape[static_cast<size_t>(axis)] *= shape[static_cast<size_t>(axis) + 1];
          shape.erase(shape.begin() + axis + 1);
        }
        break;
      case 3: {
        if (rank == 0) return false;
        const Dim d = shape[static_cast<size_t>(axis)];
        if (d.is_constant() && (d.constant() == 0 || d.constant() % 2 != 0)) return false;
        if (!d.is_constant() && !random_.Percent(30)) return false;  // requires d % 2 == 0
        shape[static_cast<size_t>(axis)] = -1;
        shape.insert(shape.begin() + axis + random_.Below(2), Dim(2));
        break;
      }
      case 4:
        shape = {-1};
        break;
      default:
        if (rank < 2) return false;
        shape = {shape[0], -1};
        break;
    }
    return Keep(b_.Reshape(pool_[i].id, shape), pool_[i].bound);
  }

  bool Permute() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 2; });
    if (None(i)) return false;
    Attrs attrs;
    for (int axis = 0; axis < Type(i).rank(); ++axis) attrs.axes.push_back(axis);
    for (size_t k = attrs.axes.size(); k > 1; --k)
      std::swap(attrs.axes[k - 1],
                attrs.axes[static_cast<size_t>(random_.Below(static_cast<int64_t>(k)))]);
    return Keep(b_.Create(Op::k_permute, {pool_[i].id}, attrs), pool_[i].bound);
  }

  absl::StatusOr<ValueId> RandomSlice(ValueId v) {
    const Shape& shape = graph_.type(v).shape;
    const int64_t axis = random_.Below(static_cast<int64_t>(shape.size()));
    const Dim extent = shape[static_cast<size_t>(axis)];
    switch (random_.Below(7)) {
      case 0:
        return b_.Slice(v, axis, 1, INT64_MAX);
      case 1:
        return b_.Slice(v, axis, 0, -1);
      case 2:
        return b_.Slice(v, axis, 0, INT64_MAX, 2);
      case 3:
        return b_.Slice(v, axis, -1, INT64_MIN, -1);
      case 4:
        return b_.Slice(v, axis, -3, INT64_MAX);
      case 5:
        return b_.Slice(v, axis, 0, Symbol());
      default:
        return b_.Slice(v, axis, FloorDiv(extent, 2), extent);
    }
  }

  bool Slice() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1; });
    return !None(i) && Keep(RandomSlice(pool_[i].id), pool_[i].bound);
  }

  bool Pad() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1; });
    if (None(i)) return false;
    Attrs attrs;
    attrs.value = Type(i).dtype == bool_ ? 1 : random_.Of({0.0, 0.0, 2.0, -1.0});
    for (int axis = 0; axis < Type(i).rank(); ++axis) {
      attrs.low.push_back(random_.Percent(60) ? Dim(random_.Below(3)) : Dim(0));
      attrs.high.push_back(random_.Percent(20) ? Symbol() : Dim(random_.Below(2)));
    }
    return Keep(b_.Create(Op::k_pad, {pool_[i].id}, attrs), std::max(2.0, pool_[i].bound));
  }

  bool Concat() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1; });
    if (None(i)) return false;
    const ir::ValueType type = Type(i);
    Attrs attrs;
    attrs.axis = random_.Below(type.rank());
    std::vector<ValueId> parts{pool_[i].id};
    double bound = pool_[i].bound;
    const int64_t more = random_.Below(3);
    for (int64_t k = 0; k < more; ++k) {
      const size_t j = Pick([&](const ir::ValueType& t) {
        if (t.dtype != type.dtype || t.rank() != type.rank()) return false;
        for (int axis = 0; axis < t.rank(); ++axis) {
          const size_t a = static_cast<size_t>(axis);
          if (axis != *attrs.axis && t.shape[a] != type.shape[a]) return false;
        }
        return true;
      });
      if (None(j)) continue;
      parts.push_back(pool_[j].id);
      bound = std::max(bound, pool_[j].bound);
    }
    return Keep(b_.Create(Op::k_concat, parts, attrs), bound);
  }

  // Cuts a value in two and joins the parts in either order.
  bool Split() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1; });
    if (None(i)) return false;
    const ValueId v = pool_[i].id;
    Attrs attrs;
    attrs.axis = random_.Below(Type(i).rank());
    const Dim extent = Type(i).shape[static_cast<size_t>(*attrs.axis)];
    const Dim middle = FloorDiv(extent, 2);
    const absl::StatusOr<ValueId> a = b_.Slice(v, *attrs.axis, 0, middle);
    const absl::StatusOr<ValueId> b = b_.Slice(v, *attrs.axis, middle, extent);
    if (!a.ok() || !b.ok()) return false;
    std::vector<ValueId> parts{*a, *b};
    if (random_.Percent(70)) std::swap(parts[0], parts[1]);
    return Keep(b_.Create(Op::k_concat, parts, attrs), pool_[i].bound);
  }
};

}  // namespace lathe::fuzz
