// The text form: what statements mean, and that Parse(Print(g)) is g.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/builder.h"
#include "ir/graph.h"
#include "ir/lexer.h"
#include "ir/samples.h"
#include "ir/text_parser.h"

namespace lathe::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph ParseOrDie(std::string_view text) {
  auto g = Parse(text, "test");
  EXPECT_TRUE(g.ok()) << g.status() << "\nin:\n" << text;
  return g.ok() ? *std::move(g) : Graph();
}

// Prints, parses, and expects an equal graph that prints the same.
void ExpectRoundTrip(const Graph& g) {
  const std::string text = Print(g);
  auto again = Parse(text, "printed");
  ASSERT_TRUE(again.ok()) << again.status() << "\nin:\n" << text;
  EXPECT_EQ(Print(*again), text);
  EXPECT_TRUE(Equal(g, *again)) << text;
  EXPECT_TRUE(Verify(*again).ok()) << Verify(*again) << "\n" << text;
}

// The graph of a text; what is printed for it is expected to be `printed`.
void ExpectPrints(std::string_view text, const std::string& printed) {
  const Graph g = ParseOrDie(text);
  EXPECT_EQ(Print(g), printed);
  ExpectRoundTrip(g);
}

const Node& Named(const Graph& g, std::string_view name) {
  for (ValueId v = 0; v < g.num_nodes(); ++v) {
    if (g.node(v).name == name) return g.node(v);
  }
  ADD_FAILURE() << "no value named " << name << " in\n" << Print(g);
  return g.node(0);
}

TEST(Text, ExampleOfTheDesign) {
  const Graph g = ParseOrDie(
      "dim batch in 1..64; dim seq in 1..8192, seq % 8 == 0\n"
      "x: f32[batch, seq, 768] ; w = randn([768, 10], seed=1)\n"
      "y = softmax(x @ w, axis=-1)\n"
      "output y\n");
  EXPECT_EQ(Named(g, "y").type.ToString(), "f32[batch, seq, 10]");
  EXPECT_EQ(Print(g),
            "dim batch in 1..64\n"
            "dim seq in 1..8192, seq % 8 == 0\n"
            "x: f32[batch, seq, 768]\n"
            "w: f32[768, 10] = random(shape=[768, 10], seed=1, distribution=\"normal\", "
            "dtype=f32)\n"
            "%2: f32[batch, seq, 10] = matmul(x, w)\n"
            "y: f32[batch, seq, 10] = softmax(%2, axis=2)\n"
            "output y\n");
  ExpectRoundTrip(g);
}

TEST(Text, FactsOfDimStatementsAndShapesAreDeclared) {
  const Graph g = ParseOrDie(
      "dim a in {1, 2, 4}\n dim b >= 3\n dim c <= 9, d, e in 2..5\n dim m % 4 == 0\n"
      "assume a*b <= 100, 1 <= d <= 7\n"
      "x: f32[a, n<=64, 2*p, k % 8 == 0, q in {3, 5}, r in 1..6, 2 <= s, ?, ?<=7]\n"
      "output x\n");
  auto proves = [&](const char* claim) {
    auto claims = dim::ParseClaims(claim, g.dims(), /*make_symbols=*/false);
    EXPECT_TRUE(claims.ok()) << claims.status();
    for (const Claim& c : *claims) {
      if (!g.facts().Proves(c)) return false;
    }
    return true;
  };
  for (const char* claim :
       {"a in {1, 2, 4}", "b >= 3", "c <= 9", "d <= 7", "d >= 1", "e >= 2", "e <= 5", "m % 4 == 0",
        "a*b <= 100", "n <= 64", "k % 8 == 0", "q in {3, 5}", "r <= 6", "s >= 2", "x_d8 <= 7"}) {
    EXPECT_TRUE(proves(claim)) << claim << "\n" << Print(g);
  }
  EXPECT_FALSE(proves("x_d7 <= 7"));
  EXPECT_EQ(g.type(g.inputs[0]).ToString(), "f32[a, n, 2*p, k, q, r, s, x_d7, x_d8]");
  ExpectRoundTrip(g);
}

TEST(Text, FactsPrintOnTheLineOfTheirDim) {
  ExpectPrints(
      "dim b in {1,2}; dim n <= 8; dim m >= 2; dim k; dim j in 1..4, j % 2 == 0\n"
      "assume n <= m + k\n output size(b*n)",
      "dim b in {1, 2}\ndim n <= 8\ndim m\nassume 2 <= m\ndim k\ndim j in 1..4, j % 2 == 0\n"
      "assume n <= m + k\n"
      "%0: i64[] = size(dim=b*n)\noutput output0 = %0\n");
}

