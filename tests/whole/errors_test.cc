// Bad input at the public interface: an error that says what, where, found and wanted, and after
// each the function and the engine work as before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "tests/whole/case.h"

namespace lathe::whole {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class Errors : public testing::Test {
 protected:
  Errors()
      : f_(CompileText(engine_, R"(
dim n in 1..64, n % 2 == 0
dim m in 0..32
assume n*m <= 512
x: f32[n, m]
ids: i64[m]
w: f32[8, 3]
g = gather(w, ids, axis=0)
output y = x @ g
output z = relu(x)
)")) {}

  static std::vector<Tensor> Good() {
    return {Counted({2, 3}), I64({3}, {0, -1, 7}), Counted({8, 3})};
  }

  void ExpectWorks() {
    const auto out = f_.call(Good());
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_TRUE(ir::SameBits((*out)[0], F32({2, 3}, {63, 66, 69, 189, 201, 213})).ok())
        << (*out)[0].ToString();
    EXPECT_TRUE(ir::SameBits((*out)[1], Counted({2, 3})).ok());
  }

  void ExpectRefused(const std::vector<Tensor>& inputs, absl::StatusCode code,
                     const testing::Matcher<std::string>& text) {
    const absl::Status s = f_.call(inputs).status();
    EXPECT_EQ(s.code(), code) << s;
    EXPECT_THAT(std::string(s.message()), text);
    ExpectWorks();
  }

  Engine engine_{{.threads = 2, .background_compiles = false}};
  Function f_;
};

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kOutOfRange = absl::StatusCode::kOutOfRange;

TEST_F(Errors, WrongCountRankTypeOrExtent) {
  std::vector<Tensor> inputs = Good();
  inputs.pop_back();
  ExpectRefused(inputs, kInvalid, AllOf(HasSubstr("found 2"), HasSubstr("wanted 3")));
  ExpectRefused({}, kInvalid, HasSubstr("wanted 3"));
  inputs = Good();
  inputs[0] = Counted({6});
  ExpectRefused(inputs, kInvalid, AllOf(HasSubstr("x"), HasSubstr("rank 1"), HasSubstr("rank 2")));
  inputs = Good();
  inputs[1] = I32({3}, {0, 1, 2});
  ExpectRefused(inputs, kInvalid, AllOf(HasSubstr("ids"), HasSubstr("i32"), HasSubstr("i64")));
  inputs = Good();
  inputs[2] = Counted({9, 3});
  ExpectRefused(inputs, kInvalid, AllOf(HasSubstr("w"), HasSubstr("9"), HasSubstr("8")));
  inputs = Good();
  inputs[1] = I64({2}, {0, 1});
  ExpectRefused(inputs, kInvalid, AllOf(HasSubstr("ids"), HasSubstr("2"), HasSubstr("3")));
  inputs = Good();
  inputs[0] = Tensor::View(nullptr, f32, {2, 3});
  ExpectRefused(inputs, kInvalid, HasSubstr("null"));
}

TEST_F(Errors, SizesOutsideTheDeclaredFacts) {
  const auto sized = [](int64_t n, int64_t m) {
    return std::vector<Tensor>{Tensor(f32, {n, m}), Tensor(i64, {m}), Counted({8, 3})};
  };
  ExpectRefused(sized(66, 1), kInvalid, AllOf(HasSubstr("n"), HasSubstr("66"), HasSubstr("64")));
  ExpectRefused(sized(0, 1), kInvalid, HasSubstr("n"));
  ExpectRefused(sized(3, 1), kInvalid, HasSubstr("n % 2"));
  ExpectRefused(sized(2, 33), kInvalid, AllOf(HasSubstr("m"), HasSubstr("33")));
  ExpectRefused(sized(32, 17), kInvalid, AllOf(HasSubstr("512"), HasSubstr("544")));
  for (const Sizes& sizes : {Sizes{{"n", 3}, {"m", 1}}, Sizes{{"n", 2}}, Sizes{{"q", 2}},
                             Sizes{{"n", -2}, {"m", 1}}, Sizes{{"n", 2}, {"m", 1}, {"q", 1}}}) {
    EXPECT_FALSE(f_.peak_bytes(sizes).ok());
    EXPECT_FALSE(f_.output_shapes(sizes).ok());
    EXPECT_FALSE(f_.explain(sizes).ok());
    Context context;
    EXPECT_FALSE(f_.reserve(context, sizes).ok());
    ExpectWorks();
  }
}

TEST_F(Errors, AnIndexOutOfRangeNamesPositionAndBound) {
  for (int64_t bad : {int64_t{8}, int64_t{-9}, INT64_MAX, INT64_MIN}) {
    std::vector<Tensor> inputs = Good();
    inputs[1].data<int64_t>()[1] = bad;
    ExpectRefused(
        inputs, kOutOfRange,
        AllOf(HasSubstr("gather"), HasSubstr(absl::StrCat(bad)), HasSubstr("1"), HasSubstr("8")));
  }
}

TEST_F(Errors, OutputsThatDoNotFit) {
  const std::vector<Tensor> inputs = Good();
  Context context;
  const auto refused = [&](const std::vector<Tensor>& outputs, const std::string& text) {
    const absl::Status s = f_.call_into(inputs, outputs, context);
    EXPECT_EQ(s.code(), kInvalid) << s;
    EXPECT_THAT(std::string(s.message()), HasSubstr(text));
    ExpectWorks();
  };
  Tensor y(f32, {2, 3}), z(f32, {2, 3});
  refused({y}, "outputs");
  refused({y, Tensor(f32, {3, 2})}, "z");
  refused({y, Tensor(f64, {2, 3})}, "f64");
  refused({y, y}, "overlap");
  refused({y, inputs[0]}, "overlap");
  refused({y, Tensor::View(z.raw(), f32, {2, 3}, {1, 2})}, "z");
  const absl::Status s = f_.call_into(inputs, {y, z}, context);
  EXPECT_TRUE(s.ok()) << s;
}

TEST_F(Errors, ACallBeforePrepare) {
  const absl::StatusOr<Function> f =
      engine_.compile(Program::parse("dim n\nx: f32[n]\noutput y = exp(x)\n"));
  ASSERT_TRUE(f.ok()) << f.status();
  const absl::Status s = f->call({Counted({2})}).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kFailedPrecondition) << s;
  EXPECT_THAT(std::string(s.message()), HasSubstr("prepare"));
  EXPECT_FALSE(f->peak_bytes({{"n", 2}}).ok());
  EXPECT_FALSE(f->pin_version("generic").ok());
  ASSERT_TRUE(f->prepare().ok());
  EXPECT_TRUE(f->call({Counted({2})}).ok());
}

TEST_F(Errors, TextThatIsNoProgram) {
  std::string deep = "x";
  for (int i = 0; i < 100'000; ++i) deep = "(" + deep;
  std::string ifs = "dim n\nx: f32[n]\ny = ";
  for (int i = 0; i < 200; ++i) ifs += absl::StrCat("if n > ", i, " { yield x } else { yield ");
  for (const auto& [text, wanted] : std::vector<std::pair<std::string, std::string>>{
           {"dim n\nx: f32[n]\noutput y = frobnicate(x)\n", "frobnicate"},
           {"dim n\nx: f32[n]\noutput y = x + q\n", "q"},
           {"dim n\nx: f32[n]\noutput y = x @@ x\n", "3:"},
           {"dim n\nx: f8[n]\noutput y = x\n", "f8"},
           {"dim n\nx: f32[n, 4]\nk: i64[n, 4]\noutput y = x + k\n", "cast"},
           {"x: f32[2, 3]\ny: f32[2, 3]\noutput z = x @ y\n", "matmul"},
           {"x: f32[2]\noutput y = sum(x, axes=[3])\n", "axis"},
           {"dim n >= 5, n <= 4\nx: f32[n]\noutput y = x\n", "n"},
           {"x: f32[2]\noutput y = " + deep, "deep"},
           {ifs, ""},
           {"x: f32[99999999999999]\noutput y = x\n", "99999999999999"},
           {std::string(100, '\0'), ""}}) {
    absl::StatusOr<Function> f = engine_.compile(Program::parse(text));
    EXPECT_FALSE(f.ok()) << text.substr(0, 200);
    EXPECT_THAT(std::string(f.status().message()), HasSubstr(wanted));
  }
  ExpectWorks();
}

TEST_F(Errors, OptionsThatAreUnknown) {
  Engine broken({.cpu = "abacus"});
  const auto f = broken.compile(Program::parse("x: f32[2]\noutput y = exp(x)\n"));
  ASSERT_FALSE(f.ok());
  EXPECT_THAT(std::string(f.status().message()), AllOf(HasSubstr("abacus"), HasSubstr("avx2")));
  const auto g = engine_.compile(Program::parse("x: f32[2]\noutput y = exp(x)\n"),
                                 {.skip_passes = {"no_such_pass"}});
  EXPECT_FALSE(g.ok());
  EXPECT_THAT(std::string(g.status().message()), HasSubstr("no_such_pass"));
  ExpectWorks();
}

TEST_F(Errors, AnErrorOfTheTraceComesOutOfCompile) {
  Trace t("wrong");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n, 3});
  const Value y = matmul(x, t.input("y", f32, {4, 5}));
  const auto f = engine_.compile(t.finish({relu(y) + x}));
  ASSERT_FALSE(f.ok());
  EXPECT_THAT(std::string(f.status().message()),
              AllOf(HasSubstr("errors_test.cc"), HasSubstr("matmul")));
  ExpectWorks();
}

