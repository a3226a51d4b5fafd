// Small cases about views, guards and values that broke other systems; what is right stands in
// docs/semantics.md. Sizes: cases_sizes_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/evaluate.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// --- F: fusion and views

TEST(Cases, F1_APadAfterASplitReduction) {
  Tensor ones(f32, {1, 16384});
  for (int64_t i = 0; i < 16384; ++i) ones.data<float>()[i] = 1;
  CheckCase({"n"}, R"(
x: f32[1, $n]
output y = pad(sum(x, axes=[1]), low=[1], high=[0], value=0)
)",
            {{{16384}, {ones}, {F32({2}, {0, 16384})}, ""},
             {{0}, {F32({1, 0}, {})}, {F32({2}, {0, 0})}, ""}});
}

TEST(Cases, F2_OpenDimsCollapsed) {
  CheckCase({"a", "c"}, R"(
x: f32[$a, 2, $c]
output y = reshape(x, [$a, 2*$c])
output z = relu(reshape(x, [$a, 2*$c])) + 1
)",
            {{{1, 2}, {Counted({1, 2, 2})}, {Counted({1, 4}), Counted({1, 4}, 1)}, ""},
             {{3, 0}, {Counted({3, 2, 0})}, {Counted({3, 0}), Counted({3, 0})}, ""},
             {{2, 3}, {Counted({2, 2, 3})}, {Counted({2, 6}), Counted({2, 6}, 1)}, ""}});
}

// The text's A, B and C are 3, 4 and 5, each as a constant and as a dim. Without `wanted` the
// results are those of the constants.
void CheckEverySubsetOfOpenDims(const std::string& text, const std::vector<Tensor>& inputs,
                                std::vector<Tensor> wanted = {}) {
  Engine engine({.threads = 1, .background_compiles = false});
  for (int open = 0; open < 8; ++open) {
    std::string source = "dim a, b, c\n" + text;
    const char* names[] = {"A", "B", "C"};
    const char* symbols[] = {"a", "b", "c"};
    const char* numbers[] = {"3", "4", "5"};
    for (int i = 0; i < 3; ++i) {
      for (size_t at; (at = source.find(names[i])) != std::string::npos;)
        source.replace(at, 1, ((open >> i) & 1) != 0 ? symbols[i] : numbers[i]);
    }
    SCOPED_TRACE(source);
    const absl::StatusOr<ir::Graph> graph = ir::Parse(source);
    ASSERT_TRUE(graph.ok()) << graph.status();
    const absl::StatusOr<Function> f = CompileGraph(engine, *graph);
    ASSERT_TRUE(f.ok()) << f.status();
    absl::Status s = CheckCall(*f, *graph, inputs, true, true);
    ASSERT_TRUE(s.ok()) << s;
    const auto out = f->call(inputs);
    ASSERT_TRUE(out.ok()) << out.status();
    if (wanted.empty()) wanted = *out;
    ASSERT_EQ(out->size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      s = ir::SameBits((*out)[i], wanted[i]);
      EXPECT_TRUE(s.ok()) << "output " << i << ": " << s;
    }
  }
}

TEST(Cases, F3_PadAndSliceWithEverySubsetOfOpenDims) {
  CheckEverySubsetOfOpenDims(R"(
x: f32[A, B, C]
y = pad(x, low=[1, 0, 2], high=[0, B, C], value=-1)
z = y[A // 2:, ::2, -C:] + 1
output w = pad(z * 2, low=[0, C, 0], high=[0, 0, 1], value=7)
output v = z[:, ::-1]
)",
                             {Counted({3, 4, 5})});
}

