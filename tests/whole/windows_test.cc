// What is made of windows, scatter, argsort and checked indices: convolution, pooling,
// GatherElements, GatherND, ScatterElements and TopK, with every size open, against loops.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "compiler/lower/fuse.h"
#include "ir/samples.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using ::testing::HasSubstr;

Tensor Whole(std::vector<int64_t> shape, uint32_t seed) {
  Tensor t(f32, std::move(shape));
  std::mt19937 random(seed);
  for (int64_t i = 0; i < t.num_elements(); ++i)
    t.data<float>()[i] = static_cast<float>(static_cast<int>(random() % 9) - 4);
  return t;
}

struct Geometry {
  int64_t kernel, stride, dilation, low, high;
  int64_t Positions(int64_t n) const {
    const int64_t slack = low + n + high - dilation * (kernel - 1) - 1;
    return slack < 0 ? 0 : slack / stride + 1;  // none at -stride <= slack < 0, less is refused
  }
};

WindowOptions OptionsOf(const Geometry& g, double fill) {
  return {.strides = {g.stride, g.stride},
          .dilations = {g.dilation, g.dilation},
          .low = {g.low, g.low},
          .high = {g.high, g.high},
          .value = fill};
}

// Element of x[n, c, h, w] at a tap; `fill` outside.
float Tap(const Tensor& x, const Geometry& g, int64_t image, int64_t channel, int64_t oh,
          int64_t ow, int64_t kh, int64_t kw, float fill) {
  const int64_t h = oh * g.stride - g.low + kh * g.dilation;
  const int64_t w = ow * g.stride - g.low + kw * g.dilation;
  if (h < 0 || h >= x.shape()[2] || w < 0 || w >= x.shape()[3]) return fill;
  return x.data<float>()[((image * x.shape()[1] + channel) * x.shape()[2] + h) * x.shape()[3] + w];
}

using Combine = std::function<float(const Tensor& x, int64_t n, int64_t m, int64_t oh, int64_t ow)>;

Tensor Loop(const Tensor& x, const Geometry& g, int64_t maps, const Combine& combine) {
  Tensor out(f32, {x.shape()[0], maps, g.Positions(x.shape()[2]), g.Positions(x.shape()[3])});
  float* to = out.data<float>();
  for (int64_t n = 0; n < out.shape()[0]; ++n)
    for (int64_t m = 0; m < maps; ++m)
      for (int64_t oh = 0; oh < out.shape()[2]; ++oh)
        for (int64_t ow = 0; ow < out.shape()[3]; ++ow) *to++ = combine(x, n, m, oh, ow);
  return out;
}

const std::vector<std::vector<int64_t>> kImages = {{2, 5, 7},  {1, 40, 37}, {0, 5, 5}, {1, 2, 2},
                                                   {3, 33, 1}, {1, 1, 70},  {2, 5, 7}};
const std::vector<Geometry> kGeometries = {{3, 1, 1, 1, 1}, {3, 2, 1, 1, 1}, {2, 2, 1, 0, 0},
                                           {3, 1, 2, 2, 2}, {1, 1, 1, 0, 0}, {5, 3, 1, 2, 3}};

// `build` makes a program of x: f32[n, channels, h, w]; every call's answer is `combine`'s.
void CheckImages(int64_t channels, int64_t maps, const Geometry& g,
                 const std::function<Value(Trace&, Value)>& build, const Combine& combine,
                 const std::function<void(const ir::Graph&)>& look = {}) {
  SCOPED_TRACE(absl::StrCat("kernel ", g.kernel, ", stride ", g.stride, ", dilation ", g.dilation));
  Trace t("images");
  const Dim n = t.dim("n"), h = t.dim("h"), w = t.dim("w");
  const Value y = build(t, t.input("x", f32, {n, channels, h, w}));
  absl::StatusOr<Program> p = t.finish({y});
  ASSERT_TRUE(p.ok()) << p.status();
  if (look) look(p->graph());
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  ASSERT_TRUE(f.ok()) << f.status();
  const int64_t compiles = engine.counters().compiles;
  for (const std::vector<int64_t>& image : kImages) {
    const Tensor x = Whole({image[0], channels, image[1], image[2]}, 1);
    const int64_t least = std::min(g.Positions(image[1]), g.Positions(image[2]));
    const bool fits =
        g.low + g.high + std::min(image[1], image[2]) + g.stride >= g.dilation * (g.kernel - 1) + 1;
    const absl::StatusOr<std::vector<Tensor>> found = f->call({x});
    if (!fits) {
      EXPECT_FALSE(found.ok());
      continue;
    }
    ASSERT_TRUE(found.ok()) << found.status() << " " << least;
    const absl::Status same =
        WithinBound((*found)[0], Loop(x, g, maps, combine), Tensor(), /*exact=*/true);
    EXPECT_TRUE(same.ok()) << same << "\nimage " << image[1] << " x " << image[2];
    const absl::Status bits = SameAsEvaluator(*f, {&x, 1}, *found);
    EXPECT_TRUE(bits.ok()) << bits;
  }
  EXPECT_EQ(engine.counters().compiles, compiles);
}

