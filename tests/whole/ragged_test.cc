// Ragged dims: packed storage against each row computed by itself; offsets that are wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Lengths = std::vector<int64_t>;

int64_t Total(const Lengths& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
}

Tensor OffsetsOf(const Lengths& lengths, DType dtype = i64) {
  std::vector<int64_t> offsets = {0};
  for (int64_t n : lengths) offsets.push_back(offsets.back() + n);
  const int64_t count = static_cast<int64_t>(offsets.size());
  if (dtype == i64) return I64({count}, offsets);
  return I32({count}, std::vector<int32_t>(offsets.begin(), offsets.end()));
}

Tensor Normal(std::vector<int64_t> shape, uint32_t seed) {
  Tensor t(f32, std::move(shape));
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = normal(random);
  return t;
}

// Rows begin..begin + count of the first axis.
Tensor RowsOf(const Tensor& t, int64_t begin, int64_t count) {
  std::vector<int64_t> shape = t.shape();
  shape[0] = count;
  Tensor part(t.dtype(), shape);
  int64_t width = SizeOf(t.dtype());
  for (size_t i = 1; i < shape.size(); ++i) width *= shape[i];
  if (part.num_bytes() > 0)
    std::memcpy(part.raw(), static_cast<const char*>(t.raw()) + begin * width,
                static_cast<size_t>(part.num_bytes()));
  return part;
}

const std::vector<Lengths> kBatches = {
    {3, 0, 5, 1}, {}, {0, 0}, {200}, {1, 1, 1}, {33, 64, 0, 7, 31, 32}, {3, 0, 5, 1, 0, 0, 90}};

// `ragged` is a program of x: f32[batch, ~seq, W] with output y; `dense` of one row x: f32[s, W].
// If `per_row`, y has an entry a row, else one a position. In the order A, B, .., A.
void CheckAgainstRows(const std::string& ragged, const std::string& dense, bool per_row,
                      std::vector<int64_t> then = {5}) {
  SCOPED_TRACE(ragged);
  absl::StatusOr<ir::Graph> graph = ir::Parse(ragged), row_graph = ir::Parse(dense);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_TRUE(row_graph.ok()) << row_graph.status();
  absl::StatusOr<ir::Graph> again = ir::Parse(ir::Print(*graph));
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << ir::Print(*graph);
  EXPECT_TRUE(ir::Equal(*graph, *again));
  for (int threads : {1, 2}) {
    Engine engine(
        {.threads = threads, .background_compiles = false, .poison_values = threads == 2});
    absl::StatusOr<Function> f = CompileGraph(engine, *graph);
    ASSERT_TRUE(f.ok()) << f.status();
    const int64_t compiles = engine.counters().compiles;
    for (size_t turn = 0; turn <= kBatches.size(); ++turn) {
      const Lengths& lengths = kBatches[turn % kBatches.size()];
      std::vector<int64_t> shape = {Total(lengths)};
      shape.insert(shape.end(), then.begin(), then.end());
      const Tensor x = Normal(shape, static_cast<uint32_t>(turn % kBatches.size()));
      const std::vector<Tensor> inputs = {OffsetsOf(lengths), x};
      const absl::Status s = CheckCall(*f, *graph, inputs, /*exact=*/false, true);
      ASSERT_TRUE(s.ok()) << "turn " << turn << ": " << s;
      absl::StatusOr<std::vector<Tensor>> out = f->call(inputs);
      ASSERT_TRUE(out.ok()) << out.status();
      int64_t at = 0;
      for (size_t i = 0; i < lengths.size(); at += lengths[i++]) {
        if (lengths[i] == 0) continue;  // what an empty row gives is tested by itself
        const std::vector<Tensor> row = {RowsOf(x, at, lengths[i])};
        absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(*row_graph, row);
        absl::StatusOr<std::vector<Tensor>> wanted64 =
            ir::Interpret(*row_graph, row, {.in_f64 = true});
        ASSERT_TRUE(wanted.ok() && wanted64.ok()) << wanted.status();
        const Tensor part = per_row ? RowsOf((*out)[0], static_cast<int64_t>(i), 1)
                                    : RowsOf((*out)[0], at, lengths[i]);
        const Tensor found =
            per_row ? Tensor::View(part.raw(), part.dtype(), (*wanted)[0].shape()) : part;
        const absl::Status same = WithinBound(found, (*wanted)[0], (*wanted64)[0], false);
        ASSERT_TRUE(same.ok()) << "row " << i << " of turn " << turn << ": " << same;
      }
    }
    EXPECT_EQ(engine.counters().compiles, compiles) << "a size was specialised silently";
    EXPECT_EQ(engine.counters().compiles_in_calls, 0);
  }
}