TEST(Cases, F3_ScatterAndOneHotWithEverySubsetOfOpenDims) {
  const std::vector<int64_t> ids{3, 1, 1, -1, 4};
  Tensor sums = Counted({3, 4, 5}), hot(f32, {5, 4});
  for (int64_t c = 0; c < 5; ++c) {
    const int64_t id = ids[static_cast<size_t>(c)];
    if (id >= 0 && id < 4) hot.data<float>()[c * 4 + id] = 1;
    for (int64_t a = 0; a < 3; ++a)
      sums.data<float>()[(a * 4 + (id + 4) % 4) * 5 + c] += static_cast<float>(10 * (a * 20 + c));
  }
  // Into the middle axis at ids modulo its extent, in row-major places; into a column of x at the
  // ids as they are, of which two are outside, and 1 comes twice.
  CheckEverySubsetOfOpenDims(R"(
x: f32[A, B, C]
ids: i64[C]
row = iota(shape=[A, C], axis=0, dtype=i64) * (B*C)
at = row + ids % B * C + iota(shape=[A, C], axis=1, dtype=i64)
flat = scatter(reshape(x, [-1]), reshape(at, [-1]), reshape(x[:, 0] * 10, [-1]), reduction="add")
output sums = reshape(flat, [A, B, C])
output last = scatter(x[0, :, 0], ids, x[0, 0] + 1)
output most = scatter(x[0, :, 0], ids, x[0, 0] + 4, reduction="max") * 2
output hot = cast(reshape(ids, [C, 1]) == iota(shape=[C, B], axis=1, dtype=i64), f32)
)",
                             {Counted({3, 4, 5}), I64({5}, ids)},
                             {sums, F32({4}, {0, 3, 10, 1}), F32({4}, {0, 12, 20, 30}), hot});
}

TEST(Cases, F3_ScatterAtOtherSizes) {
  CheckCase({"n", "k"}, R"(
x: f32[$n]
ids: i64[$k]
output y = scatter(x, ids, iota(shape=[$k], axis=0, dtype=f32) + 1, reduction="add") + 1
)",
            {{{3, 4}, {F32({3}, {0, 10, 20}), I64({4}, {2, 0, 2, 3})}, {F32({3}, {3, 11, 25})}, ""},
             {{0, 2}, {F32({0}, {}), I64({2}, {0, -1})}, {F32({0}, {})}, ""},
             {{2, 0}, {F32({2}, {5, 6}), I64({0}, {})}, {F32({2}, {6, 7})}, ""},
             {{1, 1}, {F32({1}, {5}), I64({1}, {0})}, {F32({1}, {7})}, ""}});
}

TEST(Cases, F4_ConflictingShapesOfOneValue) {
  const auto p = Program::parse("dim n\nx: f32[n, 4]\ny: f32[n, 5] = relu(x)\noutput y\n");
  ASSERT_FALSE(p.ok());
  EXPECT_NE(p.status().message().find("f32[n, 5]"), std::string::npos) << p.status();
  EXPECT_NE(p.status().message().find("f32[n, 4]"), std::string::npos) << p.status();
  Engine engine({.background_compiles = false});
  const Function f = CompileText(engine, "dim n\nx: f32[n]\ny: f32[n]\noutput z = x + y\n");
  const absl::Status s = f.call({Counted({3}), Counted({4})}).status();
  ASSERT_FALSE(s.ok());
  EXPECT_NE(s.message().find("x"), std::string::npos) << s;
  EXPECT_NE(s.message().find("y"), std::string::npos) << s;
}

TEST(Cases, F5_ConstantsFoldedAmongOpenDims) {
  CheckCase({"n", "m"}, R"(
x: f32[$n, $m]
c = constant(f32[2]{1, 2}) * 2 + 1
output y = x + sum(c, axes=[0])
output z = broadcast(c, shape=[$n, 2]) + cast(size(dim=$m), f32)
)",
            {{{2, 1}, {Counted({2, 1})}, {F32({2, 1}, {8, 9}), F32({2, 2}, {4, 6, 4, 6})}, ""},
             {{0, 3}, {Counted({0, 3})}, {F32({0, 3}, {}), F32({0, 2}, {})}, ""}});
}

// --- G: guards, aliases, strides

TEST(Cases, G1_ALimitThatChangesFromCallToCall) {
  std::vector<CaseCall> calls;
  for (float limit : {1.0f, 2.0f, 0.0f, 1.0f}) {
    calls.push_back(
        {{3},
         {Counted({3}), F32({}, {limit})},
         {F32({3}, {std::min(0.0f, limit), std::min(1.0f, limit), std::min(2.0f, limit)})},
         ""});
  }
  CheckCase({"n"}, R"(
x: f32[$n]
limit: f32[]
output y = minimum(maximum(x, -1), limit)
)",
            calls);
}

