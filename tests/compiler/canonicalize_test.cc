// Every rewrite rule: what it makes of an expression, what looks like it and must stay, and that
// bits stay.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "compiler/passes/pass.h"
#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "ir/samples.h"
#include "tests/compiler/passes_util.h"

namespace lathe::compiler {
namespace {

constexpr const char* kHeader = R"(
dim n, m
x: f32[n, 4]
y: f32[n, 4]
p: bool[n, 4]
k: i32[n, 4]
j: i32[n, 4]
s: f32[]
v: f32[4]
b: f32[n, m, 4]
)";

struct RuleCase {
  const char* before;
  const char* after;
};

// What an expression becomes. Where both are the same, a rewrite that looks tempting would be
// wrong.
const RuleCase kRules[] = {
    // elementwise
    {"neg(neg(x))", "x"},
    {"not(not(p))", "p"},
    {"abs(abs(x))", "abs(x)"},
    {"abs(neg(x))", "abs(x)"},
    {"relu(relu(x))", "relu(x)"},
    {"round(round(x))", "round(x)"},
    {"sign(sign(x))", "sign(x)"},
    {"bit_not(bit_not(k))", "k"},
    {"bit_and(k, k)", "k"},
    {"pow(x, 1)", "x"},
    {"pow(k, 2)", "k * k"},
    {"pow(x, 2)", "x * x"},
    {"pow(x, 3)", "pow(x, 3)"},
    {"floor(floor(x))", "floor(x)"},
    {"maximum(x, 0)", "relu(x)"},
    {"maximum(0, k)", "relu(k)"},
    {"minimum(x, 0)", "minimum(x, 0)"},
    {"x * 1", "x"},
    {"1 * x", "x"},
    {"x / 1", "x"},
    {"k * 1", "k"},
    {"k // 1", "k"},
    {"x // 1", "x // 1"},
    {"x * -1", "-x"},
    {"k / -1", "-k"},
    {"x + 0", "x + 0"},  // -0 + 0 is 0
    {"x + -0.0", "x"},
    {"k + 0", "k"},
    {"x - 0", "x"},
    {"x - -0.0", "x - -0.0"},  // -0 - -0 is 0
    {"x * 0", "x * 0"},        // NaN, infinity, -0
    {"k - k", "k - k"},
    {"0 - x", "0 - x"},  // 0 - 0 is 0, -0 is not
    {"x / 4", "x * 0.25"},
    {"x / -0.5", "x * -2"},
    {"x / 3", "x / 3"},
    {"x / 0", "x / 0"},
    {"k / 4", "k / 4"},
    {"x + neg(y)", "x - y"},
    {"neg(x) + y", "y - x"},
    {"x - neg(y)", "x + y"},
    {"neg(x) * neg(y)", "x * y"},
    {"neg(x) / neg(y)", "x / y"},
    {"neg(k) / neg(j)", "neg(k) / neg(j)"},  // the least integer is its own negation
    {"maximum(x, x)", "x"},
    {"minimum(k, k)", "k"},
    {"p and p", "p"},
    {"p and true", "p"},
    {"false or p", "p"},
    {"select(p, x, x)", "x"},
    {"select(not(p), x, y)", "select(p, y, x)"},
    {"select(true, x, y)", "x"},
    {"select(false, x, y)", "y"},
    {"not(x == y)", "x != y"},
    {"not(k < j)", "k >= j"},
    {"not(x < y)", "not(x < y)"},  // NaN
    {"2 + x", "x + 2"},
    {"2 - x", "2 - x"},
    // casts
    {"cast(x, f32)", "x"},
    {"cast(cast(x, f64), f32)", "x"},
    {"cast(cast(k, i64), i32)", "k"},
    {"cast(cast(k, f64), f32)", "cast(k, f32)"},
    {"cast(cast(p, f32), i64)", "cast(p, i64)"},
    {"cast(cast(p, i32), bool)", "p"},
    {"cast(cast(k, f32), i32)", "cast(cast(k, f32), i32)"},  // f32 has 24 bits
    {"cast(cast(x, i32), f32)", "cast(cast(x, i32), f32)"},
    // views
    {"reshape(x, [n, 4])", "x"},
    {"reshape(reshape(x, [n, 2, 2]), [n, 4])", "x"},
    {"reshape(reshape(b, [n*m, 4]), [n, 4*m])", "reshape(b, [n, 4*m])"},
    {"broadcast(x, shape=[n, 1, 4, 1], axes=[0, 2])", "reshape(x, [n, 1, 4, 1])"},
    {"broadcast(reshape(x, [n, 1, 4]), shape=[n, m, 4])",
     "broadcast(x, shape=[n, m, 4], axes=[0, 2])"},
    {"broadcast(reshape(x, [n, 2, 2]), shape=[n, 2, 2])", "reshape(x, [n, 2, 2])"},
    {"broadcast(reshape(x, [n, 2, 2, 1]), shape=[n, 2, 2, m])",
     "broadcast(reshape(x, [n, 2, 2, 1]), shape=[n, 2, 2, m])"},
    {"reshape(reshape(x, [n, 1, 4]), [n, 4])", "x"},
    {"softmax(reshape(b, [n*m, 4]), axis=1)", "reshape(softmax(b, axis=2), [n*m, 4])"},
    {"softmax(reshape(b, [n*m, 4]), axis=0)", "softmax(reshape(b, [n*m, 4]), axis=0)"},
    {"softmax(reshape(b, [n, m*4]), axis=1)", "softmax(reshape(b, [n, m*4]), axis=1)"},
    {"permute(permute(b, axes=[1, 2, 0]), axes=[1, 2, 0])", "permute(b, axes=[2, 0, 1])"},
    {"permute(permute(x, axes=[1, 0]), axes=[1, 0])", "x"},
    {"permute(reshape(x, [n, 4, 1]), axes=[2, 0, 1])", "reshape(x, [1, n, 4])"},
    {"broadcast(x, shape=[n, 4])", "x"},
    {"broadcast(broadcast(v, shape=[n, 4]), shape=[m, n, 4])", "broadcast(v, shape=[m, n, 4])"},
    {"reshape(broadcast(s, shape=[n, 4]), [4*n])", "broadcast(s, shape=[4*n])"},
    {"permute(broadcast(s, shape=[n, 4]), axes=[1, 0])", "broadcast(s, shape=[4, n])"},
    {"broadcast(s, shape=[n, 4])[:, 1:3]", "broadcast(s, shape=[n, 2])"},
    {"x[:]", "x"},
    {"x[:, 1:4][:, 1:3]", "x[:, 2:4]"},
    {"x[:, 1:4][:, ::2]", "x[:, 1:4:2]"},
    {"x[:, ::2][:, 1:]", "x[:, ::2][:, 1:]"},
    {"concat(x, y, axis=1)[:, 4:8]", "y"},
    {"concat(x, y, axis=0)[0:n]", "x"},
    {"concat(x, y, axis=1)[:, 3:8]", "concat(x, y, axis=1)[:, 3:8]"},
    {"pad(x, low=[0, 0], high=[0, 0], value=0)", "x"},
    {"pad(pad(x, low=[1, 0], high=[0, 2], value=1), low=[0, n], high=[0, 0], value=1)",
     "pad(x, low=[1, n], high=[0, 2], value=1)"},
    {"pad(pad(x, low=[1, 0], high=[0, 0], value=0), low=[1, 0], high=[0, 0], value=-0.0)",
     "pad(pad(x, low=[1, 0], high=[0, 0], value=0), low=[1, 0], high=[0, 0], value=-0.0)"},
    {"concat(x, axis=0)", "x"},
    {"concat(x, y[:, 0:0], axis=1)", "x"},
    {"embedding(x, k)", "gather(x, k, axis=0)"},
};

TEST(CanonicalizeTest, EveryRuleRewritesAsItSaysAndNoFurther) {
  for (const RuleCase& c : kRules) {
    const std::string before = std::string(kHeader) + "output r = " + c.before + "\n";
    const std::string after = std::string(kHeader) + "output r = " + c.after + "\n";
    EXPECT_EQ(After(before, {Canonicalize}), Normal(after)) << c.before;
  }
}

// Bits on values that tell apart what rules might confuse.
TEST(CanonicalizeTest, EveryRuleKeepsTheBitsOfSpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> special = {0.0f,          -0.0f,  1.0f,    -1.5f,   inf,      -inf,
                                      std::nanf(""), 3e-45f, -1e-40f, 3.4e38f, -3.4e38f, 0.3f};
  const std::vector<int32_t> whole = {0, 1, -1, 5, -7, INT32_MIN, INT32_MAX, 2, -2, 3, 16777217, 4};
  const int64_t n = 3;
  for (const RuleCase& c : kRules) {
    const std::string text = std::string(kHeader) + "output r = " + c.before + "\n";
    ir::Graph before = Parsed(text), after = before.Clone();
    PassContext context;
    ASSERT_TRUE(Canonicalize(after, context).ok());
    std::vector<Tensor> inputs = ir::SampleInputs(before, std::vector<int64_t>{n, 2}, 1, false);
    for (int64_t i = 0; i < 4 * n; ++i) {
      const size_t at = static_cast<size_t>(i);
      inputs[0].data<float>()[i] = special[at];
      inputs[1].data<float>()[i] = special[(at * 5 + 3) % 12];
      if (std::string(c.before).find("embedding") != std::string::npos) continue;  // k: indices
      inputs[3].data<int32_t>()[i] = whole[at];
      inputs[4].data<int32_t>()[i] = whole[(at * 5 + 3) % 12];
    }
    absl::StatusOr<std::vector<Tensor>> a = ir::Interpret(before, inputs);
    absl::StatusOr<std::vector<Tensor>> b = ir::Interpret(after, inputs);
    ASSERT_TRUE(a.ok() && b.ok()) << c.before << a.status() << b.status();
    EXPECT_TRUE(ir::SameBits((*b)[0], (*a)[0]).ok())
        << c.before << ir::SameBits((*b)[0], (*a)[0]) << ir::Print(after);
  }
}

TEST(CanonicalizeTest, ElementwiseOfRepeatedScalarsIsARepeatedScalar) {
  const std::string before =
      std::string(kHeader) +
      "c = broadcast(constant(2.0), shape=[n, 4])\n"
      "d = broadcast(constant(3.0), shape=[n, 4])\noutput r = x * (c + d * d)\n";
  EXPECT_EQ(After(before, {Canonicalize}), Normal(std::string(kHeader) + "output r = x * 11\n"));
}

TEST(CanonicalizeTest, LongChainsTakeLinearTime) {
  ir::Graph g;
  ir::Builder b(&g);
  ir::ValueId v = *b.Input("x", {f32, {g.dims()->Symbol("n"), 4}});
  for (int i = 0; i < 200'000; ++i) {
    ir::Attrs attrs;
    attrs.axes = {1, 0};
    v = i % 2 == 0 ? *b.Create(ir::Op::k_neg, {v}) : *b.Create(ir::Op::k_permute, {v}, attrs);
  }
  ASSERT_TRUE(b.Output("y", v).ok());
  PassContext context;
  ASSERT_TRUE(RunPasses(g, context).ok());
  // neg and permute alternate: every second permute meets the one before it behind a neg.
  EXPECT_EQ(g.body.nodes.size(), 100'001u);
}

}  // namespace
}  // namespace lathe::compiler
