// Programs that were once wrong, as small as they got.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "ir/samples.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

struct Program {
  const char* name;
  const char* text;
  std::vector<std::vector<int64_t>> sizes;  // by symbol, calls in order
};

class Regression : public testing::TestWithParam<Program> {};

TEST_P(Regression, IsRightAtTheseSizes) {
  absl::StatusOr<ir::Graph> g = ir::Parse(GetParam().text);
  ASSERT_TRUE(g.ok()) << g.status();
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, *g);
  ASSERT_TRUE(f.ok()) << f.status();
  for (const std::vector<int64_t>& sizes : GetParam().sizes) {
    const std::vector<Tensor> inputs = ir::SampleInputs(*g, sizes, 1, true);
    absl::Status s = CheckCall(*f, *g, inputs, true, true);
    EXPECT_TRUE(s.ok()) << s;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Regression,
    testing::Values(Program{"a_row_value_broadcast_back_over_axes_that_are_not_the_last",
                            "dim n\nx: f32[n, 2, 2]\n"
                            "m = min(x, axes=[0, 2], keep_dims=true, value=0)\n"
                            "output broadcast(m, shape=[n, 2, 2], axes=[0, 1, 2])\n",
                            {{3}, {1}, {0}, {3}}},
                    Program{"a_gather_that_nobody_reads_still_looks_at_its_indices",
                            "dim n\ndim m\nx: f32[n, m]\ni: i64[3]\n"
                            "g = gather(x, i, axis=1)\noutput y = x\n",
                            {{0, 0}, {2, 4}, {0, 0}}},
                    Program{"a_slice_ends_inside_the_parts_of_the_axis_that_it_cuts",
                            "dim n\nx: f32[n, 4, 8]\n"
                            "y = reshape(permute(neg(x), axes=[0, 2, 1]), [n, 32])\n"
                            "output z = y[:, 0:17]\n",
                            {{3}, {1}, {0}, {3}}},
                    Program{"a_size_may_have_the_name_of_the_worker_count",
                            "dim worker_count\nx: f32[worker_count, 7]\n"
                            "output y = max(x, axis=1) + 1\n",
                            {{3}, {1}, {0}, {3}}},
                    Program{"a_kept_value_is_read_at_other_places_too",
                            "dim n\na: f32[n, 4]\nb: f32[n, 4]\no = a + b\n"
                            "m = max(o, axes=[1], keep_dims=true)\n"
                            "r = slice(o, starts=[0, 3], limits=[n, -1], steps=[1, -1])\n"
                            "output y = (o - m) * r\n",
                            {{3}, {1}, {0}, {3}}},
                    Program{"a_side_that_is_not_taken_divides_by_a_size_of_0",
                            "dim n, m\nx: f32[n]\nw: f32[m]\n"
                            "y = if m > 0 { yield sum(reshape(x, [m, -1]), axes=[0, 1]) } "
                            "else { yield sum(x, axes=[0]) }\noutput y\n",
                            {{7, 0}, {6, 3}, {0, 0}, {7, 0}}},
                    Program{"a_side_with_a_mean_that_is_not_taken",
                            "dim n, m\nx: f32[n]\nw: f32[m]\n"
                            "y = if m > 0 { yield mean(reshape(x, [m, -1]), axes=[0, 1]) } "
                            "else { yield sum(x, axes=[0]) }\noutput y\n",
                            {{7, 0}, {6, 3}, {7, 0}}},
                    Program{"a_side_with_a_softmax_that_is_not_taken",
                            "dim n\nx: f32[n]\n"
                            "y = if n >= 8 { yield sum(softmax(x[8:], axis=0), axes=[0]) } "
                            "else { yield sum(x, axes=[0]) }\noutput y\n",
                            {{3}, {12}, {8}, {3}}},
                    Program{"a_side_with_a_norm_that_is_not_taken",
                            "dim n, d, k\nx: f32[n, d]\ng: f32[k]\n"
                            "y = if k == d { yield rms_norm(x, g, epsilon=1e-5) * 0 + x } "
                            "else { yield x }\noutput y\n",
                            {{2, 4, 3}, {2, 4, 4}, {2, 4, 3}}},
                    Program{"values_of_a_side_that_is_not_taken_would_have_negative_sizes",
                            "dim n\nx: f32[n]\nu = cumsum(x, axis=0)\n"
                            "r = if n < 1000 { yield reshape(sum(u), shape=[1]) } else {\n"
                            "  t = cumsum(slice(u, starts=[1000], limits=[n], steps=[1]), axis=0)\n"
                            "  yield reshape(sum(t), shape=[1])\n}\noutput y = u + r\n",
                            {{100}, {900}, {1200}, {100}}}),
    [](const auto& given) { return std::string(given.param.name); });