TEST(Cases, G2_OutputsNeverOverlapInputs) {
  Engine engine({.background_compiles = false});
  const Function f = CompileText(engine, "dim n\nx: f32[n]\ny: f32[n]\noutput z = x * 2 + y\n");
  Tensor memory = Counted({16});
  float* base = memory.data<float>();
  const Tensor x = Tensor::View(base, f32, {8}), y = Tensor::View(base + 8, f32, {8});
  Context context;
  const absl::Status s = f.call_into({x, y}, {Tensor::View(base + 4, f32, {8})}, context);
  EXPECT_FALSE(s.ok());
  EXPECT_NE(s.message().find("overlap"), std::string::npos) << s;
  EXPECT_FALSE(f.call_into({x, y}, {x}, context).ok());
  // Inputs may overlap each other.
  const auto out = f.call({x, Tensor::View(base + 1, f32, {8})});
  ASSERT_TRUE(out.ok()) << out.status();
  for (int64_t i = 0; i < 8; ++i)
    EXPECT_EQ((*out)[0].data<float>()[i], static_cast<float>(3 * i + 1));
}

TEST(Cases, G3_ViewsOfViews) {
  Tensor base = Counted({10});
  CheckCase(
      {"n"}, "x: f32[$n]\noutput y = x + 1\n",
      {{{5}, {Tensor::View(base.raw(), f32, {5}, {2})}, {F32({5}, {1, 3, 5, 7, 9})}, ""},
       {{3}, {Tensor::View(base.raw(), f32, {3}, {2})}, {F32({3}, {1, 3, 5})}, ""},
       {{3}, {Tensor::View(base.data<float>() + 9, f32, {3}, {-4})}, {F32({3}, {10, 6, 2})}, ""},
       {{4}, {Tensor::View(base.data<float>() + 3, f32, {4}, {0})}, {F32({4}, {4, 4, 4, 4})}, ""}});
}

TEST(Cases, G4_StridesAtOneRowAndAtTwo) {
  Tensor base = Counted({3, 4672});
  const auto rows = [&](int64_t n) {
    Tensor wanted(f32, {n, 4640});
    for (int64_t i = 0; i < n * 4640; ++i)
      wanted.data<float>()[i] = base.data<float>()[i / 4640 * 4672 + i % 4640] * 2;
    return CaseCall{{n}, {Tensor::View(base.raw(), f32, {n, 4640}, {4672, 1})}, {wanted}, ""};
  };
  CheckCase({"n"}, "x: f32[$n, 4640]\noutput y = x * 2\n", {rows(1), rows(2), rows(3)});
}

TEST(Cases, G5_MisalignedBasesAndOddRows) {
  Tensor base = Counted({4, 1185});
  const auto call = [&](int64_t offset, int64_t n, int64_t columns) {
    float* data = base.data<float>() + offset;
    Tensor wanted(f32, {n, columns});
    for (int64_t i = 0; i < n * columns; ++i)
      wanted.data<float>()[i] = data[i / columns * 1185 + i % columns] + 1;
    return CaseCall{{n, columns}, {Tensor::View(data, f32, {n, columns}, {1185, 1})}, {wanted}, ""};
  };
  CheckCase({"n", "m"}, "x: f32[$n, $m]\noutput y = x + 1\n",
            {call(1, 3, 1185), call(0, 3, 1184), call(3, 2, 33), call(1, 1, 1184)});
  // Outputs off by one element.
  Engine engine({.background_compiles = false});
  const Function f = CompileText(engine, "dim n\nx: f32[n]\noutput y = x + 1\n");
  Context context;
  for (int64_t offset : {1, 2, 3}) {
    Tensor to(f32, {64});
    const absl::Status s =
        f.call_into({Tensor::View(base.data<float>() + 1, f32, {37})},
                    {Tensor::View(to.data<float>() + offset, f32, {37})}, context);
    ASSERT_TRUE(s.ok()) << s;
    for (int64_t i = 0; i < 64; ++i) {
      const bool inside = i >= offset && i < offset + 37;
      EXPECT_EQ(to.data<float>()[i], inside ? static_cast<float>(i - offset + 2) : 0) << i;
    }
  }
}

// --- P: floating point

