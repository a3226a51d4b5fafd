// Recipes of windows and of the ops that walk elements in an order.
#include <string>

#include "ir/samples_internal.h"

namespace lathe::ir::samples {
namespace {

Recipes Scatter(DType t) {
  Recipes r;
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    const bool arithmetic = reduction == std::string("add") || reduction == std::string("mul");
    if (t == bool_ && arithmetic) continue;
    r.push_back(
        {reduction, [=](Maker& m) {
           const ValueId x = m.In(t, {m.D(0)}), k = m.In(i64, {m.D(1)});
           return m.Make(Op::k_scatter, {x, k, m.In(t, {m.D(1)})}, {.reduction = reduction});
         }});
  }
  return r;
}

Recipes CheckIndex(DType t) {
  return {{"rank 2", [=](Maker& m) {
             m.In(f32, {m.D(2)});
             return m.Make(Op::k_check_index, {m.In(t, {m.D(0), m.D(1)})}, {.dim = m.D(2)});
           }}};
}

Recipes Argsort(DType t) {
  const auto of = [t](bool descending) {
    return [=](Maker& m) {
      return m.Make(Op::k_argsort, {m.In(t, {m.D(0), m.D(1)})}, {.descending = descending});
    };
  };
  return {{"ascending", of(false)}, {"descending", of(true)}};
}

Recipes Prefix(Op op, DType t) {
  const auto along = [=](int64_t axis, bool exclusive, bool reverse) {
    return [=](Maker& m) {
      return m.Make(op, {m.In(t, {m.D(0), m.D(1), m.D(2)})},
                    {.axis = axis, .exclusive = exclusive, .reverse = reverse});
    };
  };
  return {{"the last axis", along(2, false, false)},
          {"the middle axis, exclusive", along(1, true, false)},
          {"the first axis, from the end", along(0, false, true)},
          {"the last axis, exclusive, from the end", along(-1, true, true)}};
}

}  // namespace

Recipes WindowRecipes(DType t) {
  const auto of = [t](std::function<Shape(Maker&)> shape, std::function<Attrs(Maker&)> attrs) {
    return [=](Maker& m) {
      const ValueId x = m.In(t, shape(m));
      return m.Make(Op::k_windows, {x}, attrs(m));
    };
  };
  const auto rows = [](Maker& m) { return Shape{m.D(0), m.D(1)}; };
  const auto images = [](Maker& m) { return Shape{2, m.D(0), m.D(1)}; };
  return {
      {"of three, padded",
       of(rows,
          [](Maker&) {
            return Attrs{
                .steps = {1}, .low = {1}, .high = {1}, .sizes = {3}, .dilations = {1}, .value = 1};
          })},
      {"two axes, strided and dilated", of(images,
                                           [](Maker&) {
                                             return Attrs{.steps = {2, 3},
                                                          .low = {0, 2},
                                                          .high = {2, 3},
                                                          .sizes = {2, 3},
                                                          .dilations = {1, 2},
                                                          .value = 0};
                                           })},
      {"as long as another dim", of(rows,
                                    [](Maker& m) {
                                      m.In(f32, {m.D(2)});  // gives the size
                                      return Attrs{.steps = {1},
                                                   .low = {m.D(2)},
                                                   .high = {1},
                                                   .sizes = {m.D(2) + 1},
                                                   .dilations = {1},
                                                   .value = 0};
                                    })},
  };
}

Recipes SequentialRecipes(Op op, DType t) {
  switch (op) {
    case Op::k_check_index:
      return CheckIndex(t);
    case Op::k_scatter:
      return Scatter(t);
    case Op::k_argsort:
      return Argsort(t);
    default:
      return Prefix(op, t);
  }
}

}  // namespace lathe::ir::samples