constexpr char kRagged[] = "x: f32[batch, ~seq, 5]\n";
constexpr char kDense[] = "x: f32[s, 5]\n";

void CheckSame(const std::string& body) {
  CheckAgainstRows(kRagged + body, kDense + body, /*per_row=*/false);
}

TEST(Ragged, PointwiseNormsProductsAndTrailingSoftmaxNeedNothing) {
  CheckSame("y = gelu(x * 2 + x)\noutput y\n");
  CheckSame(
      "w = constant(f32[5]{1, 2, 3, 4, 5})\ny = layer_norm(x, w, w, epsilon=1e-5)\noutput y\n");
  CheckSame("w = constant(f32[5]{1, 2, 3, 4, 5})\ny = rms_norm(x, w, epsilon=1e-5)\noutput y\n");
  CheckSame("y = softmax(x, axis=-1)\noutput y\n");
  CheckSame(
      "w = constant(f32[5, 3]{1*15})\nb = constant(f32[3]{1, 2, 3})\n"
      "y = relu(x @ w + b)\noutput y\n");
}

TEST(Ragged, ReductionsAlongTheRows) {
  const auto check = [](const std::string& ragged, const std::string& dense, bool per_row) {
    CheckAgainstRows(kRagged + ragged, kDense + dense, per_row);
  };
  check("y = segment_sum(x, seq.offsets)\noutput y\n", "y = sum(x, axes=[0])\noutput y\n", true);
  check("y = segment_max(x, seq.offsets)\noutput y\n", "y = max(x, axes=[0])\noutput y\n", true);
  check("y = segment_mean(x, seq.offsets)\noutput y\n", "y = mean(x, axes=[0])\noutput y\n", true);
  check("y = segment_softmax(x * 3, seq.offsets)\noutput y\n",
        "y = softmax(x * 3, axis=0)\noutput y\n", false);
}

TEST(Ragged, ReductionsOfPackedVectors) {
  const auto check = [](const std::string& ragged, const std::string& dense, bool per_row) {
    CheckAgainstRows("x: f32[batch, ~seq]\n" + ragged, "x: f32[s]\n" + dense, per_row, {});
  };
  check("y = segment_sum(x, seq.offsets)\noutput y\n", "y = sum(x, axes=[0])\noutput y\n", true);
  check("y = segment_max(x, seq.offsets)\noutput y\n", "y = max(x, axes=[0])\noutput y\n", true);
  check("y = segment_mean(x, seq.offsets)\noutput y\n", "y = mean(x, axes=[0])\noutput y\n", true);
  check("y = segment_softmax(x, seq.offsets)\noutput y\n", "y = softmax(x, axis=0)\noutput y\n",
        false);
}

TEST(Ragged, ValuesOfEachRowBesideItsElements) {
  CheckAgainstRows(
      "x: f32[batch, ~seq, 5]\nm = segment_mean(x, seq.offsets)\n"
      "y = x - segment_rows(m, seq.offsets)\noutput y\n",
      "x: f32[s, 5]\ny = x - mean(x, axes=[0], keep_dims=true)\noutput y\n", false);
}