TEST(Cases, P1_NaNOnEitherSide) {
  const Tensor a = F32({6}, {kNaN, 1, kNaN, -0.0f, 0.0f, 3});
  const Tensor b = F32({6}, {1, kNaN, kNaN, 0.0f, -0.0f, 2});
  for (const DType type : {f32, f16, bf16, f64}) {
    std::vector<CaseCall> calls = {
        {{6},
         {a, b},
         {F32({6}, {kNaN, kNaN, kNaN, 0.0f, 0.0f, 3}),
          F32({6}, {kNaN, kNaN, kNaN, -0.0f, -0.0f, 2}), F32({6}, {kNaN, 1, kNaN, -0.0f, 0.0f, 2}),
          F32({1}, {kNaN}), F32({6}, {kNaN, 1, kNaN, 0.0f, 0.0f, 3})},
         ""},
        {{1},
         {F32({1}, {5}), F32({1}, {kNaN})},
         {F32({1}, {kNaN}), F32({1}, {kNaN}), F32({1}, {2}), F32({1}, {5}), F32({1}, {5})},
         ""}};
    for (CaseCall& call : calls) {
      for (Tensor& t : call.inputs) t = ir::ConvertTo(t, type);
      for (Tensor& t : call.wanted) t = ir::ConvertTo(t, type);
    }
    const std::string name = Name(type);
    CheckCase({"n"}, absl::StrCat("a: ", name, "[$n]\nb: ", name, R"([$n]
output most = maximum(a, b)
output least = minimum(a, b)
output clamped = minimum(maximum(a, -1), 2)
output all = max(reshape(a, [1, -1]), axes=[1])
output positive = relu(a)
)"),
              calls);
  }
}

// sqrt(x), its square and pow(x, 0.5) differ at -0 and at -inf: none may stand for another.
TEST(Cases, P2_RootsOfMinusZero) {
  CheckCase({"n"}, R"(
x: f32[$n]
output y = sqrt(x)
output z = sqrt(x) * sqrt(x)
output p = pow(x, 0.5)
output q = pow(x, 0.5) * pow(x, 0.5)
)",
            {{{4},
              {F32({4}, {-0.0f, 4, -kInf, 0.25f})},
              {F32({4}, {-0.0f, 2, kNaN, 0.5f}), F32({4}, {0.0f, 4, kNaN, 0.25f}),
               F32({4}, {0.0f, 2, kInf, 0.5f}), F32({4}, {0.0f, 4, kInf, 0.25f})},
              ""},
             {{1},
              {F32({1}, {-0.0f})},
              {F32({1}, {-0.0f}), F32({1}, {0.0f}), F32({1}, {0.0f}), F32({1}, {0.0f})},
              ""}});
}

TEST(Cases, P3_DenormalsStayAndTheControlWordToo) {
#if defined(__x86_64__)
  const unsigned before = _mm_getcsr();
#endif
  std::vector<CaseCall> calls;
  for (int64_t n : {1, 9, 40}) {
    Tensor x(f32, {n}), y(f32, {n});
    for (int64_t i = 0; i < n; ++i) {
      x.data<float>()[i] = 0.1875f;
      y.data<float>()[i] = 0.1875f * 0x1p-124f;
    }
    EXPECT_NEAR(y.data<float>()[0], 8.8162e-39, 1e-43);
    calls.push_back({{n}, {x, F32({}, {0x1p-124f})}, {y, y}, ""});
  }
  CheckCase({"n"}, "x: f32[$n]\ns: f32[]\noutput y = x * s\noutput z = relu(x * s)\n", calls);
#if defined(__x86_64__)
  EXPECT_EQ(_mm_getcsr() & ~0x3fu, before & ~0x3fu);
  // A caller's own setting is left alone, and doesn't change results.
  Engine engine({.threads = 2, .background_compiles = false});
  const Function f = CompileText(engine, "dim n\nx: f32[n]\ns: f32[]\noutput y = x * s\n");
  _mm_setcsr(before | 0x8040);  // flush to zero, denormals are zero
  const auto out = f.call(calls[1].inputs);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(after & 0x8040, 0x8040u);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(ir::SameBits((*out)[0], calls[1].wanted[0]).ok());
#endif
}