// Calls of one program with given inputs, beside the interpreter's.
void CheckInputs(const char* text, const std::vector<std::vector<Tensor>>& calls,
                 bool exact = true) {
  absl::StatusOr<ir::Graph> g = ir::Parse(text);
  ASSERT_TRUE(g.ok()) << g.status();
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, *g);
  ASSERT_TRUE(f.ok()) << f.status();
  for (const std::vector<Tensor>& inputs : calls) {
    const absl::Status s = CheckCall(*f, *g, inputs, exact, /*with_evaluator=*/exact);
    EXPECT_TRUE(s.ok()) << s << "\n" << text;
  }
}

// A size that is found from an axis with the help of another.
TEST(Regressions, SizesFoundFromOthers) {
  std::vector<float> numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Tensor one = Tensor::FromVector<float>({1}, {0});
  const Tensor every_other = Tensor::View(numbers.data(), f32, {3}, {2});
  const char* text = "dim a, b\nx: f32[a]\ny: f32[2*b + a]\noutput z = y * 2\n";
  CheckInputs(text, {{one, every_other}});

  const Tensor three = Tensor::FromVector<float>({3}, {0, 0, 0});
  const Tensor five = Tensor::FromVector<float>({5}, {1, 2, 3, 4, 5});
  const Tensor offsets = Tensor::FromVector<int64_t>({3}, {0, 1, 3});
  const Tensor rows = Tensor::FromVector<float>({3, 1}, {1, 2, 3});
  const Tensor wrong = Tensor::FromVector<int64_t>({3}, {0, 5, 3});
  CheckInputs(
      "dim a, b, batch\nx: f32[a]\ny: f32[2*b + a]\nr: f32[batch, ~seq, 1]\n"
      "output z = y * 2\noutput s = segment_sum(r, seq.offsets)\n",
      {{three, five, offsets, rows}, {three, five, wrong, rows}});
}

TEST(Regressions, ElementTypesOfSegmentsAndPrefixes) {
  for (const char* text : {"x: i64[b, ~s]\noutput y = segment_mean(x, s.offsets)\n",
                           "x: bool[b, ~s]\noutput y = segment_sum(x, s.offsets)\n",
                           "x: i32[b, ~s]\noutput y = segment_softmax(x, s.offsets)\n",
                           "x: bool[n]\noutput y = cumsum(x, axis=0)\n"}) {
    const absl::Status s = ir::Parse(text).status();
    EXPECT_EQ(s.code(), absl::StatusCode::kInvalidArgument) << text << s;
    EXPECT_NE(s.message().find("wanted "), std::string::npos) << s;
  }
}

// 0 elements broadcast to 0 or stay apart.
TEST(Regressions, NothingBroadcastsToNothing) {
  const Tensor none(f32, {0}), one = Tensor::FromVector<float>({1}, {7});
  const Tensor three = Tensor::FromVector<float>({3}, {1, 2, 3});
  CheckInputs("dim n\nx: f32[n]\noutput y = broadcast(x, shape=[max(n, 1)])\n",
              {{one}, {none}, {three}, {one}});
  CheckInputs(
      "dim n, m\nx: f32[n]\nz: f32[m]\noutput y = broadcast(x, shape=[max(n, m)])\n"
      "output w = z * 2\n",
      {{one, three}, {none, one}, {three, three}, {none, none}});
}

// An index that isn't checked gives 0 outside, counted from the start.
TEST(Regressions, UncheckedIndicesAmongSizes) {
  const absl::StatusOr<ir::Graph> g = ir::Parse(
      "s: i64[2]\nx: f32[1]\n"
      "t = gather(s, constant(i64[3]{-1, 1, 2}), axis=0, unchecked=true)\n"
      "output y = broadcast(x, shape=t, axes=[0])\n");
  ASSERT_TRUE(g.ok()) << g.status();
  EXPECT_EQ(ToString(g->type(g->body.results[0]).shape), "[0, s.1, 0]");
}

