// Mistakes that only C++ can make: inputs that don't fit, and traces that fail. The whole text of
// each error; what its last line, or its hints, say is done by machine, and then the call works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/edit.h"
#include "ir/hint.h"
#include "lathe/lathe.h"

namespace lathe {
namespace {

using ir::Hint;

std::string Text(const absl::Status& s) { return std::string(s.message()); }

// A tensor of a type written as "i64[3, 4]".
Tensor MakeTensor(const std::string& type) {
  const size_t bracket = type.find('[');
  std::vector<int64_t> shape;
  const std::string extents = type.substr(bracket + 1, type.size() - bracket - 2);
  for (absl::string_view part : absl::StrSplit(extents, ", ", absl::SkipEmpty())) {
    std::from_chars(part.data(), part.data() + part.size(), shape.emplace_back());
  }
  for (DType dtype : {f32, f64, i32, i64, bool_}) {
    if (type.substr(0, bracket) == Name(dtype)) return Tensor(dtype, shape);
  }
  return Tensor();
}

class Calls : public testing::Test {
 protected:
  Calls() : f_(Compile(engine_)) {}

  static Function Compile(Engine& engine) {
    absl::StatusOr<Function> f = engine.compile(Program::parse(R"(
dim n in 1..64, n % 2 == 0
dim m in 0..32
assume n*m <= 512
x: f32[n, m]
k: i64[2*m]
w: f32[m, 3]
output y = x @ w
output z = k + 1
)",
                                                               "demo.lathe"));
    EXPECT_TRUE(f.ok() && f->prepare().ok()) << f.status();
    return *std::move(f);
  }

  static std::vector<Tensor> Inputs(int64_t n, int64_t m) {
    return {Tensor(f32, {n, m}), Tensor(i64, {2 * m}), Tensor(f32, {m, 3})};
  }

  // The call is refused with that text; after what its last line says, it isn't.
  void ExpectMended(std::vector<Tensor> inputs, const std::string& wanted) {
    const absl::Status error = f_.call(inputs).status();
    EXPECT_EQ(Text(error), wanted);
    std::string mend;
    ir::WithoutMend(Text(error), &mend);
    const std::vector<std::string> words = absl::StrSplit(mend, absl::MaxSplits(' ', 3));
    if (words[0] == "pass") {  // pass k as i64[6]
      ASSERT_EQ(words.size(), 4u) << mend;
      const size_t index = words[1] == "x" ? 0 : words[1] == "k" ? 1 : 2;
      inputs.resize(std::max(inputs.size(), index + 1));
      inputs[index] = MakeTensor(words[3]);
    } else {  // call with n = 64
      ASSERT_EQ(words[0], "call") << Text(error);
      int64_t n = inputs[0].shape()[0], m = inputs[0].shape()[1];
      const std::string value = words[3].substr(2);
      std::from_chars(value.data(), value.data() + value.size(), words[2] == "n" ? n : m);
      inputs = Inputs(n, m);
    }
    const absl::Status mended = f_.call(inputs).status();
    EXPECT_TRUE(mended.ok()) << mend << ": " << mended;
  }