TEST(Cases, P4_ArgmaxAmongNaN) {
  CheckCase({"n"}, "x: f32[2, $n]\noutput y = argmax(x, axis=1)\n",
            {{{2}, {F32({2, 2}, {kInf, kNaN, kNaN, kInf})}, {I64({2}, {1, 0})}, ""},
             {{3}, {F32({2, 3}, {kNaN, 6, 8, 8, 8, kNaN})}, {I64({2}, {0, 2})}, ""},
             {{1}, {F32({2, 1}, {-kInf, kNaN})}, {I64({2}, {0, 0})}, ""}});
}

TEST(Cases, P5_RowsWithNothingToSee) {
  for (int64_t n : {1, 5, 40}) {
    Tensor x(f32, {2, n}), nothing(f32, {2, n});
    for (int64_t i = 0; i < 2 * n; ++i) {
      x.data<float>()[i] = -kInf;
      nothing.data<float>()[i] = kNaN;
    }
    CheckCase({"n"}, "x: f32[2, $n]\noutput y = softmax(x, axis=1)\n", {{{n}, {x}, {nothing}, ""}});
  }
  const std::string text = R"(
q: f32[1, $s, 8]
k: f32[1, $t, 8]
mask: bool[$s, $t]
output y = attention(q, k, k, mask)
)";
  for (int64_t t : {1, 3, 70}) {
    CheckCase({"s", "t"}, text,
              {{{2, t},
                {Counted({1, 2, 8}), Counted({1, t, 8}), Bool({2, t}, {})},
                {Tensor(f32, {1, 2, 8})},
                ""}});
  }
}

// --- C: corners

TEST(Cases, C1_ProductsOverNothing) {
  CheckCase({"n", "k"}, R"(
x: f32[$n, $k]
w: f32[$k, 3]
output y = x @ w + constant(f32[3]{1, 2, 3})
)",
            {{{2, 0}, {F32({2, 0}, {}), F32({0, 3}, {})}, {F32({2, 3}, {1, 2, 3, 1, 2, 3})}, ""},
             {{1, 1}, {F32({1, 1}, {2}), F32({1, 3}, {1, 2, 3})}, {F32({1, 3}, {3, 6, 9})}, ""}});
  // A constant right-hand side takes another schedule.
  Engine engine({.background_compiles = false});
  Trace t("product");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n, 0});
  const Function f = *engine.compile(
      t.finish({matmul(x, t.constant(Tensor(f32, {0, 5}))) + t.constant(Counted({5}))}));
  ASSERT_TRUE(f.prepare().ok());
  const auto out = f.call({Tensor(f32, {2, 0})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(ir::SameBits((*out)[0], F32({2, 5}, {0, 1, 2, 3, 4, 0, 1, 2, 3, 4})).ok());

  CheckCase({"s", "t"}, R"(
q: f32[1, $s, 8]
k: f32[1, $t, 8]
output y = attention(q, k, k)
)",
            {{{2, 0}, {Counted({1, 2, 8}), Counted({1, 0, 8})}, {Tensor(f32, {1, 2, 8})}, ""},
             {{0, 2}, {Counted({1, 0, 8}), Counted({1, 2, 8})}, {Tensor(f32, {1, 0, 8})}, ""},
             {{1, 1}, {Counted({1, 1, 8}), Counted({1, 1, 8}, 3)}, {Counted({1, 1, 8}, 3)}, ""}});
}

TEST(Cases, C2_ClampWithMinAboveMax) {
  CheckCase({"n"}, "x: f32[$n]\noutput y = minimum(maximum(x, 3), 1)\n",
            {{{3}, {F32({3}, {0, 2, 5})}, {F32({3}, {1, 1, 1})}, ""},
             {{1}, {F32({1}, {2})}, {F32({1}, {1})}, ""}});
}

TEST(Cases, C3_FloatsAsBools) {
  CheckCase({"n"}, "x: f32[$n]\noutput y = cast(x, bool)\n",
            {{{4}, {F32({4}, {0.5f, -0.0f, kNaN, 0})}, {Bool({4}, {true, false, true, false})}, ""},
             {{1}, {F32({1}, {1e-45f})}, {Bool({1}, {true})}, ""}});
}

