// Shape rules against plain arithmetic on numbers: random symbolic shapes with random facts, then
// every size of a small box. At each: the call's facts hold exactly where the op is right, the
// inferred dims have the values that the op gives, and now and then the interpreter runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

#include "../dim/random_dims.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/builder.h"
#include "ir/interpreter.h"

namespace lathe::ir {
namespace {

using Extents = std::vector<int64_t>;

constexpr int64_t kBox = 5;  // sizes 0..4 of three symbols

int64_t Volume(const Extents& e) {
  return std::accumulate(e.begin(), e.end(), int64_t{1}, std::multiplies<>());
}

// What numpy's broadcasting gives; nothing if it refuses.
std::optional<Extents> Broadcast(Extents a, Extents b) {
  if (a.size() < b.size()) std::swap(a, b);
  const size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t& x = a[offset + i];
    if (x != b[i] && x != 1 && b[i] != 1) return std::nullopt;
    if (x == 1) x = b[i];
  }
  return a;
}

class ShapeRulesProperty : public testing::Test {
 protected:
  struct Made {
    absl::StatusOr<ValueId> value = absl::UnknownError("not built");
    std::string text;  // for failures
    // The result's extents where the operands' are those given; nothing where the op is wrong, an
    // empty optional inside where docs/semantics.md lets symbols decide.
    std::function<std::optional<Extents>(const std::vector<int64_t>&)> expect;
    bool symbols_decide = false;
  };

  dim::RandomDims random{dim::FuzzSeed(), 3};
  std::unique_ptr<Graph> graph;
  std::unique_ptr<Builder> b;
  std::vector<Dim> s;
  std::vector<ValueId> inputs;
  int refused = 0, required = 0, proved_needless = 0, runs = 0;

  static int64_t At(Dim d, const Extents& sizes) {
    return dim::Evaluate(d, sizes).value_or(INT64_MIN);
  }
  static Extents At(const Shape& shape, const Extents& sizes) {
    Extents e;
    for (Dim d : shape) e.push_back(At(d, sizes));
    return e;
  }

  Dim AnyDim() {
    const Dim n = s[0], m = s[1], k = s[2];
    const Dim pool[] = {n,     m,    k,     n,     m,     k,     1,         2,
                        4,     3,    2 * n, n + m, 2 * k, n * m, m + k + 1, FloorDiv(n, 2),
                        n + 1, 4 * m};
    return pool[random.Int(0, 17)];
  }
  Shape AnyShape(int low, int high) {
    Shape shape;
    for (int64_t rank = random.Int(low, high); rank-- > 0;) shape.push_back(AnyDim());
    return shape;
  }

  void Start() {
    graph = std::make_unique<Graph>();
    b = std::make_unique<Builder>(graph.get());
    inputs.clear();
    s = {graph->dims()->Symbol("n"), graph->dims()->Symbol("m"), graph->dims()->Symbol("k")};
    static constexpr const char* kSpecs[] = {"?",    "?",    "1..4", "% 2 == 0", "in {1, 2, 4}",
                                             ">= 1", "<= 3", "2..4"};
    for (Dim d : s)
      EXPECT_TRUE(graph->facts().AddSpec(&d, kSpecs[random.Int(0, 7)], {"dim", ""}).ok());
    static constexpr const char* kTies[] = {"n == m", "n <= m", "m == 2*k", "n + m <= 5",
                                            "n % 2 == k % 2"};
    if (random.Chance(40))
      graph->facts().AddSpec(nullptr, kTies[random.Int(0, 4)], {"assume", ""}).IgnoreError();
    // Shows every symbol by itself, so that the interpreter finds them.
    inputs.push_back(*b->Input("sizes", {DType::kF32, s}));
  }
  ValueId In(const Shape& shape) {
    absl::StatusOr<ValueId> v = b->Input(absl::StrCat("x", inputs.size()), {DType::kF32, shape});
    EXPECT_TRUE(v.ok()) << v.status();
    inputs.push_back(*v);
    return *v;
  }
  bool Declared(const Extents& sizes) const {
    for (const dim::Fact& f : graph->facts().facts()) {
      if (f.standing == dim::Standing::kDeclared && !dim::Evaluate(f.claim, sizes).value_or(false))
        return false;
    }
    return true;
  }
  std::string FactsText() const {
    std::string text;
    for (const dim::Fact& f : graph->facts().facts())
      absl::StrAppend(&text, " ", f.claim.ToString(), "[", dim::Name(f.standing), "];");
    return text;
  }