// No buffer holds windows, which are larger than what they are made of.
void ExpectNoWindowsInMemory(const ir::Graph& graph) {
  const compiler::FusionPlan plan = compiler::Fuse(graph);
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.node(v).op == ir::Op::k_windows) {
      EXPECT_FALSE(plan.IsBuffer(v)) << plan.ToString(graph);
    }
  }
  EXPECT_EQ(plan.groups.size(), 1u) << plan.ToString(graph);
}

TEST(Windows, MaxPoolIsOneKernel) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const Geometry& g : kGeometries) {
    CheckImages(
        3, 3, g,
        [&](Trace&, Value x) {
          return max(windows(x, {g.kernel, g.kernel}, OptionsOf(g, -infinity)), {-2, -1});
        },
        [&](const Tensor& x, int64_t n, int64_t m, int64_t oh, int64_t ow) {
          float most = -infinity;
          for (int64_t i = 0; i < g.kernel * g.kernel; ++i)
            most = std::max(most, Tap(x, g, n, m, oh, ow, i / g.kernel, i % g.kernel, -infinity));
          return most;
        },
        ExpectNoWindowsInMemory);
  }
}

TEST(Windows, DepthwiseConvolutionWithBiasAndReluIsOneKernel) {
  const Tensor weights = Whole({3, 1, 1, 5, 5}, 7), bias = Whole({3, 1, 1}, 8);
  for (const Geometry& g : kGeometries) {
    Tensor cut(f32, {3, 1, 1, g.kernel, g.kernel});
    for (int64_t i = 0; i < cut.num_elements(); ++i)
      cut.data<float>()[i] = weights.data<float>()[i];
    const auto weight = [&](int64_t m, int64_t tap) {
      return cut.data<float>()[m * g.kernel * g.kernel + tap];
    };
    CheckImages(
        3, 3, g,
        [&](Trace& t, Value x) {
          const Value taps = windows(x, {g.kernel, g.kernel}, OptionsOf(g, 0));
          return relu(sum(taps * t.constant(cut), {-2, -1}) + t.constant(bias));
        },
        [&](const Tensor& x, int64_t n, int64_t m, int64_t oh, int64_t ow) {
          float sum = bias.data<float>()[m];
          for (int64_t i = 0; i < g.kernel * g.kernel; ++i)
            sum += weight(m, i) * Tap(x, g, n, m, oh, ow, i / g.kernel, i % g.kernel, 0);
          return std::max(sum, 0.0f);
        },
        g.kernel > 1 ? ExpectNoWindowsInMemory : nullptr);
  }
}