// On types that wrap, x + 87 isn't above x: no rule of monotone sums may apply.
TEST(Cases, D7_MaximaOfSumsThatWrap) {
  CheckCase({"n"}, "c: u8[$n]\nd: u8[$n]\noutput y = maximum(d, maximum(c, d) + 87)\n",
            {{{4},
              {Of<uint8_t>({4}, {170, 1, 255, 168}), Of<uint8_t>({4}, {3, 2, 255, 7})},
              {Of<uint8_t>({4}, {3, 89, 255, 255})},
              ""},
             {{1}, {Of<uint8_t>({1}, {169}), Of<uint8_t>({1}, {0})}, {Of<uint8_t>({1}, {0})}, ""}});
  constexpr int32_t kTop = std::numeric_limits<int32_t>::max();
  CheckCase({"n"}, "c: i32[$n]\nd: i32[$n]\noutput y = maximum(d, maximum(c, d) + 87)\n",
            {{{4},
              {I32({4}, {kTop - 86, 1, kTop, -5}), I32({4}, {3, 2, kTop, -7})},
              {I32({4}, {3, 89, kTop, 82})},
              ""},
             {{1}, {I32({1}, {kTop - 87}), I32({1}, {0})}, {I32({1}, {kTop})}, ""}});
}

TEST(Cases, C4_SumsOfIntegersWrap) {
  const auto ones = [](std::vector<int64_t> shape) {
    return Of<int8_t>(shape, std::vector<double>(static_cast<size_t>(shape[0] * shape[1]), 1));
  };
  // 200, and with every row added up 2 * 200: -56 and -112.
  CheckCase(
      {"n"}, R"(
x: i8[2, $n]
output rows = sum(x, axes=[1])
output all = sum(x, axes=[0, 1])
output wide = sum(cast(x, i32), axes=[1])
)",
      {{{200},
        {ones({2, 200})},
        {Of<int8_t>({2}, {-56, -56}), Of<int8_t>({}, {-112}), I32({2}, {200, 200})},
        ""},
       {{1}, {ones({2, 1})}, {Of<int8_t>({2}, {1, 1}), Of<int8_t>({}, {2}), I32({2}, {1, 1})}, ""},
       {{0},
        {ones({2, 0})},
        {Of<int8_t>({2}, {0, 0}), Of<int8_t>({}, {0}), I32({2}, {0, 0})},
        ""}});
  Tensor x(i32, {200});
  for (int64_t i = 0; i < 200; ++i) x.data<int32_t>()[i] = 1 << 24;
  const int32_t wrapped = static_cast<int32_t>(uint32_t{200} << 24);
  CheckCase({"n"}, "x: i32[$n]\noutput y = sum(x, axes=[0])\noutput p = prod(x, axes=[0])\n",
            {{{200}, {x}, {I32({}, {wrapped}), I32({}, {0})}, ""},
             {{1}, {I32({1}, {7})}, {I32({}, {7}), I32({}, {7})}, ""}});
  for (const char* type : {"i32[n]", "i8[0]"}) {
    const auto p =
        Program::parse(absl::StrCat("dim n\nx: ", type, "\noutput y = mean(x, axes=[0])\n"));
    ASSERT_FALSE(p.ok());
    EXPECT_NE(p.status().message().find("cast"), std::string::npos) << p.status();
  }
}

TEST(Cases, C5_SlicesToTheEndOfInt64) {
  CheckCase({"n"}, R"(
x: f32[$n]
output y = x[-3:9223372036854775807] + 0
output z = x[::-1] + 0
output w = x[-1:-9223372036854775807:-1]
)",
            {{{2}, {F32({2}, {1, 2})}, {F32({2}, {1, 2}), F32({2}, {2, 1}), F32({2}, {2, 1})}, ""},
             {{0}, {F32({0}, {})}, {F32({0}, {}), F32({0}, {}), F32({0}, {})}, ""},
             {{4},
              {F32({4}, {1, 2, 3, 4})},
              {F32({3}, {2, 3, 4}), F32({4}, {4, 3, 2, 1}), F32({4}, {4, 3, 2, 1})},
              ""}});
}

}  // namespace
}  // namespace lathe::whole