// A key that a choice hides is hidden as before, whatever the mask adds inside of it.
TEST(Regressions, ScoresThatAreChosenAfterAMaskWasAdded) {
  const char* text =
      "dim n, s, t\nq: f32[n, s, 4]\nk: f32[n, t, 4]\nv: f32[n, t, 4]\nm: f32[n, s, t]\n"
      "p: bool[n, s, t]\n"
      "output y = softmax(select(p, q @ permute(k, axes=[0, 2, 1]) + m, -3.4028235e+38), axis=-1) "
      "@ v\n";
  const auto floats = [](std::vector<int64_t> shape, float first) {
    Tensor x(f32, std::move(shape));
    for (int64_t i = 0; i < x.num_elements(); ++i)
      x.data<float>()[i] = first + 0.25f * static_cast<float>(i);
    return x;
  };
  Tensor hidden(bool_, {1, 1, 1}), both(bool_, {1, 1, 2});
  CheckInputs(text,
              {{floats({1, 1, 4}, 1), floats({1, 1, 4}, 0), floats({1, 1, 4}, 2),
                Tensor::FromVector<float>({1, 1, 1}, {-INFINITY}), hidden},
               {floats({1, 1, 4}, 1), floats({1, 2, 4}, 0), floats({1, 2, 4}, 2),
                Tensor::FromVector<float>({1, 1, 2}, {0, -INFINITY}), both}},
              /*exact=*/false);
}

// A side that is taken divides by no size of 0.
TEST(Regressions, ASideThatIsTakenDividesByASizeOf0) {
  const Tensor four = Tensor::FromVector<float>({4}, {1, 2, 3, 4});
  const Tensor none(f32, {0}), two(f32, {2}), one = Tensor::FromVector<float>({1}, {5});
  for (const char* then :
       {"sum(x[0:n // m], axes=[0])", "sum(iota([n // m], axis=0, dtype=f32))"}) {
    const std::string text =
        absl::StrCat("dim n, m\nx: f32[n]\nu: f32[m]\ny = if n >= 2 { yield ", then,
                     " } else { yield sum(x, axes=[0]) }\noutput y\noutput v = u * 2\n");
    CheckInputs(text.c_str(), {{four, none}, {four, two}, {one, none}, {one, two}});
  }
}

// The keys are a view of a view that a product reads from a buffer of its own.
TEST(Regressions, AttentionOverViewsThatOthersReadToo) {
  const auto floats = [](std::vector<int64_t> shape) {
    Tensor x(f32, std::move(shape));
    for (int64_t i = 0; i < x.num_elements(); ++i)
      x.data<float>()[i] = static_cast<float>(i % 7) * 0.25f - 0.5f;
    return x;
  };
  CheckInputs(
      "dim n\nq: f32[n, 8, 16]\nx: f32[n, 12, 16]\n"
      "t = permute(x, axes=[0, 2, 1])\n"
      "s = slice(t, starts=[0, 0, 1], limits=[n, 16, 11], steps=[1, 1, 1])\n"
      "w = constant(f32[10, 2]{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})\n"
      "y = matmul(s, w)\nk = permute(s, axes=[0, 2, 1])\noutput y\n"
      "output z = attention(q, k, k)\n",
      {{floats({2, 8, 16}), floats({2, 12, 16})}, {floats({1, 8, 16}), floats({1, 12, 16})}},
      /*exact=*/false);
}

// What ops require of a size is known where the largest one is looked for.
TEST(Regressions, TheLargestSizeThatOpsAdmit) {
  const auto largest = [](const char* text, const Sizes& others, int64_t bytes) -> int64_t {
    absl::StatusOr<ir::Graph> g = ir::Parse(text);
    EXPECT_TRUE(g.ok()) << g.status();
    Engine engine({.threads = 1, .background_compiles = false});
    absl::StatusOr<Function> f = CompileGraph(engine, *g);
    EXPECT_TRUE(f.ok()) << f.status();
    if (!f.ok()) return -1;
    const absl::StatusOr<int64_t> n = f->largest("n", others, bytes);
    EXPECT_TRUE(n.ok()) << n.status();
    return n.value_or(-1);
  };
  EXPECT_EQ(largest("dim n\nx: f32[n]\noutput y = relu(reshape(x, [-1, 16]))\n", {}, 1 << 30),
            1 << 28);
  EXPECT_EQ(largest("dim n\nx: f32[n]\noutput y = relu(reshape(x, [-1, 3]))\n", {}, 6000), 1488);
  EXPECT_EQ(largest("dim b in 1..8\ndim n in 1..8192, n % b == 0\nx: f32[n]\nz: f32[b]\n"
                    "output y = exp(x)\noutput w = exp(z)\n",
                    {{"b", 3}}, 6080),
            1503);
}