// As a matrix product, rows of the matrix being positions, its columns (kh, kw, channel).
TEST(Windows, ConvolutionIsAProduct) {
  constexpr int64_t kChannels = 3, kMaps = 20;
  for (const Geometry& g : kGeometries) {
    const int64_t taps = g.kernel * g.kernel;
    const Tensor weights = Whole({taps * kChannels, kMaps}, 9);
    CheckImages(
        kChannels, kMaps, g,
        [&](Trace& t, Value x) {
          const Value columns =
              permute(windows(x, {g.kernel, g.kernel}, OptionsOf(g, 0)), {0, 2, 3, 4, 5, 1});
          const Shape s = columns.shape();
          const Value rows = reshape(columns, {s[0] * s[1] * s[2], taps * kChannels});
          const Value y = matmul(rows, t.constant(weights));
          return permute(reshape(y, {s[0], s[1], s[2], kMaps}), {0, 3, 1, 2});
        },
        [&](const Tensor& x, int64_t n, int64_t m, int64_t oh, int64_t ow) {
          float sum = 0;
          for (int64_t i = 0; i < taps; ++i)
            for (int64_t c = 0; c < kChannels; ++c)
              sum += weights.data<float>()[(i * kChannels + c) * kMaps + m] *
                     Tap(x, g, n, c, oh, ow, i / g.kernel, i % g.kernel, 0);
          return sum;
        });
  }
}

// Channels innermost, the last axis and the channels as one: the product reads its rows in a padded
// copy. Pieces that fit a block of K and some that don't, tiles with an edge and without.
TEST(Windows, AProductReadsWindowsWhereTheyLie) {
  for (const auto& [channels, maps] : {std::pair<int64_t, int64_t>{4, 20}, {7, 32}, {48, 5}}) {
    for (const Geometry& g : kGeometries) {
      if (g.dilation != 1) continue;
      const int64_t taps = g.kernel * g.kernel;
      const Tensor weights = Whole({taps * channels, maps}, 9);
      CheckImages(
          channels, maps, g,
          [&](Trace& t, Value x) {
            const Shape in = x.shape();
            const Value rows = reshape(permute(x, {0, 2, 3, 1}), {in[0], in[2], in[3] * channels});
            const Value padded =
                pad(rows, {0, g.low, g.low * channels}, {0, g.high, g.high * channels});
            const Value all = windows(padded, {g.kernel, g.kernel * channels},
                                      {.strides = {g.stride, g.stride * channels}});
            const Shape s = all.shape();
            const Value y =
                matmul(reshape(all, {s[0] * s[1] * s[2], taps * channels}), t.constant(weights));
            return permute(reshape(y, {s[0], s[1], s[2], maps}), {0, 3, 1, 2});
          },
          [&, channels = channels, maps = maps](const Tensor& x, int64_t n, int64_t m, int64_t oh,
                                                int64_t ow) {
            float sum = 0;
            for (int64_t i = 0; i < taps; ++i)
              for (int64_t c = 0; c < channels; ++c)
                sum += weights.data<float>()[(i * channels + c) * maps + m] *
                       Tap(x, g, n, c, oh, ow, i / g.kernel, i % g.kernel, 0);
            return sum;
          },
          [&, channels = channels](const ir::Graph& graph) {
            if (g.kernel * channels < 12) return;
            const compiler::FusionPlan plan = compiler::Fuse(graph);
            for (ir::ValueId v = 0; v < graph.num_nodes(); ++v)
              if (graph.node(v).op == ir::Op::k_windows) {
                EXPECT_FALSE(plan.IsBuffer(v)) << plan.ToString(graph);
              }
          });
    }
  }
}

// Along one axis a window is one piece, which may be deeper than a block of K.
TEST(Windows, AProductAlongOneAxisReadsOnePieceAWindow) {
  constexpr int64_t kChannels = 200, kTaps = 3, kMaps = 24;
  for (const int64_t stride : {1, 2}) {
    Trace t("along");
    const Dim n = t.dim("n"), l = t.dim("l", ">= 1");
    const Value x = t.input("x", f32, {n, l * kChannels});
    const Value all = windows(pad(x, {0, kChannels}, {0, kChannels}), {kTaps * kChannels},
                              {.strides = {stride * kChannels}});
    const Shape s = all.shape();
    const Value y = matmul(reshape(all, {s[0] * s[1], kTaps * kChannels}),
                           t.constant(Whole({kTaps * kChannels, kMaps}, 3)));
    absl::StatusOr<Program> p = t.finish({relu(y)});
    ASSERT_TRUE(p.ok()) << p.status();
    Engine engine({.threads = 2, .background_compiles = false});
    absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
    ASSERT_TRUE(f.ok()) << f.status();
    for (const auto& [batch, length] :
         {std::pair<int64_t, int64_t>{2, 50}, {1, 1}, {3, 13}, {0, 4}, {2, 50}}) {
      const std::vector<Tensor> inputs{Whole({batch, length * kChannels}, 4)};
      const absl::Status same = CheckCall(*f, p->graph(), inputs, /*exact=*/true, true);
      EXPECT_TRUE(same.ok()) << same << " at " << batch << ", " << length;
    }
  }
}