  void Check(const Made& made) {
    int needs = 0;
    for (const dim::Fact& f : graph->facts().facts())
      needs += f.standing == dim::Standing::kRequired;
    required += needs > 0;
    proved_needless += needs == 0 && made.value.ok();
    refused += !made.value.ok();
    for (int64_t i = 0; i < kBox * kBox * kBox; ++i) {
      const Extents sizes = {i % kBox, i / kBox % kBox, i / kBox / kBox};
      if (!Declared(sizes)) continue;
      const std::optional<Extents> wanted = made.expect(sizes);
      const std::string where =
          absl::StrCat(made.text, " at n, m, k = ", absl::StrJoin(sizes, ", "), ";", FactsText());
      if (!made.value.ok()) {
        // A reshape that fits only empty values ([n, 4] to [n, 5] at n = 0) is taken for a mistake.
        if (made.symbols_decide && wanted.has_value() && Volume(*wanted) == 0) continue;
        ASSERT_FALSE(wanted.has_value()) << "refused while built: " << where << "\n"
                                         << made.value.status();
        continue;
      }
      const bool admitted = CheckFacts(*graph, sizes).ok();
      const Extents found = At(graph->type(*made.value).shape, sizes);
      if (made.symbols_decide && !wanted.has_value() && admitted) {
        // Only a count of 0 leaves the choice to the symbols; then the counts agree.
        ASSERT_EQ(Volume(found), 0) << where;
        continue;
      }
      ASSERT_EQ(admitted, wanted.has_value()) << where;
      if (!admitted) continue;
      ASSERT_EQ(found, *wanted) << where;
      if (random.Chance(4) && Volume(found) <= 2000) Interpreted(made, sizes, found, where);
      if (HasFatalFailure()) return;
    }
  }
  void Interpreted(const Made& made, const Extents& sizes, const Extents& wanted,
                   const std::string& where) {
    std::vector<Tensor> tensors;
    for (ValueId v : inputs) {
      tensors.emplace_back(graph->type(v).dtype, At(graph->type(v).shape, sizes));
      std::memset(tensors.back().raw(), 0,
                  static_cast<size_t>(tensors.back().num_elements()) *
                      static_cast<size_t>(SizeOf(graph->type(v).dtype)));
    }
    Graph copy = graph->Clone();
    Builder out(&copy);
    ASSERT_TRUE(out.Output("y", *made.value).ok());
    const absl::StatusOr<std::vector<Tensor>> y = Interpret(copy, tensors);
    ASSERT_TRUE(y.ok()) << where << ": " << y.status();
    ASSERT_EQ(Extents(y->front().shape().begin(), y->front().shape().end()), wanted) << where;
    ++runs;
  }
  void Run(const std::function<Made()>& make) {
    for (int i = 0; i < dim::FuzzRounds(250); ++i) {
      Start();
      Check(make());
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(runs, 20);
    EXPECT_GT(proved_needless, 20);
  }
};

TEST_F(ShapeRulesProperty, Broadcast) {
  Run([&] {
    const Shape x = AnyShape(0, 3), y = AnyShape(0, 3);
    Made made{.text = absl::StrCat("add ", ToString(x), " ", ToString(y))};
    const ValueId a = In(x), c = In(y);
    made.value = b->Binary(Op::k_add, a, c);
    made.expect = [=](const Extents& sizes) { return ir::Broadcast(At(x, sizes), At(y, sizes)); };
    return made;
  });
  EXPECT_GT(required, 20);
}

TEST_F(ShapeRulesProperty, ReshapeWithAndWithoutAMissingExtent) {
  Run([&] {
    const Shape x = AnyShape(1, 3);
    Shape to;
    // Half of the targets are made of the source's dims, so that something fits.
    if (random.Chance(50)) {
      to = x;
      if (to.size() > 1 && random.Chance(60)) {
        to[1] = to[0] * to[1];
        to.erase(to.begin());
      }
    } else {
      to = AnyShape(1, 3);
    }
    if (random.Chance(60)) to[static_cast<size_t>(random.Int(0, int64_t(to.size()) - 1))] = -1;
    Made made{.text = absl::StrCat("reshape ", ToString(x), " to ", ToString(to))};
    made.value = b->Reshape(In(x), to);
    made.symbols_decide = true;
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      const int64_t total = Volume(At(x, sizes));
      Extents e = At(to, sizes);
      const auto missing = std::find(e.begin(), e.end(), -1);
      if (missing == e.end()) {
        if (Volume(e) != total) return std::nullopt;
        return e;
      }
      *missing = 1;
      const int64_t rest = Volume(e);
      if (rest == 0 || total % rest != 0) return std::nullopt;
      *missing = total / rest;
      return e;
    };
    return made;
  });
  EXPECT_GT(required, 20);
}

TEST_F(ShapeRulesProperty, SliceClampsAsNumpyDoes) {
  Run([&] {
    const Shape x = AnyShape(1, 2);
    const int64_t axis = random.Int(0, int64_t(x.size()) - 1);
    int64_t step = random.Int(-3, 3);
    if (step == 0) step = 1;
    const auto bound = [&]() -> Dim {
      const Dim pool[] = {s[0],
                          -s[1],
                          s[0] - 2,
                          random.Int(-5, 5),
                          random.Int(-5, 5),
                          INT64_MAX,
                          INT64_MIN,
                          FloorDiv(x[static_cast<size_t>(axis)], 2),
                          0};
      return pool[random.Int(0, 8)];
    };
    const Dim start = bound(), limit = bound();
    Made made{.text = absl::StrCat("slice ", ToString(x), " axis ", axis, " ", start.ToString(),
                                   ":", limit.ToString(), ":", step)};
    made.value = b->Slice(In(x), axis, start, limit, step);
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      Extents e = At(x, sizes);
      int64_t& n = e[static_cast<size_t>(axis)];
      const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
      const auto clamp = [&](Dim d) {
        const int64_t v = At(d, sizes);
        return std::clamp(v < 0 ? std::max(v, -int64_t{1000}) + n : v, low, high);
      };
      const int64_t from = clamp(start), to = clamp(limit);
      int64_t count = 0;
      for (int64_t i = from; step > 0 ? i < to : i > to; i += step) ++count;
      n = count;
      return e;
    };
    return made;
  });
  EXPECT_EQ(refused, 0);
  // Nothing is demanded; what the prover leaves open is checked, and always holds.
  EXPECT_LE(required, dim::FuzzRounds(250) / 50);
}

