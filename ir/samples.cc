#include "ir/samples.h"

#include <limits>

#include "ir/samples_internal.h"
#include "ir/visit_dtype.h"

namespace lathe::ir {
namespace {

using samples::Maker;
using samples::Recipe;
using samples::Recipes;
using samples::SequentialRecipes;
using samples::WindowRecipes;

Recipes Unary(Op op, DType t) {
  return {
      {"rank 2",
       [=](Maker& m) {
         return m.Make(op, {m.In(t, {m.D(0), m.D(1)})});
       }},
      {"scalar", [=](Maker& m) { return m.Make(op, {m.In(t, {})}); }},
  };
}

Recipes Binary(Op op, DType t) {
  Recipes r = {
      {"one shape",
       [=](Maker& m) {
         const ValueId x = m.In(t, {m.D(0), m.D(1)});
         return m.Make(op, {x, m.In(t, {m.D(0), m.D(1)})});
       }},
      {"a row for all rows",
       [=](Maker& m) {
         const ValueId x = m.In(t, {m.D(0), m.D(1)});
         return m.Elementwise(op, {x, m.In(t, {m.D(1)})});
       }},
      {"outer",
       [=](Maker& m) {
         const ValueId x = m.In(t, {m.D(0), 1});
         return m.Elementwise(op, {x, m.In(t, {m.D(1)})});
       }},
  };
  if (op == Op::k_add) {
    r.push_back({"either may be 1", [=](Maker& m) {
                   const ValueId x = m.In(t, {m.D(0), 3});
                   return m.Elementwise(op, {x, m.In(t, {m.D(1), 3})});
                 }});
  }
  return r;
}

Recipes Select(DType t) {
  return {
      {"one shape",
       [=](Maker& m) {
         const ValueId p = m.In(bool_, {m.D(0), m.D(1)}), x = m.In(t, {m.D(0), m.D(1)});
         return m.Make(Op::k_select, {p, x, m.In(t, {m.D(0), m.D(1)})});
       }},
      {"a column chooses, a row is chosen",
       [=](Maker& m) {
         const ValueId p = m.In(bool_, {m.D(0), 1}), x = m.In(t, {m.D(1)});
         return m.Elementwise(Op::k_select, {p, x, m.In(t, {m.D(0), m.D(1)})});
       }},
  };
}

Recipes Cast(DType t) {
  Recipes r;
  for (int k = 0; k < kNumDTypes; ++k) {
    const DType to = static_cast<DType>(k);
    r.push_back({std::string("to ") + Name(to), [=](Maker& m) {
                   return m.Make(Op::k_cast, {m.In(t, {m.D(0), m.D(1)})}, {.dtype = to});
                 }});
  }
  return r;
}

Recipes Bitcast(DType t) {
  Recipes r;
  for (int k = 0; k < kNumDTypes; ++k) {
    const DType to = static_cast<DType>(k);
    if (to == bool_ || IsNarrowFloat(to) || SizeOf(to) != SizeOf(t)) continue;
    r.push_back({std::string("as ") + Name(to), [=](Maker& m) {
                   return m.Make(Op::k_bitcast, {m.In(t, {m.D(0), m.D(1)})}, {.dtype = to});
                 }});
  }
  return r;
}

Tensor SmallNumbers(DType t) {
  Tensor value(t, {2, 3});
  VisitDType(t, [&](auto type) {
    using T = decltype(type);
    for (int i = 0; i < 6; ++i) {
      const int number = t == bool_ ? i % 2 : IsUnsigned(t) ? i : i - 2;
      value.data<T>()[i] = static_cast<T>(number);
    }
  });
  return value;
}

// Sources take their sizes from an input that they don't read.
Recipes Sources(Op op, DType t) {
  if (op == Op::k_input) return {{"itself", [=](Maker& m) { return m.In(t, {m.D(0), m.D(1)}); }}};
  if (op == Op::k_constant) {
    return {{"of small numbers", [=](Maker& m) {
               return m.Keep([&] { return m.builder().Constant(SmallNumbers(t)); });
             }}};
  }
  if (op == Op::k_size) {
    return {{"of an expression", [=](Maker& m) {
               m.In(f32, {m.D(0), m.D(1)});
               return m.Make(op, {}, {.dim = 2 * m.D(0) + m.D(1) - 1});
             }}};
  }
  const auto attrs = [t](Maker& m) {
    m.In(f32, {m.D(0), m.D(1)});
    return Attrs{.shape = Shape{m.D(0), m.D(1)}, .dtype = t};
  };
  const auto iota = [=](int64_t axis) {
    return [=](Maker& m) {
      Attrs a = attrs(m);
      a.axis = axis;
      return m.Make(op, {}, std::move(a));
    };
  };
  const auto random = [=](const char* distribution) {
    return [=](Maker& m) {
      Attrs a = attrs(m);
      a.seed = 5;
      a.distribution = distribution;
      return m.Make(op, {}, std::move(a));
    };
  };
  if (op == Op::k_iota) return {{"along axis 0", iota(0)}, {"along axis 1", iota(1)}};
  return {{"uniform", random("uniform")}, {"normal", random("normal")}};
}

Recipes Broadcast(DType t) {
  const auto to = [t](std::function<Shape(Maker&)> from, std::vector<int64_t> axes) {
    return [=](Maker& m) {
      const ValueId x = m.In(t, from(m));
      m.In(t, {m.D(0), m.D(1)});
      return m.Make(Op::k_broadcast, {x}, {.axes = axes, .shape = Shape{m.D(0), m.D(1)}});
    };
  };
  return {
      {"rows repeated", to([](Maker& m) { return Shape{m.D(1)}; }, {1})},
      {"columns repeated", to([](Maker& m) { return Shape{m.D(0)}; }, {0})},
      {"an axis of 1", to(
                           [](Maker& m) {
                             return Shape{m.D(0), 1};
                           },
                           {0, 1})},
      {"scalar", to([](Maker&) { return Shape{}; }, {})},
  };
}

Recipes Reshape(DType t) {
  const auto from_to = [t](std::function<Shape(Maker&)> from, std::function<Shape(Maker&)> to) {
    return [=](Maker& m) {
      const ValueId x = m.In(t, from(m));
      return m.Keep([&] { return m.builder().Reshape(x, to(m)); });
    };
  };
  return {
      {"flattened", from_to(
                        [](Maker& m) {
                          return Shape{m.D(0), m.D(1)};
                        },
                        [](Maker& m) { return Shape{m.D(0) * m.D(1)}; })},
      {"split", from_to([](Maker& m) { return Shape{6 * m.D(0)}; },
                        [](Maker& m) {
                          return Shape{m.D(0), 2, 3};
                        })},
      {"with -1", from_to(
                      [](Maker& m) {
                        return Shape{m.D(0), m.D(1), 6};
                      },
                      [](Maker&) {
                        return Shape{-1, 2, 3};
                      })},
      {"dims exchanged", from_to(
                             [](Maker& m) {
                               return Shape{m.D(0), m.D(1)};
                             },
                             [](Maker& m) {
                               return Shape{m.D(1), m.D(0)};
                             })},
  };
}

Recipes Permute(DType t) {
  const auto by = [t](std::vector<int64_t> axes) {
    return [=](Maker& m) {
      const Shape all = {m.D(0), m.D(1), m.D(2), 3};
      const Shape shape(all.begin(), all.begin() + static_cast<int64_t>(axes.size()));
      return m.Make(Op::k_permute, {m.In(t, shape)}, {.axes = axes});
    };
  };
  return {{"transposed", by({1, 0})},
          {"transposed in a batch", by({0, 2, 1})},
          {"rotated", by({2, 0, 1})},
          {"heads", by({0, 2, 1, 3})}};
}

Recipes Slice(DType t) {
  const auto along = [t](int64_t axis, int64_t start, int64_t limit, int64_t step) {
    return [=](Maker& m) {
      const ValueId x = m.In(t, {m.D(0), m.D(1)});
      return m.Keep([&] { return m.builder().Slice(x, axis, start, limit, step); });
    };
  };
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  constexpr int64_t kBegin = std::numeric_limits<int64_t>::min();
  return {{"without the first", along(1, 1, kEnd, 1)},
          {"every second row", along(0, 0, kEnd, 2)},
          {"reversed", along(1, -1, kBegin, -1)},
          {"the last three", along(0, -3, kEnd, 1)},
          {"down by two, short of the ends", along(1, -2, 0, -2)}};
}

Recipes Pad(DType t) {
  return {
      {"both axes, value 1",
       [=](Maker& m) {
         return m.Make(Op::k_pad, {m.In(t, {m.D(0), m.D(1)})},
                       {.low = {0, 1}, .high = {2, 0}, .value = 1});
       }},
      {"as much as another dim",
       [=](Maker& m) {
         return m.Make(Op::k_pad, {m.In(t, {m.D(0), m.D(1)})},
                       {.low = {0, m.D(0)}, .high = {0, 1}, .value = 0});
       }},
  };
}

Recipes Concat(DType t) {
  return {{"along the first axis",
           [=](Maker& m) {
             const ValueId x = m.In(t, {m.D(0), m.D(1)});
             return m.Make(Op::k_concat, {x, m.In(t, {m.D(2), m.D(1)})}, {.axis = 0});
           }},
          {"three along the last axis",
           [=](Maker& m) {
             const ValueId x = m.In(t, {m.D(0), m.D(1)}), y = m.In(t, {m.D(0), m.D(2)});
             return m.Make(Op::k_concat, {x, y, m.In(t, {m.D(0), 2})}, {.axis = 1});
           }},
          {"with itself", [=](Maker& m) {
             const ValueId x = m.In(t, {m.D(0)});
             return m.Make(Op::k_concat, {x, x}, {.axis = 0});
           }}};
}

Recipes Gather(DType t) {
  return {{"rows",
           [=](Maker& m) {
             const ValueId x = m.In(t, {m.D(0), m.D(1)});
             return m.Make(Op::k_gather, {x, m.In(i64, {m.D(2)})}, {.axis = 0});
           }},
          {"columns by a matrix of i32",
           [=](Maker& m) {
             const ValueId x = m.In(t, {m.D(0), m.D(1)});
             return m.Make(Op::k_gather, {x, m.In(i32, {m.D(2), 2})}, {.axis = 1});
           }},
          {"elements at any index, unchecked", [=](Maker& m) {
             const ValueId x = m.In(t, {m.D(0)});
             return m.Make(Op::k_gather, {x, m.In(i64, {m.D(1), m.D(2)})},
                           {.axis = 0, .unchecked = true});
           }}};
}

Recipes Reduce(Op op, DType t) {
  const auto over = [=](int rank, Attrs attrs) {
    return [=](Maker& m) {
      Shape shape;
      for (int i = 0; i < rank; ++i) shape.push_back(m.D(i));
      return m.Make(op, {m.In(t, shape)}, attrs);
    };
  };
  if (op == Op::k_argmax || op == Op::k_argmin) {
    return {{"the last axis", over(2, {.axis = 1})},
            {"the last axis, the last one", over(2, {.axis = 1, .last = true})},
            {"the first axis", over(2, {.axis = 0})},
            {"the first axis, the last one", over(2, {.axis = 0, .last = true})},
            {"the middle axis, kept", over(3, {.axis = 1, .keep_dims = true})}};
  }
  Recipes r = {{"the last axis", over(2, {.axes = {1}})},
               {"the first axis, kept", over(2, {.axes = {0}, .keep_dims = true})},
               {"the middle axis", over(3, {.axes = {1}})},
               {"first and last", over(3, {.axes = {0, 2}})}};
  if (op == Op::k_max || op == Op::k_min)
    r.push_back({"with a value for nothing", over(2, {.axes = {1}, .value = 7})});
  return r;
}

Recipes MatMul(DType t) {
  const auto of = [t](std::function<std::pair<Shape, Shape>(Maker&)> shapes) {
    return [=](Maker& m) {
      const auto [a, b] = shapes(m);
      const ValueId x = m.In(t, a);
      return m.Make(Op::k_matmul, {x, m.In(t, b)});
    };
  };
  return {{"2 x 2", of([](Maker& m) {
             return std::pair(Shape{m.D(0), m.D(1)}, Shape{m.D(1), m.D(2)});
           })},
          {"3 x 3", of([](Maker& m) {
             return std::pair(Shape{m.D(3), m.D(0), m.D(1)}, Shape{m.D(3), m.D(1), m.D(2)});
           })},
          {"3 x 2", of([](Maker& m) {
             return std::pair(Shape{m.D(3), m.D(0), m.D(1)}, Shape{m.D(1), m.D(2)});
           })}};
}

enum class Mask { kNone, kBool, kFloat };

Recipes Attention(DType t) {
  // q[a, b, 4], k[a, keys, 4], v[a, keys, 3].
  const auto of = [t](int keys, bool causal, Mask mask) {
    return [=](Maker& m) {
      const ValueId q = m.In(t, {m.D(0), m.D(1), 4}), k = m.In(t, {m.D(0), m.D(keys), 4});
      std::vector<ValueId> operands = {q, k, m.In(t, {m.D(0), m.D(keys), 3})};
      if (mask != Mask::kNone)
        operands.push_back(m.In(mask == Mask::kBool ? bool_ : t, {m.D(0), m.D(1), m.D(keys)}));
      return m.Make(Op::k_attention, operands, {.causal = causal});
    };
  };
  return {{"dense", of(2, false, Mask::kNone)},
          {"causal", of(1, true, Mask::kNone)},
          {"causal over other keys", of(2, true, Mask::kNone)},
          {"masked", of(2, false, Mask::kBool)},
          {"with added mask", of(2, false, Mask::kFloat)}};
}

Recipes Norm(Op op, DType t) {
  const auto of = [=](int rank) {
    return [=](Maker& m) {
      Shape shape;
      for (int i = 0; i < rank; ++i) shape.push_back(m.D(i));
      std::vector<ValueId> operands = {m.In(t, shape)};
      for (int i = 0; i < (op == Op::k_layer_norm ? 2 : 1); ++i)
        operands.push_back(m.In(t, {shape.back()}));
      return m.Make(op, operands, {.epsilon = 1e-5});
    };
  };
  return {{"rank 2", of(2)}, {"rank 3", of(3)}};
}

// A ragged dim of a + 1 rows with b elements together, none longer than b.
ValueId Offsets(Maker& m, DType dtype = i64) {
  return m.Keep([&] {
    return m.builder().Input("offsets", {dtype, {m.D(0) + 2}}, {.offsets = Shape{m.D(1), m.D(1)}});
  });
}

Recipes Segments(Op op, DType t) {
  if (op == Op::k_segment_ids)
    return {{"of each position", [=](Maker& m) {
               const ValueId x = m.In(f32, {m.D(1)});
               (void)x;
               return m.Make(op, {Offsets(m, t)});
             }}};
  // The axes behind the rows; per_row: an element a row, else packed.
  const auto of = [=](std::function<Shape(Maker&)> then, bool per_row, Attrs attrs) {
    return [=](Maker& m) {
      Shape shape = {per_row ? m.D(0) + 1 : m.D(1)};
      for (Dim d : then(m)) shape.push_back(d);
      const ValueId x = m.In(t, shape);
      if (per_row) m.In(f32, {m.D(1)});
      return m.Make(op, {x, Offsets(m)}, attrs);
    };
  };
  const auto none = [](Maker&) { return Shape{}; };
  const auto one = [](Maker& m) { return Shape{m.D(2)}; };
  const auto two = [](Maker& m) { return Shape{2, m.D(2)}; };
  if (op == Op::k_segment_rows)
    return {{"of rank 1", of(none, true, {})}, {"of rank 3", of(two, true, {})}};
  if (op == Op::k_to_ragged) {
    return {{"rows of rank 1", of(
                                   [](Maker& m) {
                                     return Shape{m.D(1), m.D(2)};
                                   },
                                   true, {})},
            {"with room to spare", of([](Maker& m) { return Shape{m.D(1) + 3}; }, true, {})}};
  }
  Attrs attrs;
  if (op == Op::k_to_padded) attrs.value = 1;
  Recipes r = {{"packed, rank 1", of(none, false, attrs)},
               {"packed, rank 2", of(one, false, attrs)},
               {"packed, with an axis of 1", of([](Maker&) { return Shape{1}; }, false, attrs)},
               {"packed, rank 3", of(two, false, attrs)}};
  if (op == Op::k_segment_max) {
    attrs.value = 7;
    r.push_back({"with a value for nothing", of(none, false, attrs)});
  }
  return r;
}

Recipes ShapeOf(DType t) {
  return {{"rank 3",
           [=](Maker& m) {
             return m.Make(Op::k_shape_of, {m.In(t, {m.D(0), 3, m.D(1)})});
           }},
          {"scalar", [=](Maker& m) { return m.Make(Op::k_shape_of, {m.In(t, {})}); }}};
}

Recipes Softmax(DType t) {
  const auto along = [t](int64_t axis) {
    return [=](Maker& m) {
      return m.Make(Op::k_softmax, {m.In(t, {m.D(0), m.D(1)})}, {.axis = axis});
    };
  };
  return {{"the last axis", along(1)}, {"the first axis", along(0)}};
}

Recipes Embedding(DType t) {
  return {{"ids of rank 2", [=](Maker& m) {
             const ValueId table = m.In(t, {m.D(2), m.D(3)});
             return m.Make(Op::k_embedding, {table, m.In(i64, {m.D(0), m.D(1)})});
           }}};
}

Recipes If(DType t) {
  const auto when = [t](int64_t least) {
    return [=](Maker& m) {
      const ValueId x = m.In(t, {m.D(0), m.D(1)});
      const Op ops[2] = {t == bool_ ? Op::k_not : Op::k_neg, t == bool_ ? Op::k_or : Op::k_mul};
      return m.Keep([&]() -> absl::StatusOr<ValueId> {
        Builder& b = m.builder();
        absl::Status status = b.OpenIf(m.D(0) >= least);
        if (!status.ok()) return status;
        absl::StatusOr<ValueId> taken = b.Create(ops[0], {x});
        if (!taken.ok()) return taken;
        status = b.Else(*taken);
        if (!status.ok()) return status;
        absl::StatusOr<ValueId> other = b.Create(ops[1], {x, x});
        return other.ok() ? b.CloseIf(*other) : other;
      });
    };
  };
  return {{"by the first dim", when(3)}};
}

Recipes RecipesOf(Op op, DType t) {
  switch (op) {
    case Op::k_input:
    case Op::k_constant:
    case Op::k_iota:
    case Op::k_size:
    case Op::k_random:
      return Sources(op, t);
    case Op::k_cast:
      return Cast(t);
    case Op::k_bitcast:
      return Bitcast(t);
    case Op::k_select:
      return Select(t);
    case Op::k_broadcast:
      return Broadcast(t);
    case Op::k_reshape:
      return Reshape(t);
    case Op::k_permute:
      return Permute(t);
    case Op::k_slice:
      return Slice(t);
    case Op::k_pad:
      return Pad(t);
    case Op::k_concat:
      return Concat(t);
    case Op::k_gather:
      return Gather(t);
    case Op::k_windows:
      return WindowRecipes(t);
    case Op::k_check_index:
    case Op::k_scatter:
    case Op::k_argsort:
    case Op::k_cumsum:
    case Op::k_cumprod:
      return SequentialRecipes(op, t);
    case Op::k_matmul:
      return MatMul(t);
    case Op::k_attention:
      return Attention(t);
    case Op::k_sum:
    case Op::k_prod:
    case Op::k_max:
    case Op::k_min:
    case Op::k_all:
    case Op::k_any:
    case Op::k_argmax:
    case Op::k_argmin:
    case Op::k_mean:
      return Reduce(op, t);
    case Op::k_softmax:
      return Softmax(t);
    case Op::k_layer_norm:
    case Op::k_rms_norm:
      return Norm(op, t);
    case Op::k_embedding:
      return Embedding(t);
    case Op::k_shape_of:
      return ShapeOf(t);
    case Op::k_segment_ids:
    case Op::k_segment_sum:
    case Op::k_segment_max:
    case Op::k_segment_mean:
    case Op::k_segment_softmax:
    case Op::k_segment_rows:
    case Op::k_to_padded:
    case Op::k_to_ragged:
      return Segments(op, t);
    case Op::k_if:
      return If(t);
    default:
      return Info(op).max_operands == 1 ? Unary(op, t) : Binary(op, t);
  }
}

}  // namespace

std::vector<OpSample> SamplesOf(Op op, DType dtype, const SampleOptions& options) {
  std::vector<OpSample> samples;
  if (!Contains(Info(op).dtypes, dtype)) return samples;
  for (const Recipe& recipe : RecipesOf(op, dtype)) {
    Maker maker(options, std::string(Name(op)) + ": " + recipe.label);
    const ValueId result = recipe.make(maker);
    samples.push_back(maker.Finish(result));
  }
  return samples;
}

}  // namespace lathe::ir