// A program with windows in a product, at sizes A, B, A against the interpreter.
void CheckText(const std::string& text, const std::vector<std::vector<int64_t>>& sizes) {
  SCOPED_TRACE(text);
  absl::StatusOr<Program> p = Program::parse(text);
  ASSERT_TRUE(p.ok()) << p.status();
  Engine engine({.threads = 1});
  absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  ASSERT_TRUE(f.ok()) << f.status();
  f->wait_for_versions();
  for (const std::vector<int64_t>& at : sizes) {
    const std::vector<Tensor> inputs = ir::SampleInputs(p->graph(), at, 1, /*whole=*/false);
    const absl::Status same = CheckCall(*f, p->graph(), inputs, /*exact=*/false, true);
    EXPECT_TRUE(same.ok()) << same << " at " << at[0];
  }
  const absl::StatusOr<std::string> why =
      f->explain({{p->graph().dims()->SymbolName(0), sizes[0][0]}});
  ASSERT_TRUE(why.ok()) << why.status();
  EXPECT_THAT(*why, testing::Not(HasSubstr("not built")));
}

// Rows of [groups, rows, depth], but one matrix for all.
TEST(Windows, OneMatrixForAllGroupsOfWindows) {
  CheckText(
      "dim n\nx: f32[n, 9, 40]\n"
      "v = windows(x, sizes=[2, 12], steps=[1, 14], dilations=[1, 1], low=[0, 0], high=[0, 0], "
      "value=0)\n"
      "r = reshape(permute(v, axes=[2, 0, 1, 3, 4]), [3, 8*n, 24])\n"
      "c = randn([24, 8], seed=3)\n"
      "output y = r @ c\n",
      {{4}, {1}, {0}, {4}});
}

// The product is in a branch; what it reads is computed before.
TEST(Windows, OutsideOfTheBranchThatReadsThem) {
  CheckText(
      "dim k in 1..9\nx: f32[k, 5, 200]\n"
      "v = windows(x[:, 1:, :], sizes=[2, 24], steps=[1, 8], dilations=[1, 1], low=[0, 0], "
      "high=[0, 0], value=0)\n"
      "r = reshape(v, [k*69, 48])\n"
      "y = if k <= 2 { a = r @ randn([48, 8], seed=3); yield a } "
      "else { yield r[:, 0:8] }\noutput y\n",
      {{1}, {3}, {1}});
  CheckText(
      "dim k in 1..9\nx: i32[k, 8]\n"
      "a = cast(cast(x, dtype=u8), dtype=i32)\n"
      "c = cast(constant(i8[8, 4]{1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8}"
      "), dtype=i32)\n"
      "y = if k <= 2 { p = a @ c; yield p } else { yield a[:, 0:4] }\noutput y\n",
      {{1}, {3}, {1}});
}

// A version's guard leaves no position.
TEST(Windows, VersionsWithoutPositionsAreBuilt) {
  CheckText(
      "dim n >= 11\nx: f32[6, n]\nq: f32[n, 5]\n"
      "y = relu(windows(x, sizes=[12], steps=[1], dilations=[1], low=[0], high=[0], value=0) @ "
      "randn([12, 8], seed=3))\n"
      "z = q[8:, :] @ randn([5, 3], seed=3)\n"
      "output y\noutput z\n",
      {{11}, {40}, {11}});
}