TEST_F(ShapeRulesProperty, SplitIsSlicesOfEqualParts) {
  Run([&] {
    Shape x = AnyShape(1, 2);
    const int64_t parts = random.Int(1, 3);
    Made made{.text = absl::StrCat("split ", ToString(x), " into ", parts)};
    const ValueId v = In(x);
    // As the DSL writes it: a reshape that requires the parts to be equal, then a slice.
    Shape to = {parts, -1};
    to.insert(to.end(), x.begin() + 1, x.end());
    made.symbols_decide = true;
    made.value = b->Reshape(v, to);
    if (made.value.ok()) made.value = b->Slice(*made.value, 0, parts - 1, parts);
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      Extents e = At(x, sizes);
      if (e.size() > 1 && e[1] == 0) return std::nullopt;
      if (e[0] % parts != 0) return std::nullopt;
      e[0] /= parts;
      e.insert(e.begin(), 1);
      return e;
    };
    return made;
  });
}

TEST_F(ShapeRulesProperty, Pad) {
  Run([&] {
    const Shape x = AnyShape(1, 2);
    std::vector<Dim> low, high;
    for (size_t i = 0; i < x.size(); ++i) {
      for (std::vector<Dim>* list : {&low, &high}) {
        const Dim pool[] = {0, 1, s[0], s[1] - 1, s[2] - s[0], s[0] - FloorDiv(s[0], 2)};
        list->push_back(pool[random.Int(0, 5)]);
      }
    }
    Made made{.text = absl::StrCat("pad ", ToString(x), " by ", ToString(low), ToString(high))};
    made.value = b->Create(Op::k_pad, {In(x)}, {.low = low, .high = high, .value = 0.0});
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      Extents e = At(x, sizes);
      for (size_t i = 0; i < e.size(); ++i) {
        if (At(low[i], sizes) < 0 || At(high[i], sizes) < 0) return std::nullopt;
        e[i] += At(low[i], sizes) + At(high[i], sizes);
      }
      return e;
    };
    return made;
  });
  EXPECT_GT(required, 20);
}