TEST(Ragged, AWholeEncoderStep) {
  CheckAgainstRows(
      "x: f32[batch, ~seq, 5]\nw = constant(f32[5, 5]{0.25*25})\ng = constant(f32[5]{1*5})\n"
      "h = layer_norm(gelu(x @ w) + x, g, g, epsilon=1e-5)\n"
      "a = segment_softmax(h, seq.offsets)\ny = segment_sum(a * h, seq.offsets)\noutput y\n",
      "x: f32[s, 5]\nw = constant(f32[5, 5]{0.25*25})\ng = constant(f32[5]{1*5})\n"
      "h = layer_norm(gelu(x @ w) + x, g, g, epsilon=1e-5)\n"
      "a = softmax(h, axis=0)\ny = sum(a * h, axes=[0])\noutput y\n",
      true);
}

// The sum of a contiguous row has the order of any contiguous row, from its own start.
TEST(Ragged, SumsOfRowsHaveTheBitsOfDenseSums) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function ragged =
      CompileText(engine, "x: f32[batch, ~seq]\ny = segment_sum(x, seq.offsets)\noutput y\n");
  const Function dense = CompileText(engine, "x: f32[s]\ny = sum(x)\noutput y\n");
  const Lengths lengths = {3, 1000, 0, 77, 32, 64, 31};
  const Tensor x = Normal({Total(lengths)}, 5);
  absl::StatusOr<std::vector<Tensor>> found = ragged.call({OffsetsOf(lengths), x});
  ASSERT_TRUE(found.ok()) << found.status();
  int64_t at = 0;
  for (size_t i = 0; i < lengths.size(); at += lengths[i++]) {
    absl::StatusOr<std::vector<Tensor>> wanted = dense.call({RowsOf(x, at, lengths[i])});
    ASSERT_TRUE(wanted.ok());
    EXPECT_EQ(std::memcmp((*found)[0].data<float>() + i, (*wanted)[0].raw(), 4), 0) << "row " << i;
  }
}

TEST(Ragged, EmptyRowsAreOrdinary) {
  CheckCase({},
            "x: f32[batch, ~seq, 2]\ns = segment_sum(x, seq.offsets)\n"
            "m = segment_max(x, seq.offsets)\nk = segment_max(x, seq.offsets, value=7)\n"
            "a = segment_mean(x, seq.offsets)\noutput s\noutput m\noutput k\noutput a\n",
            {{{},
              {I64({4}, {0, 0, 1, 1}), F32({1, 2}, {3, 4})},
              {F32({3, 2}, {0, 0, 3, 4, 0, 0}),
               F32({3, 2}, {-INFINITY, -INFINITY, 3, 4, -INFINITY, -INFINITY}),
               F32({3, 2}, {7, 7, 3, 4, 7, 7}), F32({3, 2}, {NAN, NAN, 3, 4, NAN, NAN})},
              ""},
             {{},
              {I64({1}, {0}), F32({0, 2}, {})},
              {F32({0, 2}, {}), F32({0, 2}, {}), F32({0, 2}, {}), F32({0, 2}, {})},
              ""}});
}

TEST(Ragged, ToPaddedAndBack) {
  const std::string text =
      "x: f32[batch, ~seq, 2]\np = to_padded(x, seq.offsets, value=-1)\n"
      "y = to_ragged(p * 2, seq.offsets)\noutput p\noutput y\n";
  CheckCase(
      {}, text,
      {{{},
        {I64({4}, {0, 1, 1, 3}), F32({3, 2}, {1, 2, 3, 4, 5, 6})},
        {F32({3, 2, 2}, {1, 2, -1, -1, -1, -1, -1, -1, 3, 4, 5, 6}),
         F32({3, 2}, {2, 4, 6, 8, 10, 12})},
        ""},
       {{}, {I64({3}, {0, 0, 0}), F32({0, 2}, {})}, {F32({2, 0, 2}, {}), F32({0, 2}, {})}, ""},
       {{}, {I64({1}, {0}), F32({0, 2}, {})}, {F32({0, 0, 2}, {}), F32({0, 2}, {})}, ""}});
  CheckCase({}, "x: i64[batch, ~seq]\ny = to_padded(x, seq.offsets, value=9)\noutput y\n",
            {{{},
              {I64({4}, {0, 3, 3, 5}), I64({5}, {1, 2, 3, 4, 5})},
              {I64({3, 3}, {1, 2, 3, 9, 9, 9, 4, 5, 9})},
              ""}});
}