  Engine engine_{{.threads = 1, .background_compiles = false}};
  Function f_;
};

TEST_F(Calls, AnInputIsMissing) {
  std::vector<Tensor> inputs = Inputs(2, 3);
  inputs.pop_back();
  ExpectMended(inputs,
               "found 2 inputs, wanted 3: x f32[n, m], k i64[2*m], w f32[m, 3]\n"
               "to mend it: pass w as f32[3, 3]");
}

TEST_F(Calls, AnInputOfAnotherType) {
  std::vector<Tensor> inputs = Inputs(2, 3);
  inputs[1] = Tensor(i32, {6});
  ExpectMended(inputs,
               "input k: found i32[6], wanted type i64 (i64[2*m])\nto mend it: pass k as i64[6]");
}

TEST_F(Calls, AnInputOfAnotherRank) {
  std::vector<Tensor> inputs = Inputs(2, 3);
  inputs[2] = Tensor(f32, {9});
  ExpectMended(inputs,
               "input w: found rank 1 (f32[9]), wanted rank 2 (f32[m, 3])\n"
               "to mend it: pass w as f32[3, 3]");
}

TEST_F(Calls, AnExtentThatIsFixed) {
  std::vector<Tensor> inputs = Inputs(2, 3);
  inputs[2] = Tensor(f32, {3, 4});
  ExpectMended(inputs,
               "input w: axis 1 has extent 4, wanted 3 (f32[m, 3])\n"
               "to mend it: pass w as f32[3, 3]");
}

TEST_F(Calls, TwoInputsThatDisagreeOnASize) {
  std::vector<Tensor> inputs = Inputs(2, 3);
  inputs[2] = Tensor(f32, {5, 3});
  ExpectMended(inputs,
               "input w: axis 0 has extent 5, wanted m = 3 (axis 1 of input x) (f32[m, 3])\n"
               "to mend it: pass w as f32[3, 3]");
}

TEST_F(Calls, AnExtentThatIsAFormulaOfASize) {
  std::vector<Tensor> inputs = Inputs(2, 3);
  inputs[1] = Tensor(i64, {7});
  ExpectMended(inputs,
               "input k: axis 0 has extent 7, wanted 2*m = 6 with m = 3 (axis 1 of input x) "
               "(i64[2*m])\nto mend it: pass k as i64[6]");
}

TEST_F(Calls, ASizeBeyondItsBound) {
  ExpectMended(Inputs(66, 2),
               "`n <= 64` is violated: n = 66 (axis 0 of input x); declared by dim n "
               "(demo.lathe:2:7)\nto mend it: call with n = 64");
}

TEST_F(Calls, ASizeThatIsNoMultiple) {
  ExpectMended(Inputs(3, 2),
               "`n % 2 == 0` is violated: n = 3 (axis 0 of input x), remainder 1; declared by "
               "dim n (demo.lathe:2:17)\nto mend it: call with n = 4");
}

TEST_F(Calls, SizesWhoseProductIsTooLarge) {
  ExpectMended(Inputs(32, 17),
               "`n*m <= 512` is violated: n = 32 (axis 0 of input x), m = 17 (axis 1 of input x), "
               "n*m = 544; declared by assume (demo.lathe:4:8)\nto mend it: call with m = 16");
}

TEST_F(Calls, ASizeBeyondTheLimitOfAllSizes) {
  absl::StatusOr<Function> f = engine_.compile(Program::parse("x: f32[n]\noutput y = sum(x)\n"));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  float one = 1;
  const absl::Status error =
      f->call({Tensor::View(&one, f32, {(int64_t{1} << 40) + 1}, {0})}).status();
  EXPECT_EQ(Text(error),
            "n = 1099511627777 (axis 0 of input x) is more than 2^40 = 1099511627776, the limit of "
            "a size\nto mend it: call with n = 1099511627776");
}

// A trace says the file and the line; what it hints at can be done by machine.
TEST(Traces, MixedTypesAreCastAsTheHintSays) {
  for (bool mended : {false, true}) {
    Trace t("f");
    const Value x = t.input("x", f32, {4});
    Value k = t.input("k", i64, {4});
    if (mended) k = cast(k, f32);
    const Value y = x + k;
    const absl::Status s = t.finish({y}).status();
    EXPECT_EQ(s.ok(), mended) << s;
    if (mended) continue;
    EXPECT_THAT(Text(s), testing::MatchesRegex(
                             "add at call_test.cc:[0-9]+: operands 0 and 1 are f32 and i64; wanted "
                             "one type: cast one of them, as in cast\\(x, dtype=f32\\)\n"
                             "to mend it: write cast\\(operand 1, dtype=f32\\)"));
    ASSERT_FALSE(ir::HintsOf(s).empty());
    EXPECT_EQ(ir::HintsOf(s)[0].kind, Hint::Kind::kWrap);
    EXPECT_EQ(ir::HintsOf(s)[0].index, 1);
  }
}

TEST(Traces, AnAxisIsReplacedAsTheHintSays) {
  int axis = 5;
  for (int turn = 0; turn < 2; ++turn) {
    Trace t("f");
    const absl::Status s = t.finish({sum(t.input("x", f32, {4, 2}), {axis})}).status();
    EXPECT_EQ(s.ok(), turn == 1) << s;
    if (s.ok()) continue;
    EXPECT_THAT(Text(s), testing::HasSubstr("to mend it: write 1 in place of 5"));
    const std::string b = ir::HintsOf(s)[0].b;
    std::from_chars(b.data(), b.data() + b.size(), axis);
  }
}

TEST(Traces, SidesThatDifferAreDeclaredEqualAsTheHintSays) {
  std::string declare;
  for (int turn = 0; turn < 2; ++turn) {
    Trace t("f");
    const Dim n = t.dim("n"), m = t.dim("m");
    if (!declare.empty()) t.assume(declare);
    const Value x = t.input("x", f32, {n}), y = t.input("y", f32, {m});
    const Value z = t.if_(
        n > 3, [&] { return x; }, [&] { return y; });
    const absl::Status s = t.finish({z}).status();
    EXPECT_EQ(s.ok(), turn == 1) << s;
    if (s.ok()) continue;
    EXPECT_THAT(Text(s), testing::HasSubstr("to mend it: declare it: assume(\"n == m\")"));
    declare = ir::HintsOf(s)[0].a;
  }
}

TEST(Traces, FactsThatContradictNameBothLines) {
  Trace t("f");
  t.dim("n", "1..8");
  t.assume("n >= 16");
  EXPECT_THAT(Text(t.status()),
              testing::MatchesRegex(
                  "assume at call_test.cc:[0-9]+: these facts about sizes can't hold together:\n"
                  "  n <= 8  \\[declared: dim n at call_test.cc:[0-9]+\\]\n"
                  "  16 <= n  \\[declared: assume at call_test.cc:[0-9]+\\]\n"
                  "to mend it: change \"16 <= n\" \\(assume\\) to \"8 <= n\""));
}

}  // namespace
}  // namespace lathe