TEST_F(ShapeRulesProperty, Concat) {
  Run([&] {
    const Shape x = AnyShape(1, 3);
    const size_t axis = static_cast<size_t>(random.Int(0, int64_t(x.size()) - 1));
    Shape y = x;
    y[axis] = AnyDim();
    if (random.Chance(50)) y[static_cast<size_t>(random.Int(0, int64_t(x.size()) - 1))] = AnyDim();
    Made made{.text = absl::StrCat("concat ", ToString(x), " ", ToString(y), " on ", axis)};
    const ValueId a = In(x), c = In(y);
    made.value = b->Create(Op::k_concat, {a, c, a}, {.axis = static_cast<int64_t>(axis)});
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      Extents e = At(x, sizes), f = At(y, sizes);
      const int64_t sum = 2 * e[axis] + f[axis];
      f[axis] = e[axis];
      if (e != f) return std::nullopt;
      e[axis] = sum;
      return e;
    };
    return made;
  });
  EXPECT_GT(required, 20);
}

TEST_F(ShapeRulesProperty, Matmul) {
  Run([&] {
    const Shape x = AnyShape(1, 3);
    Shape y = AnyShape(1, 3);
    if (random.Chance(60)) y[y.size() - std::min<size_t>(y.size(), 2)] = x.back();
    Made made{.text = absl::StrCat("matmul ", ToString(x), " ", ToString(y))};
    const ValueId a = In(x), c = In(y);
    made.value = b->MatMul(a, c);
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      Extents e = At(x, sizes), f = At(y, sizes);
      const bool row = e.size() == 1, column = f.size() == 1;
      if (row) e.insert(e.begin(), 1);
      if (column) f.push_back(1);
      if (e.back() != f[f.size() - 2]) return std::nullopt;
      std::optional<Extents> batch =
          ir::Broadcast({e.begin(), e.end() - 2}, {f.begin(), f.end() - 2});
      if (!batch.has_value()) return std::nullopt;
      if (!row) batch->push_back(e[e.size() - 2]);
      if (!column) batch->push_back(f.back());
      return batch;
    };
    return made;
  });
  EXPECT_GT(required, 20);
}

TEST_F(ShapeRulesProperty, GatherPutsTheIndicesShapeInPlaceOfTheAxis) {
  Run([&] {
    Shape x = AnyShape(1, 3);
    const size_t axis = static_cast<size_t>(random.Int(0, int64_t(x.size()) - 1));
    x[axis] = x[axis] + 1;  // index 0 exists
    const Shape index = AnyShape(0, 2);
    Made made{.text = absl::StrCat("gather ", ToString(x), " by ", ToString(index))};
    const ValueId data = In(x);
    inputs.push_back(*b->Input("indices", {DType::kI64, index}));
    made.value =
        b->Create(Op::k_gather, {data, inputs.back()}, {.axis = static_cast<int64_t>(axis)});
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      Extents e = At(x, sizes);
      const Extents i = At(index, sizes);
      e.erase(e.begin() + static_cast<int64_t>(axis));
      e.insert(e.begin() + static_cast<int64_t>(axis), i.begin(), i.end());
      return e;
    };
    return made;
  });
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(required, 0);
}