// exp(x - max(x)) has no positive argument only if each row has its own maximum taken off.
TEST(Regressions, ExponentialsOfAnotherRowsMaximum) {
  const Tensor x = Tensor::FromVector<float>({2, 2}, {0, 50, 0, 0});
  for (const char* shift : {"broadcast(max(x, axes=[1]), shape=[n, n], axes=[1])",
                            "broadcast(max(x, axes=[1]), shape=[n, n], axes=[0])",
                            "permute(broadcast(max(x, axes=[1], keep_dims=true), shape=[n, n], "
                            "axes=[0, 1]), axes=[1, 0])"}) {
    const std::string text = absl::StrCat("dim n\nx: f32[n, n]\noutput y = exp(x - ", shift, ")\n");
    CheckInputs(text.c_str(), {{x}}, /*exact=*/false);
  }
  Tensor wide(f32, {4, 5, 3});
  for (int64_t i = 0; i < 60; ++i) wide.data<float>()[i] = i / 3 % 5 == 1 ? 60.0f : 0.0f;
  CheckInputs(
      "x: f32[4, 5, 3]\nm = max(x, axes=[0, 2])\n"
      "b = broadcast(m, shape=[2, 5, 6], axes=[1])\n"
      "output y = exp(x - reshape(b, shape=[4, 5, 3]))\n",
      {{wide}}, /*exact=*/false);
}

// To an integer a float saturates, where an integer wraps.
TEST(Regressions, CastsByWayOfFloats) {
  CheckInputs("dim n\nk: i32[n]\noutput y = cast(cast(k, dtype=f64), dtype=i8)\n",
              {{Tensor::FromVector<int32_t>({3}, {300, -300, 7})}});
  CheckInputs("dim n\nk: u8[n]\noutput y = cast(cast(k, dtype=f32), dtype=i8)\n",
              {{Tensor::FromVector<uint8_t>({2}, {200, 7})}});
  CheckInputs("dim n\nk: i16[n]\noutput y = cast(cast(k, dtype=f32), dtype=u8)\n",
              {{Tensor::FromVector<int16_t>({2}, {-1, 7})}});
}

// An index out of range fails the call, though nobody reads what it chooses.
TEST(Regressions, IndicesOfUnreadElements) {
  const Tensor t = Tensor::FromVector<float>({5}, {1, 2, 3, 4, 5});
  CheckInputs(
      "t: f32[5]\nk: i64[4]\n"
      "output y = slice(neg(gather(t, k, axis=0)), starts=[0], limits=[2], steps=[1])\n",
      {{t, Tensor::FromVector<int64_t>({4}, {0, 1, 2, 9})},
       {t, Tensor::FromVector<int64_t>({4}, {0, 1, 2, 4})}});
  CheckInputs(
      "dim n\nt: f32[5]\nk: i64[1]\nx: f32[n]\n"
      "output y = x + broadcast(gather(t, k, axis=0), shape=[n], axes=[0])\n",
      {{t, Tensor::FromVector<int64_t>({1}, {9}), Tensor(f32, {0})},
       {t, Tensor::FromVector<int64_t>({1}, {4}), Tensor(f32, {0})}});
}

// Finding the index that is out of range reads none that lie outside of the indices.
TEST(Regressions, TheIndexThatFailsIsFoundAmongThoseThatCount) {
  absl::StatusOr<ir::Graph> g = ir::Parse(
      "dim n\nx: f32[n]\nt: f32[5]\nk: i64[5]\n"
      "output y = concat(x, gather(t, k, axis=0), axis=0)\n");
  ASSERT_TRUE(g.ok()) << g.status();
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, *g);
  ASSERT_TRUE(f.ok()) << f.status();
  const std::vector<Tensor> inputs = {Tensor(f32, {3}),
                                      Tensor::FromVector<float>({5}, {1, 2, 3, 4, 5}),
                                      Tensor::FromVector<int64_t>({5}, {0, 0, 9, 0, 0})};
  for (const absl::Status& s : {f->call(inputs).status(), RunByEvaluator(*f, inputs).status()}) {
    EXPECT_EQ(s.code(), absl::StatusCode::kOutOfRange) << s;
    EXPECT_NE(s.message().find("found 9 at position 2"), std::string::npos) << s;
  }
}