TEST(Text, InfixOperatorsMapToOpsByPrecedence) {
  const Graph g = ParseOrDie(
      "x: f32[n, 4]; k: i64[n]; p: bool[n]\n"
      "a = 1 - x * -x + x / x\n"
      "b = k // 3 % 5 * 2\n"
      "c = not p and p or k < 3\n"
      "d = (x + x) @ constant(f32[4]{1, 2, 3, 4})\n"
      "e = x >= x; f = x != x; h = x <= x; i = x > x; j = x == x; q = 2.5e0 * x\n");
  EXPECT_EQ(Named(g, "a").op, Op::k_add);
  EXPECT_EQ(g.node(Named(g, "a").operands[0]).op, Op::k_sub);
  EXPECT_EQ(g.node(Named(g, "a").operands[1]).op, Op::k_div);
  EXPECT_EQ(Named(g, "b").op, Op::k_mul);
  EXPECT_EQ(g.node(Named(g, "b").operands[0]).op, Op::k_mod);
  EXPECT_EQ(Named(g, "c").op, Op::k_or);
  EXPECT_EQ(g.node(Named(g, "c").operands[0]).op, Op::k_and);
  EXPECT_EQ(Named(g, "d").type.ToString(), "f32[n]");
  EXPECT_EQ(Named(g, "e").op, Op::k_ge);
  EXPECT_EQ(Named(g, "f").op, Op::k_ne);
  EXPECT_EQ(Named(g, "h").op, Op::k_le);
  EXPECT_EQ(Named(g, "i").op, Op::k_gt);
  EXPECT_EQ(Named(g, "j").op, Op::k_eq);
  EXPECT_EQ(Named(g, "j").type.dtype, DType::kBool);
  ExpectRoundTrip(g);
}

TEST(Text, LiteralsTakeTheTypeOfTheOtherOperand) {
  const Graph g = ParseOrDie(
      "x: f64[n]; k: i32[n]; p: bool[n]\n"
      "a = x * 2; b = 2 + k; c = maximum(x, 0); d = select(p, k, -1); e = select(p, 1.5, x)\n"
      "f = 3; h = 2.5; i = x / n; j = 7 // 2 * n; l = 1/4; m = 1.0 / n; o = k + n; z = x * -0\n");
  auto type = [&](const char* name) { return Named(g, name).type.ToString(); };
  EXPECT_EQ(type("a"), "f64[n]");
  EXPECT_EQ(type("b"), "i32[n]");
  EXPECT_EQ(type("c"), "f64[n]");
  EXPECT_EQ(type("d"), "i32[n]");
  EXPECT_EQ(type("e"), "f64[n]");
  EXPECT_EQ(type("f"), "i64[]");
  EXPECT_EQ(type("h"), "f32[]");
  EXPECT_EQ(type("i"), "f64[n]");
  EXPECT_EQ(type("j"), "i64[]");
  EXPECT_EQ(Named(g, "j").attrs.dim->ToString(), "3*n");
  EXPECT_EQ(*Named(g, "l").attrs.tensor.data<float>(), 0.25f);
  EXPECT_EQ(type("m"), "f32[]");
  EXPECT_EQ(type("o"), "i32[n]");
  ExpectRoundTrip(g);
}

TEST(Text, SlicesFollowNumpy) {
  const Graph g = ParseOrDie(
      "x: f32[6, 5, 4]; y: f32[n>=3, 5]\n"
      "a = x[0:4]; b = x[:, 1:]; c = x[::2, ::-1]; d = x[1]; e = x[-1, :, 2]; f = x[-3:, :2]\n"
      "h = y[1:n]; i = y[0]; j = x[1, 2, 3]; k = x[9:]; l = x[:]; m = y[-1]\n");
  auto type = [&](const char* name) { return Named(g, name).type.ToString(); };
  EXPECT_EQ(type("a"), "f32[4, 5, 4]");
  EXPECT_EQ(type("b"), "f32[6, 4, 4]");
  EXPECT_EQ(type("c"), "f32[3, 5, 4]");
  EXPECT_EQ(type("d"), "f32[5, 4]");
  EXPECT_EQ(type("e"), "f32[5]");
  EXPECT_EQ(type("f"), "f32[3, 2, 4]");
  EXPECT_EQ(type("h"), "f32[n - 1, 5]");
  EXPECT_EQ(type("i"), "f32[5]");
  EXPECT_EQ(type("j"), "f32[]");
  EXPECT_EQ(type("k"), "f32[0, 5, 4]");
  EXPECT_EQ(type("m"), "f32[5]");
  ExpectRoundTrip(g);
}

