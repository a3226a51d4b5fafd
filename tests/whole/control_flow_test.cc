// Control flow on sizes: both sides are traced with their facts, what is provable vanishes, the
// rest are regions inside one version, and no size becomes a constant that nobody asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "ir/samples.h"
#include "runtime/function_state.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using testing::HasSubstr;
using testing::Not;

// The function of the text, and the text's graph before any pass.
struct Traced {
  Traced(Engine& engine, const std::string& text, CompileOptions options = {})
      : function(CompileText(engine, text, options)), graph(*ir::Parse(text)) {}

  std::string Optimised() const { return ir::Print(function.state()->graph()); }

  Function function;
  ir::Graph graph;
};

TEST(ControlFlow, TwentyFourBranchesAreRegionsOfOneVersion) {
  std::string text = "dim n, m\nx: f32[n, m]\ny0 = x\n";
  for (int i = 0; i < 24; ++i) {
    const char* const claim = i % 3 == 0 ? "n > " : i % 3 == 1 ? "m >= " : "n*m < ";
    absl::StrAppend(&text, "y", i + 1, " = if ", claim, i, " { yield y", i, " + ", i + 1,
                    " } else { yield y", i, " * 2 }\n");
  }
  Engine engine({.threads = 1});
  const Traced t(engine, text + "output y24\n");
  t.function.wait_for_versions();
  EXPECT_EQ(t.function.versions().size(), 1u);
  const int64_t compiles = engine.counters().compiles;
  EXPECT_LE(compiles, 48) << "a kernel a side at most";
  for (const auto& [n, m] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 5}, {1, 1}, {2, 3}, {3, 8}, {8, 8}, {24, 1}, {1, 1}}) {
    const absl::Status s = CheckCall(t.function, t.graph, {Counted({n, m})}, /*exact=*/true,
                                     /*with_evaluator=*/n == 3);
    EXPECT_TRUE(s.ok()) << n << " x " << m << ": " << s;
  }
  t.function.wait_for_versions();
  EXPECT_EQ(t.function.versions().size(), 1u);
  EXPECT_EQ(engine.counters().compiles, compiles);
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
}

TEST(ControlFlow, AProvableBranchVanishesWithItsOtherSide) {
  Engine engine({.threads = 1});
  const Traced t(engine, R"(
dim n in 8..64, n % 8 == 0
x: f32[n]
a = if n >= 4 { yield exp(x) } else { yield sin(x) }
b = if n % 4 == 0 { yield a } else { yield cos(a) }
c = if n == 7 { yield tanh(b) } else { yield b + 1 }
output c
)");
  for (const char* gone : {"if ", "sin", "cos", "tanh"}) {
    EXPECT_THAT(t.Optimised(), Not(HasSubstr(gone)));
  }
  for (int64_t n : {8, 16, 64, 8}) {
    const absl::Status s = CheckCall(t.function, t.graph, {Counted({n})}, false, true);
    EXPECT_TRUE(s.ok()) << s;
  }
}

// Inside a side its condition is known: neither side's reshape is checked where it isn't taken.
TEST(ControlFlow, EachSideIsTracedWithItsFacts) {
  Engine engine({.threads = 1});
  const Traced t(engine, R"(
dim n
x: f32[n]
y = if n % 4 == 0 {
  r = reshape(x, [4, -1])
  yield sum(r * r, axes=[0, 1])
} else {
  yield sum(x, axes=[0]) * 100
}
output y
)");
  for (int64_t n : {0, 1, 2, 3, 4, 5, 8, 12, 4}) {
    const absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(t.graph, {Counted({n}, 1)});
    const absl::StatusOr<std::vector<Tensor>> found = t.function.call({Counted({n}, 1)});
    ASSERT_EQ(found.ok(), wanted.ok()) << n << ": " << found.status() << wanted.status();
    if (found.ok()) {
      EXPECT_TRUE(ir::SameBits((*found)[0], (*wanted)[0]).ok()) << n;
    }
  }
}

TEST(ControlFlow, TheDslTracesBothSides) {
  Trace t("f");
  const Dim n = t.dim("n", "1..64");
  const Value x = t.input("x", f32, {n, 4});
  const Value y = t.if_(
      Eq(Mod(n, 2), 0),
      [&] {
        return sum(reshape(x, {FloorDiv(n, 2), 2, 4}), {0, 1});
      },
      [&] { return sum(x, {0}) * 2; });
  Engine engine({.threads = 1});
  const absl::StatusOr<Function> f = engine.compile(t.finish({y}));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  const int64_t compiles = engine.counters().compiles;
  for (int64_t rows : {1, 2, 3, 4, 7, 8, 1}) {
    const absl::StatusOr<std::vector<Tensor>> out = f->call({Counted({rows, 4}, 1)});
    ASSERT_TRUE(out.ok()) << out.status();
    float first = 0;
    for (int64_t i = 0; i < rows; ++i) first += static_cast<float>(4 * i + 1);
    EXPECT_EQ((*out)[0].data<float>()[0], rows % 2 == 0 ? first : 2 * first) << rows;
  }
  EXPECT_EQ(engine.counters().compiles, compiles);
}

// Sizes 0, 1, 2, 3 and 8 in turn, in every op, with every size open: one generic version, and no
// compile after `prepare`.
class OneVersion : public testing::TestWithParam<int> {};

TEST_P(OneVersion, ServesTheSizesZeroOneTwoThreeEight) {
  Engine engine({.threads = 1, .background_compiles = false});
  for (DType dtype : {DType::kF32, DType::kI64, DType::kBool}) {
    for (const ir::OpSample& sample :
         ir::SamplesOf(static_cast<ir::Op>(GetParam()), dtype, {.symbolic = 0b1111u})) {
      if (!sample.status.ok()) continue;
      SCOPED_TRACE(absl::StrCat(sample.label, "\n", ir::Print(sample.graph)));
      const absl::StatusOr<Function> f =
          CompileGraph(engine, sample.graph, {.strategy = Strategy::kFullDynamic});
      ASSERT_TRUE(f.ok()) << f.status();
      const int64_t compiles = engine.counters().compiles;
      for (int64_t size : {0, 1, 2, 3, 8, 1, 0}) {
        const std::vector<int64_t> sizes(sample.slots.size(), size);
        const std::vector<Tensor> inputs = ir::SampleInputs(sample.graph, sizes, 1, true);
        // Whether a size is admitted is for the interpreter to say.
        const bool admitted = ir::Interpret(sample.graph, inputs).ok();
        EXPECT_EQ(f->call(inputs).ok(), admitted) << "size " << size;
      }
      EXPECT_EQ(f->versions().size(), 1u);
      EXPECT_EQ(engine.counters().compiles, compiles) << "a size was specialised silently";
    }
  }
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
}

INSTANTIATE_TEST_SUITE_P(Ops, OneVersion, testing::Range(0, ir::kNumOps),
                         [](const testing::TestParamInfo<int>& given) {
                           return std::string(ir::Name(static_cast<ir::Op>(given.param)));
                         });

}  // namespace
}  // namespace lathe::whole