// A version for n == 1 of axes that are walked as one: 4 and n repeat, and an extent of 1 under
// them has but one element; or they are both read.
TEST(Regressions, BroadcastsOfAnExtentOfOneInARunOfAxes) {
  Engine engine({.threads = 1});
  for (const char* text : {
           "w: i64[1, 3, 5]\noutput y = broadcast(w, shape=[4, n, 3, 5], axes=[1, 2, 3])\n",
           "w: f32[4, n]\noutput y = broadcast(w, shape=[n, 4, n], axes=[1, 2])\n",
           "w: f32[n, 4]\noutput y = broadcast(w, shape=[4, n, 4], axes=[1, 2])\n",
           "w: f32[n, 1]\noutput y = broadcast(w, shape=[4, n, n], axes=[1, 2])\n",
       }) {
    absl::StatusOr<ir::Graph> g = ir::Parse(absl::StrCat("dim n\nx: f32[n]\n", text));
    ASSERT_TRUE(g.ok()) << g.status();
    absl::StatusOr<Function> f = CompileGraph(engine, *g, {.strategy = Strategy::kFullStatic});
    ASSERT_TRUE(f.ok()) << f.status();
    ASSERT_TRUE(f->prepare({Sizes{{"n", 1}}}).ok());
    for (const int64_t n : {1, 3, 0, 1}) {
      const absl::Status s = CheckCall(*f, *g, ir::SampleInputs(*g, {{n}}, 1, true), true, true);
      EXPECT_TRUE(s.ok()) << text << n << ": " << s;
    }
  }
}

// Keys and values that go backwards, with which a micro-kernel's operand ended before it began; and
// scores beyond f32, which are infinite.
TEST(Regressions, AttentionOverKeysInReverseAndScoresBeyondTheType) {
  Engine engine({.threads = 1});
  for (const char* text : {
           "x: f32[n, m, 1]\nr = slice(x, starts=[0, m - 1, 0], limits=[n, -1, 1], "
           "steps=[1, -1, 1])\noutput y = attention(r, r, r, scale=1)\n",
           "x: f32[n, m, 8]\nr = slice(x, starts=[0, m - 1, 0], limits=[n, -1, 8], "
           "steps=[1, -1, 1])\noutput y = attention(x, r, r, causal=true, scale=1)\n",
           "x: f32[n, m, 2]\nr = 1e22 * x + 1e22\noutput y = attention(r, r, r, scale=0.25)\n",
       }) {
    absl::StatusOr<ir::Graph> g = ir::Parse(absl::StrCat("dim n\ndim m\n", text));
    ASSERT_TRUE(g.ok()) << g.status();
    absl::StatusOr<Function> f = CompileGraph(engine, *g);
    ASSERT_TRUE(f.ok()) << f.status();
    for (const int64_t m : {8, 70, 1, 0, 8}) {
      const absl::Status s =
          CheckCall(*f, *g, ir::SampleInputs(*g, {{2, m}}, 1, false), false, true);
      EXPECT_TRUE(s.ok()) << text << m << ": " << s;
    }
  }
}

// Whole rows beside a reduction whose dims aren't those of its space, but equal them.
TEST(Regressions, RowsWhoseExtentsFactsMakeEqual) {
  Engine engine({.threads = 1});
  for (const char* text : {
           "dim b\ndim m in 2..64\nx: f32[b, 8]\ny: f32[b, m]\n"
           "output z = (x - max(x, axes=[1], keep_dims=true)) * y\n",
           "dim b, m, n\nassume n == m\nx: f32[b, n]\ny: f32[b, m]\n"
           "output z = softmax(x, axis=-1) * relu(y)\n",
           "dim b, m, n\nx: f32[b, n]\ny: f32[b, m]\n"
           "z = if n == m { yield softmax(x, axis=-1) * y } else { yield x }\noutput z\n",
           "dim b, k\nassume k == 8\nx: f32[b, k]\noutput z = softmax(x, axis=-1) * x\n",
       }) {
    absl::StatusOr<ir::Graph> g = ir::Parse(text);
    ASSERT_TRUE(g.ok()) << g.status();
    absl::StatusOr<Function> f = CompileGraph(engine, *g);
    ASSERT_TRUE(f.ok()) << f.status();
    std::vector<int64_t> sizes(static_cast<size_t>(g->dims()->num_symbols()), 8);
    for (const int64_t b : {3, 1, 0}) {
      sizes[0] = b;
      const absl::Status s = CheckCall(*f, *g, ir::SampleInputs(*g, sizes, 1, false), false, true);
      EXPECT_TRUE(s.ok()) << text << b << ": " << s;
    }
  }
}