TEST(Text, AttributesMayGoWithoutTheirNames) {
  const Graph g = ParseOrDie(
      "x: f32[n, 4]\n"
      "a = softmax(x, -1); b = cast(x, i32); c = reshape(x, [-1, 2]); d = sum(x, axis=1)\n"
      "e = sum(x, [0, 1], true); f = permute(x, [1, 0]); h = broadcast(x, [3, n, 4]); i = mean(x, "
      "0)\n"
      "j = size(4*n); k = rand([n]); l = rand([n], dtype=f64, seed=7)\n");
  auto type = [&](const char* name) { return Named(g, name).type.ToString(); };
  EXPECT_EQ(type("a"), "f32[n, 4]");
  EXPECT_EQ(type("b"), "i32[n, 4]");
  EXPECT_EQ(type("c"), "f32[2*n, 2]");
  EXPECT_EQ(type("d"), "f32[n]");
  EXPECT_EQ(type("e"), "f32[1, 1]");
  EXPECT_EQ(type("f"), "f32[4, n]");
  EXPECT_EQ(type("h"), "f32[3, n, 4]");
  EXPECT_EQ(type("i"), "f32[4]");
  EXPECT_EQ(type("l"), "f64[n]");
  EXPECT_EQ(Named(g, "l").attrs.seed, 7);
  EXPECT_EQ(Named(g, "k").attrs.distribution, "uniform");
  ExpectRoundTrip(g);
}

TEST(Text, IfBuildsBothSidesWithNamesOfTheirOwn) {
  const std::string printed =
      "dim seq in 1..64\n"
      "x: f32[seq]\n"
      "z: f32[seq] = if 11 <= seq {\n"
      "  a: f32[seq] = relu(x)\n"
      "  yield a\n"
      "} else {\n"
      "  %2 \"a\": f32[seq] = neg(x)\n"
      "  %3: f32[seq] = if seq == 3 {\n"
      "    yield x\n"
      "  } else {\n"
      "    yield %2\n"
      "  }\n"
      "  yield %3\n"
      "}\n"
      "output z\n";
  Graph g = ParseOrDie(
      "x: f32[seq in 1..64]\n"
      "z = if seq > 10 { a = relu(x); yield a }\n"
      "else { a = -x\n  yield if seq == 3 { yield x } else { yield a } }\n"
      "output z");
  std::string found = Print(g);
  // `seq > 10` may be kept as it was written or in another form of the same claim.
  const size_t at = found.find("if ");
  const size_t end = found.find(" {", at);
  found.replace(at, end - at, "if 11 <= seq");
  EXPECT_EQ(found, printed);
  ExpectRoundTrip(g);
  ExpectRoundTrip(ParseOrDie(
      "x: f32[n]; z = if n == 1 { yield x } else if n in {2, 3} { yield neg(x) } else { yield x "
      "}\noutput z"));
}

TEST(Text, ConstantsKeepEveryBit) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Graph g;
  Builder b(&g);
  const auto nan = std::bit_cast<float>(uint32_t{0x7fc00001});
  const auto negative_nan = std::bit_cast<float>(uint32_t{0xffc00000});
  const auto signaling = std::bit_cast<float>(uint32_t{0x7fa00000});
  ASSERT_TRUE(b.Constant(Tensor::FromVector<float>(
                             {2, 8}, {0.1f, -0.0f, 0.0f, kInf, -kInf, std::nanf(""), nan,
                                      negative_nan, signaling, 1e-45f, 3.4028235e38f, 1.0f / 3,
                                      16777216, 1e10f, -2.5f, 8.8162e-39f}))
                  .ok());
  ASSERT_TRUE(b.Constant(Tensor::FromVector<double>(
                             {4}, {0.1, 5e-324, -1.7976931348623157e308, std::nan("")}))
                  .ok());
  ASSERT_TRUE(b.Constant(Tensor::FromVector<int64_t>({3}, {INT64_MIN, INT64_MAX, -1})).ok());
  ASSERT_TRUE(b.Constant(Tensor::FromVector<int32_t>({2}, {INT32_MIN, INT32_MAX})).ok());
  ASSERT_TRUE(b.Constant(Tensor::FromVector<bool>({3}, {true, false, true})).ok());
  for (DType t : {f16, bf16}) {  // all of them, NaN included
    Tensor all(t, {65536});
    for (int i = 0; i < 65536; ++i) all.data<uint16_t>()[i] = static_cast<uint16_t>(i);
    ASSERT_TRUE(b.Constant(all).ok());
  }
  for (DType t : {i8, i16, u8, u16, u32, u64}) {
    Tensor ends(t, {2});
    std::memset(ends.raw(), 0xff, static_cast<size_t>(ends.num_bytes()));
    std::memset(ends.raw(), 0x80, 1);
    ASSERT_TRUE(b.Constant(ends).ok());
  }
  ASSERT_TRUE(b.Constant(Tensor(DType::kF32, {1000})).ok());
  ASSERT_TRUE(b.Constant(Tensor(DType::kF32, {0, 3})).ok());
  ASSERT_TRUE(b.ScalarConstant(DType::kF64, 2.5).ok());
  ExpectRoundTrip(g);
  EXPECT_THAT(Print(g), HasSubstr("f32[1000]{0*1000}"));
  EXPECT_THAT(Print(g), HasSubstr("nan(0x7fc00001)"));
}