TEST(Ragged, ToRaggedNeedsRoomForTheLongestRow) {
  CheckCase(
      {"room"},
      "p: f32[batch, $room]\nx: f32[batch, ~seq]\ny = to_ragged(p, seq.offsets) + x\noutput y\n",
      {{{3},
        {F32({2, 3}, {1, 2, 3, 4, 5, 6}), I64({3}, {0, 1, 3}), F32({3}, {10, 20, 30})},
        {F32({3}, {11, 24, 35})},
        ""},
       {{1},
        {F32({2, 1}, {1, 2}), I64({3}, {0, 1, 3}), F32({3}, {10, 20, 30})},
        {},
        "seq.max <= room"}});
}

TEST(Ragged, OffsetsMayBeI32AndStrided) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f =
      CompileText(engine,
                  "dim batch; dim seq.total; dim seq.max\n"
                  "seq.offsets: i32[batch + 1] = input(offsets=[seq.total, seq.max])\n"
                  "x: f32[batch, ~seq]\ny = segment_sum(x, seq.offsets)\noutput y\n");
  ASSERT_NE(f.state(), nullptr);
  std::vector<int32_t> data = {4, -7, 3, -7, 0};
  const Tensor backwards = Tensor::View(data.data() + 4, i32, {3}, {-2});
  for (const Tensor& offsets : {I32({3}, {0, 3, 4}), backwards}) {
    absl::StatusOr<std::vector<Tensor>> out = f.call({offsets, F32({4}, {1, 2, 3, 4})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[0], 6);
    EXPECT_EQ((*out)[0].data<float>()[1], 4);
  }
}