// The bytes that a second product reads from behind the first end the first one's kernel.
TEST(Regressions, AByteProductBehindTheBytesOfAnother) {
  const Tensor x = Tensor::FromVector<uint8_t>({2, 4}, {1, 2, 3, 4, 250, 6, 7, 8});
  const std::string first =
      "dim n\nx: u8[n, 4]\n"
      "c = cast(cast(x, dtype=i32) @ cast(constant(i8[4, 4]{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, "
      "13, 14, 15, 16}), dtype=i32), dtype=u8)\nd = cast(c, dtype=i32)\n";
  CheckInputs((first + "output e = d @ cast(constant(i8[4, 4]{16, 15, 14, 13, 12, 11, 10, 9, 8, 7, "
                       "6, 5, 4, 3, 2, 1}), dtype=i32)\noutput f = d\n")
                  .c_str(),
              {{x}});
  CheckInputs((first + "output e = d @ cast(constant(u8[4, 4]{0, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9, "
                       "10, 11, 12, 13, 14}), dtype=i32)\n")
                  .c_str(),
              {{x}});
}

// Behind the last lane of a tail nothing is read, also where what is read is one element for all.
TEST(Regressions, AnElementForAllLanesOfWhichNoneExists) {
  CheckInputs(
      "z: f32[2, 0]\noutput y = pad(reshape(permute(z, axes=[1, 0]), shape=[0]), low=[3], "
      "high=[0], value=1)\n",
      {{Tensor::View(nullptr, f32, {2, 0})}});
  Engine engine({.threads = 1});
  for (const char* last : {"r", "gather(t, r, axis=0)"}) {
    absl::StatusOr<ir::Graph> g = ir::Parse(absl::StrCat(
        "dim n\na: i64[3]\nt: i64[2]\nz: i64[2, n]\nr = reshape(permute(z, axes=[1, 0]), [2*n])\n"
        "output y = concat(a, ",
        last, ", axis=0)\n"));
    ASSERT_TRUE(g.ok()) << g.status();
    absl::StatusOr<Function> f = CompileGraph(engine, *g, {.strategy = Strategy::kFullStatic});
    ASSERT_TRUE(f.ok()) << f.status();
    ASSERT_TRUE(f->prepare({Sizes{{"n", 0}}}).ok());
    const Tensor a = Tensor::FromVector<int64_t>({3}, {4, 5, 6});
    const Tensor t = Tensor::FromVector<int64_t>({2}, {7, 8});
    const absl::Status s =
        CheckCall(*f, *g, {a, t, Tensor::View(nullptr, i64, {2, 0})}, true, true);
    EXPECT_TRUE(s.ok()) << last << ": " << s;
  }
}

// The version for sizes whose untaken side divides by 0.
TEST(Regressions, AVersionWhoseUntakenSideDividesBy0) {
  Engine engine({.threads = 1});
  absl::StatusOr<ir::Graph> g = ir::Parse(
      "dim n, m\nx: f32[n]\nw: f32[m]\n"
      "y = if m > 0 { yield sum(reshape(x, [m, -1]), axes=[0, 1]) } else { yield sum(x, axes=[0]) "
      "}\noutput y\noutput v = w * 2\n");
  ASSERT_TRUE(g.ok()) << g.status();
  absl::StatusOr<Function> f = CompileGraph(engine, *g, {.strategy = Strategy::kFullStatic});
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare({Sizes{{"n", 7}, {"m", 0}}}).ok());
  EXPECT_EQ(f->versions().size(), 2u);
  for (const int64_t m : {0, 7, 1, 0}) {
    const absl::Status s = CheckCall(*f, *g, ir::SampleInputs(*g, {{7, m}}, 1, true), true, true);
    EXPECT_TRUE(s.ok()) << m << ": " << s;
  }
}

}  // namespace
}  // namespace lathe::whole