TEST(Text, ConstantsReadHexadecimalAndRuns) {
  const Graph g = ParseOrDie(
      "a = constant(f32[4]{0x1.8p3, -0x1p-149, 0x10, +1})\n"
      "b = constant(i32[2, 3]{0x7f*2,\n  -1, 2*3,\n})\n"
      "c = constant(bool[4]{true, 0, 1, false})\n"
      "d = constant(-inf)\n");
  const Tensor& a = Named(g, "a").attrs.tensor;
  EXPECT_EQ(a.data<float>()[0], 12.0f);
  EXPECT_EQ(a.data<float>()[1], -1.401298464324817e-45f);
  EXPECT_EQ(a.data<float>()[2], 16.0f);
  const Tensor& b = Named(g, "b").attrs.tensor;
  EXPECT_EQ(std::vector<int32_t>(b.data<int32_t>(), b.data<int32_t>() + 6),
            (std::vector<int32_t>{127, 127, -1, 2, 2, 2}));
  EXPECT_TRUE(Named(g, "c").attrs.tensor.data<bool>()[2]);
  EXPECT_EQ(*Named(g, "d").attrs.tensor.data<float>(), -std::numeric_limits<float>::infinity());
}

TEST(Text, NamesThatAreNoIdentifiersSurvive) {
  Graph g;
  Builder b(&g);
  const Dim n = g.dims()->Symbol("n");
  g.name = "my model/v2 \"x\"\n";
  const ValueId x = *b.Input("dim", {DType::kF32, {n}});
  const ValueId y = *b.Create(Op::k_relu, {x});
  b.SetName(y, "encoder/layer 0:\t\\\x01");
  const ValueId z = *b.Create(Op::k_relu, {y});
  b.SetName(z, "dim");
  const ValueId w = *b.Create(Op::k_relu, {z});
  b.SetName(w, "w");
  const ValueId w2 = *b.Create(Op::k_relu, {w});
  b.SetName(w2, "w");
  ASSERT_TRUE(b.Output("if", w2).ok());
  ASSERT_TRUE(b.Output("w", w2).ok());
  ASSERT_TRUE(b.Output("v", w).ok());
  ExpectRoundTrip(g);
  EXPECT_THAT(Print(g), HasSubstr("%4 \"w\": f32[n] = relu(w)"));
}

TEST(Text, InputsKeepTheOrderOfTheCall) {
  Graph g;
  Builder b(&g);
  const ValueId x = *b.Input("x", {DType::kF32, {2}});
  const ValueId y = *b.Input("y", {DType::kF32, {2}});
  ASSERT_TRUE(b.Output("z", *b.Binary(Op::k_sub, x, y)).ok());
  std::swap(g.inputs[0], g.inputs[1]);
  const Graph again = ParseOrDie(Print(g));
  ASSERT_EQ(again.inputs.size(), 2u);
  EXPECT_EQ(again.node(again.inputs[0]).name, "y");
  ExpectRoundTrip(again);
}

TEST(Text, TypeOfADefinitionIsCheckedAndKept) {
  const Graph g =
      ParseOrDie("dim n; dim m; assume n == m\nx: f32[n]\ny: f32[m] = relu(x)\noutput y\n");
  EXPECT_EQ(Named(g, "y").type.ToString(), "f32[m]");
  ExpectRoundTrip(g);
}