TEST(Ragged, WrongOffsetsAreRefusedAndNamed) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f = CompileText(
      engine,
      "x: f32[batch, ~seq<=4, 2]\nz: f32[batch]\ny = segment_sum(x, seq.offsets)\noutput y\n");
  ASSERT_NE(f.state(), nullptr);
  const Tensor x = F32({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto message = [&](const Tensor& offsets, const Tensor& rows, int64_t batch = 2) {
    return std::string(f.call({offsets, rows, Counted({batch})}).status().message());
  };
  EXPECT_EQ(message(I64({3}, {0, 1, 3}), x), "");
  EXPECT_THAT(message(I64({3}, {1, 1, 3}), x),
              HasSubstr("input seq.offsets: element 0 is 1, wanted 0"));
  EXPECT_THAT(message(I64({3}, {0, 2, 1}), x),
              HasSubstr("input seq.offsets: element 2 is 1, wanted >= 2, element 1"));
  EXPECT_THAT(message(I64({3}, {0, -1, 3}), x), HasSubstr("element 1 is -1, wanted >= 0"));
  EXPECT_THAT(message(I64({3}, {0, 1, 4}), x),
              HasSubstr("element 2 is 4, wanted seq.total = 3 (axis 0 of input x)"));
  EXPECT_THAT(message(I64({3}, {0, 1, INT64_MAX}), x), HasSubstr("wanted seq.total = 3"));
  EXPECT_THAT(message(I64({3}, {0, 5, 5}), Tensor(f32, {5, 2})),
              HasSubstr("seq.max = 5 (longest row of input seq.offsets)"));
  EXPECT_THAT(message(I64({3}, {0, 5, 5}), Tensor(f32, {5, 2})), HasSubstr("seq.max <= 4"));
  EXPECT_THAT(message(I64({0}, {}), Tensor(f32, {0, 2}), 0), HasSubstr("seq.offsets"));
  EXPECT_THAT(message(I64({3}, {0, 1, 3}), x, 3), HasSubstr("batch"));
  EXPECT_THAT(message(I64({3, 1}, {0, 1, 3}), x), HasSubstr("wanted rank 1"));
  EXPECT_THAT(message(I32({3}, {0, 1, 3}), x), HasSubstr("wanted type i64"));
  EXPECT_EQ(message(I64({3}, {0, 1, 3}), x), "") << "the function stays usable";
}

TEST(Ragged, TwoRaggedDimsDoNotMix) {
  const auto message = [](const std::string& text) {
    return std::string(ir::Parse(text).status().message());
  };
  const std::string inputs = "x: f32[batch, ~a, 4]\nz: f32[batch, ~b, 4]\n";
  EXPECT_THAT(message(inputs + "y = x + z\n"), HasSubstr("~a and ~b are different ragged dims"));
  EXPECT_THAT(message(inputs + "y = segment_sum(x, b.offsets)\n"),
              HasSubstr("operand 0 has the rows of ~a, the offsets are of ~b"));
  EXPECT_THAT(message("x: f32[n, 4]\nk: i64[n]\ny = segment_sum(x, k)\n"),
              HasSubstr("wanted the offsets of a ragged dim"));
  EXPECT_THAT(message("x: f32[~a, 4]\n"), HasSubstr("stands behind the number of its rows"));
  EXPECT_THAT(message("x: f32[n, ~a, 4]\nz: f32[m, ~a, 4]\n"), HasSubstr("~a has n rows, found m"));
}

TEST(Ragged, SizesByNameServeMemoryAndOutputShapes) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f = CompileText(engine,
                                 "x: f32[batch, ~seq<=64, 8]\n"
                                 "p = to_padded(x, seq.offsets, value=0)\noutput p\n");
  ASSERT_NE(f.state(), nullptr);
  const Sizes sizes = {{"batch", 3}, {"seq.total", 10}, {"seq.max", 6}};
  absl::StatusOr<std::vector<std::vector<int64_t>>> shapes = f.output_shapes(sizes);
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_THAT((*shapes)[0], ElementsAre(3, 6, 8));
  EXPECT_GE(f.peak_bytes(sizes).value(), 3 * 6 * 8 * 4);
  EXPECT_TRUE(f.explain(sizes).ok());
  EXPECT_FALSE(f.output_shapes({{"batch", 3}, {"seq.total", 10}, {"seq.max", 3}}).ok())
      << "three rows of at most 3 hold no 10 elements";
}

TEST(Ragged, TheTracingDsl) {
  Trace t("pooled");
  const Dim batch = t.dim("batch");
  const Ragged seq = t.ragged("seq", batch, "<= 512");
  const Value x = t.input("x", f32, seq, {4});
  const Value scale = t.input("scale", f32, {batch, 1});
  const Value h = softmax(x, seq) * spread(scale, seq);
  const Value pooled = sum(h, seq) + mean(x, seq) * 0.0 + max(x, seq) * 0.0;
  const Value back = to_ragged(to_padded(x, seq), seq);
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = engine.compile(t.finish({pooled, back}));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  const Tensor rows = Normal({5, 4}, 1);
  absl::StatusOr<std::vector<Tensor>> out =
      f->call({I64({3}, {0, 2, 5}), rows, F32({2, 1}, {1, 2})});
  ASSERT_TRUE(out.ok()) << out.status();
  for (int i = 0; i < 8; ++i)
    EXPECT_NEAR((*out)[0].data<float>()[i], i < 4 ? 1 : 2, 1e-5) << "a softmax sums to 1";
  EXPECT_TRUE(ir::SameBits((*out)[1], rows).ok());
}

}  // namespace
}  // namespace lathe::whole