// A product for each group, the positions along a row being its columns.
TEST(Windows, GroupedConvolutionIsABatchedProduct) {
  constexpr int64_t kGroups = 2, kEach = 3, kMaps = 4;  // per group
  for (const Geometry& g : kGeometries) {
    const int64_t taps = g.kernel * g.kernel;
    const Tensor weights = Whole({1, kGroups, 1, kMaps, kEach * taps}, 10);
    CheckImages(
        kGroups * kEach, kGroups * kMaps, g,
        [&](Trace& t, Value x) {
          const Shape in = x.shape();
          const Value grouped = reshape(x, {in[0], kGroups, kEach, in[2], in[3]});
          const Value columns = permute(windows(grouped, {g.kernel, g.kernel}, OptionsOf(g, 0)),
                                        {0, 1, 3, 2, 5, 6, 4});
          const Shape s = columns.shape();  // [n, group, oh, channel, kh, kw, ow]
          const Value matrix = reshape(columns, {s[0], s[1], s[2], kEach * taps, s[6]});
          const Value y = matmul(t.constant(weights), matrix);  // [n, group, oh, map, ow]
          return reshape(permute(y, {0, 1, 3, 2, 4}), {s[0], kGroups * kMaps, s[2], s[6]});
        },
        [&](const Tensor& x, int64_t n, int64_t m, int64_t oh, int64_t ow) {
          float sum = 0;
          for (int64_t c = 0; c < kEach; ++c)
            for (int64_t i = 0; i < taps; ++i)
              sum += weights.data<float>()[(m * kEach + c) * taps + i] *
                     Tap(x, g, n, m / kMaps * kEach + c, oh, ow, i / g.kernel, i % g.kernel, 0);
          return sum;
        });
  }
}

TEST(Windows, PositionsOfMaximaAlongFlattenedWindows) {
  const Geometry g{2, 2, 1, 0, 0};
  CheckImages(
      2, 2, g,
      [&](Trace&, Value x) {
        const Value w = windows(x, {2, 2}, OptionsOf(g, 0));
        Shape flat = w.shape();
        flat.pop_back();
        flat.back() = 4;
        return cast(argmax(reshape(w, flat), -1), f32);
      },
      [&](const Tensor& x, int64_t n, int64_t m, int64_t oh, int64_t ow) {
        int64_t best = 0;
        for (int64_t i = 1; i < 4; ++i) {
          if (Tap(x, g, n, m, oh, ow, i / 2, i % 2, 0) >
              Tap(x, g, n, m, oh, ow, best / 2, best % 2, 0))
            best = i;
        }
        return static_cast<float>(best);
      });
}

// -- reads and writes at computed places

// Row-major positions in `extents` of coordinates given as values of one shape.
Value Linear(const std::vector<Value>& coordinates, const Shape& extents, Trace& t) {
  Value at = coordinates[0];
  for (size_t i = 1; i < coordinates.size(); ++i)
    at = at * broadcast_to(t.size(extents[i]), at.shape()) + coordinates[i];
  return at;
}

absl::StatusOr<Function> Compile(Engine& engine, Trace& t, Value y) {
  absl::StatusOr<Program> p = t.finish({y});
  if (!p.ok()) return p.status();
  return CompileGraph(engine, p->graph());
}

// Coordinates of the elements of x[r, c] that `indices` choose along axis 0.
Value ElementPositions(Trace& t, Value x, Value indices) {
  const Value row = check_index(indices, x.dim(0));
  const Value column = t.iota(indices.shape(), 1, i64);
  return Linear({row, column}, x.shape(), t);
}