TEST(Text, EveryExampleOfTheOpTableReadsAndPrints) {
  const std::string context =
      "dim n in 8..64; x: f32[n, 4]; w: f32[4, 8]; w4: f32[4]; k: i64[n]; p: bool[n, 4]\n"
      "q: f32[2, n, 16]; dim b; r: f32[b, ~seq, 4]\n";
  for (const OpInfo& row : AllOps()) {
    SCOPED_TRACE(std::string(row.name));
    const std::string given = row.op == Op::k_input ? "" : context;
    const Graph g = ParseOrDie(given + std::string(row.example));
    bool found = false;
    for (ValueId v = 0; v < g.num_nodes(); ++v) found |= g.node(v).op == row.op;
    EXPECT_TRUE(found) << row.example;
    ExpectRoundTrip(g);
  }
}

TEST(Text, EverySampleOfEveryOpRoundTrips) {
  for (const OpInfo& row : AllOps()) {
    for (DType dtype : {DType::kBool, DType::kI32, DType::kI64, DType::kF32, DType::kF64}) {
      for (uint32_t symbolic : {0u, 1u, 2u, 5u, 10u, 15u}) {
        for (const OpSample& s : SamplesOf(row.op, dtype, {.symbolic = symbolic})) {
          if (!s.status.ok()) continue;
          SCOPED_TRACE(absl::StrCat(s.label, " ", Name(dtype), " symbolic ", symbolic));
          ExpectRoundTrip(s.graph);
        }
      }
    }
  }
}

TEST(Text, LongChainsNeedNoStack) {
  std::string text = "x: f32[n]\nv0 = relu(x)\n";
  for (int i = 1; i < 50000; ++i) absl::StrAppend(&text, "v", i, " = relu(v", i - 1, ")\n");
  absl::StrAppend(&text, "output v49999\n");
  std::string sum = "s = x";
  for (int i = 0; i < 5000; ++i) sum += " + x";
  const Graph g = ParseOrDie(text + sum + "\n");
  EXPECT_EQ(g.num_nodes(), 55001u);
  const std::string printed = Print(g);
  const Graph again = ParseOrDie(printed);
  EXPECT_EQ(Print(again), printed);
}

TEST(TextSession, ExecutesStatementByStatement) {
  Graph g;
  TextSession s(&g, "repl");
  auto r = s.Execute("dim seq in 1..8192");
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ(r->kind, StatementKind::kDim);
  EXPECT_EQ(r->name, "seq");
  r = s.Execute("x: f32[seq, 768]");
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ(r->kind, StatementKind::kInput);
  EXPECT_EQ(r->value, *s.Find("x"));
  r = s.Execute("y = relu(x)");
  ASSERT_TRUE(r.ok());
  const ValueId first = r->value;
  r = s.Execute("y = y + 1  # again");
  ASSERT_TRUE(r.ok());
  EXPECT_NE(*s.Find("y"), first);
  r = s.Execute("softmax(y)");
  EXPECT_FALSE(r.ok());
  r = s.Execute("softmax(y, axis=1)");
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ(r->kind, StatementKind::kValue);
  EXPECT_EQ(g.type(r->value).ToString(), "f32[seq, 768]");
  r = s.Execute("output y");
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->kind, StatementKind::kOutput);
  EXPECT_THAT(s.ValueNames(), ElementsAre("x", "y"));
  EXPECT_THAT(s.DimNames(), ElementsAre("seq"));
  EXPECT_EQ(s.ParseDim("seq * 2 + 1")->ToString(), "2*seq + 1");
  EXPECT_TRUE(g.facts().Proves((*s.ParseClaims("seq * 2 >= 2"))[0]));
  EXPECT_FALSE(s.ParseDim("sek").ok());
  ExpectRoundTrip(g);
}

TEST(TextSession, KnowsTheValuesOfAGraphThatWasThere) {
  Graph g = ParseOrDie("x: f32[n]\ny = relu(x)\n");
  TextSession s(&g);
  ASSERT_TRUE(s.Execute("z = y + x").ok());
  EXPECT_EQ(g.type(*s.Find("z")).ToString(), "f32[n]");
}