// A repeat is a broadcast between two reshapes.
TEST_F(ShapeRulesProperty, RepeatMultipliesTheAxis) {
  Run([&] {
    const Shape x = AnyShape(1, 2);
    const Dim times = random.Chance(50) ? Dim(random.Int(0, 3)) : s[0];
    Made made{.text = absl::StrCat("repeat ", ToString(x), " ", times.ToString(), " times")};
    Shape one = x, wide = x, flat = x;
    one.insert(one.begin(), 1);
    wide.insert(wide.begin(), times);
    flat[0] = times * x[0];
    made.value = b->Reshape(In(x), one);
    if (made.value.ok()) made.value = b->BroadcastTo(*made.value, wide);
    if (made.value.ok()) made.value = b->Reshape(*made.value, flat);
    made.expect = [=](const Extents& sizes) -> std::optional<Extents> {
      Extents e = At(x, sizes);
      e[0] *= At(times, sizes);
      return e;
    };
    return made;
  });
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(required, 0);
}

// What is demanded of a result reaches the sizes of the inputs: never more than follows, and for
// sums all of it.
TEST_F(ShapeRulesProperty, FactsAboutResultsReachTheInputs) {
  int exact = 0, all = 0;
  for (int i = 0; i < dim::FuzzRounds(300); ++i) {
    Start();
    const Dim extent = AnyDim();
    const ValueId x = In({extent, 2});
    absl::StatusOr<ValueId> y;
    switch (random.Int(0, 3)) {
      case 0:
        y = b->Create(Op::k_concat, {x, x}, {.axis = 0});
        break;
      case 1:
        y = b->Create(Op::k_pad, {x}, {.low = {1, 0}, .high = {s[0], 0}, .value = 0.0});
        break;
      case 2:
        y = b->Slice(x, 0, 0, INT64_MAX, random.Int(1, 3));
        break;
      default:
        y = b->Reshape(x, {-1});
        break;
    }
    ASSERT_TRUE(y.ok()) << y.status();
    const Dim out = graph->type(*y).shape[0];
    const Claim claim =
        random.Chance(50) ? Dim(random.Int(2, 6)) <= out : Eq(Mod(out, random.Int(2, 4)), 0);
    const std::string text = absl::StrCat(claim.ToString(), ";", FactsText());
    std::vector<dim::Interval> hull(3, {INT64_MAX, INT64_MIN});
    for (int64_t j = 0; j < 20 * 20 * 20; ++j) {
      const Extents sizes = {j % 20, j / 20 % 20, j / 400};
      if (!Declared(sizes) || !dim::Evaluate(claim, sizes).value_or(false)) continue;
      for (size_t k = 0; k < 3; ++k)
        hull[k] = {std::min(hull[k].min, sizes[k]), std::max(hull[k].max, sizes[k])};
    }
    if (!graph->facts().Add(claim, dim::Standing::kDeclared, {"the result", ""}).ok()) {
      ASSERT_GT(hull[0].min, hull[0].max) << "refused: " << text;
      continue;
    }
    for (size_t k = 0; k < 3; ++k) {
      const dim::Interval r = graph->facts().Range(s[k]);
      if (hull[k].min > hull[k].max) continue;
      ASSERT_LE(r.min, hull[k].min) << s[k].ToString() << " where " << text;
      ASSERT_GE(r.max, hull[k].max) << s[k].ToString() << " where " << text;
      ++all;
      exact += r.min == hull[k].min;
    }
  }
  std::cout << exact << " of " << all << " least sizes exact\n";
  EXPECT_GT(exact * 10, all * 8);
}

}  // namespace
}  // namespace lathe::ir