TEST_F(Errors, ProductsThatOverflow) {
  const Function f =
      CompileText(engine_,
                  "dim a, b\nx: f32[a]\ny: f32[b]\noutput z = sum(broadcast(sum(x, axes=[0]), "
                  "shape=[a*a*a, b*b*b], axes=[]), axes=[1])\n");
  const absl::Status s = f.call({Tensor(f32, {1 << 20}), Tensor(f32, {1 << 20})}).status();
  EXPECT_FALSE(s.ok());
  EXPECT_THAT(std::string(s.message()),
              AnyOf(HasSubstr("overflow"), HasSubstr("bytes"), HasSubstr("int64")));
  const auto out = f.call({Counted({2}), Counted({1})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].data<float>()[7], 1);
}

// The case T5: a long chain compiles if its kernels are alike, or meets a limit that is named
// before anything is compiled; never a crash, never an endless wait.
TEST_F(Errors, T5_AChainOfTwoHundredThousandOps) {
  Trace t("chain");
  const Dim n = t.dim("n");
  Value x = t.input("x", f32, {n});
  for (int i = 0; i < 100'000; ++i) x = relu(x) + 1.0;
  const absl::StatusOr<Function> f = engine_.compile(t.finish({x}));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  const auto out = f->call({F32({3}, {-5, 0, 7})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(ir::SameBits((*out)[0], F32({3}, {100'000, 100'000, 100'007})).ok());
  ExpectWorks();
}

TEST_F(Errors, TooManyDifferentKernels) {
  Trace t("chain");
  const Dim n = t.dim("n");
  Value x = t.input("x", f32, {n});
  for (int i = 0; i < 60'000; ++i) x = relu(x) + 1.0 * i;
  const absl::StatusOr<Function> f = engine_.compile(t.finish({x}));
  ASSERT_TRUE(f.ok()) << f.status();
  const int64_t compiles = engine_.counters().compiles;
  const absl::Status s = f->prepare();
  EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted) << s;
  EXPECT_THAT(std::string(s.message()), AllOf(HasSubstr("kernels"), HasSubstr("4096")));
  EXPECT_EQ(engine_.counters().compiles, compiles);
  ExpectWorks();
}

TEST_F(Errors, AChainOfAThousandOpsWorks) {
  Trace t("chain");
  const Dim n = t.dim("n");
  Value x = t.input("x", f32, {n});
  for (int i = 0; i < 500; ++i) x = relu(x) + (i % 2 == 0 ? 1.0 : 3.0);
  const absl::StatusOr<Function> f = engine_.compile(t.finish({x}));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  const auto out = f->call({F32({3}, {-5, 0, 7})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(ir::SameBits((*out)[0], F32({3}, {1000, 1000, 1007})).ok());
}

}  // namespace
}  // namespace lathe::whole