TEST(TextSession, AFailedStatementChangesNothing) {
  Graph g;
  TextSession s(&g);
  for (const char* text : {"dim n in 1..64", "x: f32[n, 4]", "y = relu(x)", "output y"}) {
    ASSERT_TRUE(s.Execute(text).ok()) << text;
  }
  const std::string before = Print(g);
  const size_t facts = g.facts().facts().size();
  for (const char* text :
       {"z = relu(x) + relu(nope)", "y = relu(x) @ x @", "dim m in 1..8, m % 0 == 0, (", "output q",
        "w: f32[k<=8, n<=3, oops(]", "z = if n > 3 { a = relu(x); yield a } else { yield }",
        "program p q", "x: f32[2]", "output y; output y", "y: f32[r<=3, n] = relu(x)",
        "assume n <= 8, n >= 9", "y = reshape(x, [-1, 7]) + nope", "v: f32[u] = relu(x)", "",
        ";"}) {
    auto r = s.Execute(text);
    EXPECT_FALSE(r.ok()) << text;
    EXPECT_EQ(Print(g), before) << text;
    EXPECT_EQ(g.facts().facts().size(), facts) << text;
    EXPECT_THAT(s.ValueNames(), ElementsAre("x", "y")) << text;
    EXPECT_THAT(s.DimNames(), ElementsAre("n")) << text;
  }
  ASSERT_TRUE(s.Execute("z = relu(y)").ok());
  EXPECT_TRUE(Verify(g).ok()) << Verify(g);
}

TEST(StatementReader, SplitsAtLinesAndSemicolonsOutsideBrackets) {
  StatementReader r(
      "dim n; x: f32[n,\n 4] # comment; here\n\n  :run x n=3 (\n"
      "z = if n > 3 { a = 1;\n yield a }\n # still\n else { yield x } ; w = \"a;b\"\nlast");
  std::vector<std::string> texts;
  std::vector<int> lines;
  for (;;) {
    const StatementText t = r.Next();
    if (t.text.empty()) break;
    texts.emplace_back(t.text);
    lines.push_back(t.line);
    EXPECT_FALSE(t.needs_more) << t.text;
  }
  EXPECT_THAT(texts, ElementsAre("dim n", "x: f32[n,\n 4]", ":run x n=3 (",
                                 "z = if n > 3 { a = 1;\n yield a }\n # still\n else { yield x }",
                                 "w = \"a;b\"", "last"));
  EXPECT_THAT(lines, ElementsAre(1, 1, 4, 5, 8, 9));
}

TEST(StatementReader, SaysWhenMoreIsNeeded) {
  for (const char* text : {"x = relu(", "z = if n > 3 {", "z = if n > 3 { yield x }", "x: f32[n,",
                           "z = if n > 3 {\n yield x\n} else {\n"}) {
    StatementReader r(text);
    EXPECT_TRUE(r.Next().needs_more) << text;
  }
  for (const char* text :
       {"x = relu(x)", "z = if n > 3 { yield x } else { yield y }", "x = )", ""}) {
    StatementReader r(text);
    EXPECT_FALSE(r.Next().needs_more) << text;
  }
}

TEST(TextSession, PlacesCountFromTheWholeText) {
  Graph g;
  TextSession s(&g, "demo.lathe");
  StatementReader r("x: f32[n]\n   y = relu(x) ; z = nope + 1");
  ASSERT_TRUE(s.Execute(r.Next()).ok());
  ASSERT_TRUE(s.Execute(r.Next()).ok());
  EXPECT_EQ(g.node(*s.Find("y")).location.ToString(), "demo.lathe:2:8");
  const absl::Status status = s.Execute(r.Next()).status();
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("demo.lathe:2:22: "));
}

TEST(ParseTypeSpec, ReadsShapeSpecs) {
  Graph g;
  auto t = ParseTypeSpec("f32[batch, seq<=8192, 768]", &g);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->ToString(), "f32[batch, seq, 768]");
  EXPECT_EQ(g.facts().Range(g.dims()->Symbol("seq")).max, 8192);
  t = ParseTypeSpec("(batch, 768)", &g);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->ToString(), "f32[batch, 768]");
  t = ParseTypeSpec("i64[?]", &g, "ids");
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->ToString(), "i64[ids_d0]");
  EXPECT_FALSE(ParseTypeSpec("f32[2] junk", &g).ok());
  EXPECT_FALSE(ParseTypeSpec("f32[2", &g).ok());
}

TEST(Lexer, QuotesAndUnquotesAnyBytes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(static_cast<char>(c));
  std::string back;
  ASSERT_TRUE(Unquote(Quote(all), &back));
  EXPECT_EQ(back, all);
  EXPECT_FALSE(Unquote("\"\\q\"", &back));
  EXPECT_FALSE(Unquote("\"\\x4\"", &back));
}

}  // namespace
}  // namespace lathe::ir