TEST(ComputedPlaces, GatherAndScatterElements) {
  Trace t("elements");
  const Dim r = t.dim("r"), c = t.dim("c"), k = t.dim("k");
  const Value x = t.input("x", f32, {r, c}), i = t.input("i", i64, {k, c});
  const Value at = ElementPositions(t, x, i), flat = reshape(x, {-1});
  const Value read = gather_unchecked(flat, at, 0);
  const Value written =
      reshape(scatter(flat, reshape(at, {-1}), reshape(read, {-1}) + 1, "add"), {r, c});
  absl::StatusOr<Program> p = t.finish({read, written});
  ASSERT_TRUE(p.ok()) << p.status();
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  ASSERT_TRUE(f.ok()) << f.status();
  const Tensor xs = F32({3, 2}, {1, 2, 3, 4, 5, 6}), is = I64({2, 2}, {0, -1, 0, 1});
  absl::StatusOr<std::vector<Tensor>> out = f->call({xs, is});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].ToString(), "f32[2, 2]{1, 6, 1, 4}");
  EXPECT_EQ((*out)[1].ToString(), "f32[3, 2]{5, 2, 3, 9, 5, 13}");
  EXPECT_TRUE(SameAsEvaluator(*f, std::vector<Tensor>{xs, is}, *out).ok());
  for (const int64_t bad : {3, -4}) {
    out = f->call({xs, I64({2, 2}, {0, 1, bad, 1})});
    EXPECT_EQ(out.status().code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(out.status().message()),
                HasSubstr(absl::StrCat("check_index: index out of range: found ", bad,
                                       " at position 2, bound 3")));
  }
  out = f->call({F32({0, 2}, {}), I64({0, 2}, {})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_FALSE(f->call({F32({0, 2}, {}), I64({1, 2}, {0, 0})}).ok());
}

// An index that is checked fails even if nothing is read with it.
TEST(ComputedPlaces, ACheckIsNeverDropped) {
  Trace t("dropped");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n}), i = t.input("i", i32, {t.dim("k")});
  check_index(i, n);
  Engine engine({.threads = 1, .background_compiles = false});
  const absl::StatusOr<Function> f = Compile(engine, t, x + 1);
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_TRUE(f->call({F32({2}, {1, 2}), I32({1}, {-2})}).ok());
  EXPECT_FALSE(f->call({F32({2}, {1, 2}), I32({1}, {-3})}).ok());
}

TEST(ComputedPlaces, GatherNd) {
  Trace t("gather_nd");
  const Dim a = t.dim("a"), b = t.dim("b"), m = t.dim("m");
  const Value x = t.input("x", f32, {a, b, 2}), i = t.input("i", i64, {m, 2});
  const auto coordinate = [&](int k, Dim n) {
    return check_index(reshape(slice(i, 1, k, k + 1), {m}), n);
  };
  const Value at = Linear({coordinate(0, a), coordinate(1, b)}, {a, b}, t);
  Engine engine({.threads = 1, .background_compiles = false});
  const absl::StatusOr<Function> f =
      Compile(engine, t, gather_unchecked(reshape(x, {a * b, 2}), at, 0));
  ASSERT_TRUE(f.ok()) << f.status();
  const Tensor xs = F32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), is = I64({2, 2}, {1, 0, -1, -1});
  absl::StatusOr<std::vector<Tensor>> out = f->call({xs, is});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].ToString(), "f32[2, 2]{5, 6, 7, 8}");
  EXPECT_TRUE(SameAsEvaluator(*f, std::vector<Tensor>{xs, is}, *out).ok());
}

TEST(ComputedPlaces, TopK) {
  Trace t("topk");
  const Dim rows = t.dim("rows"), n = t.dim("n", ">= 3");
  const Value x = t.input("x", f32, {rows, n});
  const Value at = slice(argsort(x, /*descending=*/true), 1, 0, 3);
  const Value places = Linear({t.iota(at.shape(), 0, i64), at}, x.shape(), t);
  const Value best = gather_unchecked(reshape(x, {-1}), places, 0);
  absl::StatusOr<Program> p = t.finish({best, at});
  ASSERT_TRUE(p.ok()) << p.status();
  Engine engine({.threads = 2, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  ASSERT_TRUE(f.ok()) << f.status();
  for (const int64_t length : {3, 4, 5, 31, 64, 1000, 3, 4099}) {
    const Tensor xs = Whole({2, length}, static_cast<uint32_t>(length));
    absl::StatusOr<std::vector<Tensor>> out = f->call({xs});
    ASSERT_TRUE(out.ok()) << out.status();
    for (int64_t r = 0; r < 2; ++r) {
      const float* row = xs.data<float>() + r * length;
      std::vector<int64_t> order(static_cast<size_t>(length));
      for (int64_t i = 0; i < length; ++i) order[static_cast<size_t>(i)] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t i, int64_t j) { return row[i] > row[j]; });
      for (int64_t k = 0; k < 3; ++k) {
        EXPECT_EQ((*out)[1].data<int64_t>()[r * 3 + k], order[static_cast<size_t>(k)]);
        EXPECT_EQ((*out)[0].data<float>()[r * 3 + k], row[order[static_cast<size_t>(k)]]);
      }
    }
  }
}

}  // namespace
}  // namespace lathe::whole
