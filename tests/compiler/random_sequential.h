#pragma once
// Steps of random programs: windows and the ops that walk elements in an order. Internal to
// random_graph.cc.
#include <cmath>

#include "tests/compiler/random_views.h"

namespace lathe::fuzz {

class SequentialSteps : public ViewSteps {
 protected:
  using ViewSteps::ViewSteps;

  bool Windows() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1 && t.rank() <= 3; });
    if (None(i)) return false;
    const ir::ValueType type = Type(i);
    const int64_t count = random_.Of<int64_t>({1, std::min(2, type.rank())});
    Attrs attrs;
    attrs.value = type.dtype == bool_ ? 1 : random_.Of({0.0, -2.0});
    std::vector<int64_t> last;
    int64_t taps = 1;
    for (int64_t k = 0; k < count; ++k) {
      const int64_t size = 1 + random_.Below(3), dilation = 1 + random_.Below(2);
      taps *= size;
      attrs.sizes.push_back(size);
      attrs.dilations.push_back(dilation);
      attrs.steps.push_back(1 + random_.Below(2));
      const int64_t low = random_.Below(3), reach = dilation * (size - 1) + 1;
      attrs.low.push_back(low);
      attrs.high.push_back(std::max<int64_t>(0, reach - low - random_.Below(2)));
      last.push_back(type.rank() + k);
    }
    const double bound = std::max(2.0, pool_[i].bound);
    const absl::StatusOr<ValueId> w = b_.Create(Op::k_windows, {pool_[i].id}, attrs);
    if (!w.ok() || type.dtype == bool_ || random_.Percent(40)) return Keep(w, bound);
    Attrs over;
    over.axes = last;
    over.keep_dims = random_.Percent(20);
    const Op op = random_.Of({Op::k_sum, Op::k_max, Op::k_min});
    return Keep(b_.Create(op, {*w}, over), op == Op::k_sum ? bound * double(taps) : bound);
  }

  // A flat value of it, indices and the updates that go there.
  bool Scatter(size_t i) {
    const Pooled data = pool_[i];
    const DType dtype = Type(i).dtype;
    const absl::StatusOr<ValueId> flat = b_.Reshape(data.id, {-1});
    if (!flat.ok() || !AddInput(i64, {InputDim()})) return false;
    const ValueId indices = pool_.back().id;
    pool_.pop_back();
    Attrs attrs;
    attrs.reduction = dtype == bool_ ? random_.Of<const char*>({"", "max", "min"})
                                     : random_.Of<const char*>({"", "add", "max", "min", "add"});
    const Dim count = graph_.type(indices).shape[0];
    absl::StatusOr<ValueId> updates = Scalar(dtype);
    if (updates.ok()) updates = b_.BroadcastTo(*updates, {count});
    if (!updates.ok()) return false;
    return Keep(b_.Create(Op::k_scatter, {*flat, indices, *updates}, attrs), data.bound + 33 * 3);
  }

  bool Sequential() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1; });
    if (None(i)) return false;
    const ir::ValueType type = Type(i);
    Attrs attrs;
    switch (random_.Below(5)) {
      case 0:
        return Scatter(i);
      case 1:
        attrs.descending = random_.Percent(50);
        return Keep(b_.Create(Op::k_argsort, {pool_[i].id}, attrs),
                    static_cast<double>(kMostElements));
      case 2: {
        if (!AddInput(random_.Of({i32, i64}), {InputDim()})) return false;
        const ValueId indices = pool_.back().id;
        pool_.pop_back();
        attrs.dim = type.shape.back();
        return Keep(b_.Create(Op::k_check_index, {indices}, attrs),
                    static_cast<double>(kMostElements));
      }
      default:
        break;
    }
    if (type.dtype == bool_) return false;
    attrs.axis = random_.Below(type.rank());
    attrs.exclusive = random_.Percent(30);
    attrs.reverse = random_.Percent(30);
    const double count = static_cast<double>(
        std::max<int64_t>(1, AtEight(type.shape[static_cast<size_t>(*attrs.axis)])));
    const bool product = random_.Percent(25);
    const double bound = product ? std::pow(pool_[i].bound, count) : pool_[i].bound * count;
    return Keep(b_.Create(product ? Op::k_cumprod : Op::k_cumsum, {pool_[i].id}, attrs), bound);
  }
};

}  // namespace lathe::fuzz
