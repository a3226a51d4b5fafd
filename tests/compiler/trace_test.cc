// The tracing DSL: what each function traces, dims and facts, conditions, and errors with the
// caller's line.
#include "lathe/trace.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/graph.h"
#include "ir/interpreter.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Runs a finished trace through the interpreter; empty on failure.
std::vector<Tensor> Interpreted(absl::StatusOr<Program> program,
                                const std::vector<Tensor>& inputs) {
  if (!program.ok()) {
    ADD_FAILURE() << program.status();
    return {};
  }
  EXPECT_TRUE(ir::Verify(program->graph()).ok()) << ir::Verify(program->graph());
  absl::StatusOr<std::vector<Tensor>> outputs = ir::Interpret(program->graph(), inputs);
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status() << "\n" << program->to_string();
    return {};
  }
  return *std::move(outputs);
}

template <typename T>
std::vector<T> Elements(const Tensor& t) {
  return std::vector<T>(t.data<T>(), t.data<T>() + t.num_elements());
}

// The only output's elements.
template <typename T = float>
std::vector<T> Eval(Trace& t, const Value& v, const std::vector<Tensor>& inputs = {}) {
  const std::vector<Tensor> out = Interpreted(t.finish({v}), inputs);
  if (out.empty()) return {};
  EXPECT_EQ(out[0].dtype(), DTypeOf<T>());
  return Elements<T>(out[0]);
}

Tensor Floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::FromVector<float>(std::move(shape), values);
}

TEST(Trace, InputsTakeEveryKindOfShape) {
  Trace t("kinds");
  const Value x = t.input("x", "b, 2*s, _, 1..8 where s % 4 == 0");
  EXPECT_EQ(ToString(x.shape()), "[b, 2*s, x_d2, x_d3]");
  const Value y = t.input("y", i64, PartialShape::Of({x.dim(0), std::nullopt, 768}));
  EXPECT_EQ(ToString(y.shape()), "[b, y_d1, 768]");
  const Value z = t.input("z", f32, {x.dim(0), 3});
  EXPECT_EQ(ToString(z.shape()), "[b, 3]");
  ASSERT_TRUE(t.status().ok()) << t.status();
  absl::StatusOr<Program> p = t.finish({x, y, z});
  ASSERT_TRUE(p.ok()) << p.status();
  for (const auto& [spec, error] :
       {std::pair("b, ...", "'...' needs a rank"), std::pair("f32[4 <= 8]", "a size with a name"),
        std::pair("", "found the end of the text")}) {
    Trace bad("bad");
    bad.input("x", spec);
    EXPECT_THAT(bad.status().ToString(), testing::HasSubstr(error)) << spec;
  }
  Trace bad("bad");
  bad.input("x", f32, PartialShape::OfUnknownRank());
  EXPECT_THAT(bad.status().ToString(), testing::HasSubstr("the rank of x isn't known"));
  Trace nameless("bad");
  nameless.dim("_");
  EXPECT_THAT(nameless.status().ToString(), testing::HasSubstr("a size without a name"));
}

TEST(TraceTest, OperatorsBroadcastAndTakeNumbersOnEitherSide) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n, 2});
  const Value row = t.constant(Floats({2}, {10, 20}));
  const Value y = (1.0 - x) * row / 2 + -x;
  EXPECT_EQ(ToString(y.shape()), "[n, 2]");
  EXPECT_THAT(Eval(t, y, {Floats({2, 2}, {1, 2, 3, 4})}), ElementsAre(-1, -12, -13, -34));
}

TEST(TraceTest, EveryUnaryFunctionTracesItsOp) {
  struct Row {
    Value (*make)(Operand);
    const char* op;
  };
  const Row rows[] = {
      {abs, "abs"},       {exp, "exp"},     {log, "log"},       {sqrt, "sqrt"},
      {rsqrt, "rsqrt"},   {tanh, "tanh"},   {erf, "erf"},       {sin, "sin"},
      {cos, "cos"},       {floor, "floor"}, {relu, "relu"},     {sigmoid, "sigmoid"},
      {silu, "silu"},     {gelu, "gelu"},   {operator-, "neg"}, {ceil, "ceil"},
      {round, "round"},   {trunc, "trunc"}, {sign, "sign"},     {is_nan, "is_nan"},
      {is_inf, "is_inf"}, {exp2, "exp2"},   {expm1, "expm1"},   {log2, "log2"},
      {log1p, "log1p"},   {tan, "tan"},     {asin, "asin"},     {acos, "acos"},
      {atan, "atan"},     {sinh, "sinh"},   {cosh, "cosh"},     {asinh, "asinh"},
      {acosh, "acosh"},   {atanh, "atanh"}};
  for (const Row& row : rows) {
    Trace t("f");
    const Value y = row.make(t.input("x", f32, {3}));
    ASSERT_TRUE(y.ok()) << row.op << t.status();
    absl::StatusOr<Program> p = t.finish({y});
    ASSERT_TRUE(p.ok()) << p.status();
    const ir::Graph& g = p->graph();
    EXPECT_EQ(ir::Name(g.node(g.body.results[0]).op), row.op);
  }
}

TEST(TraceTest, NegationsAreOfTheirTypes) {
  Trace t("f");
  EXPECT_EQ(bit_not(t.input("k", i32, {3})).dtype(), i32);
  EXPECT_EQ(logical_not(t.input("p", bool_, {3})).dtype(), bool_);
  EXPECT_EQ(bitcast(t.input("b", f64, {3}), u64).dtype(), u64);
  EXPECT_EQ(is_nan(t.input("x", f64, {3})).dtype(), bool_);
  EXPECT_TRUE(t.status().ok()) << t.status();
  EXPECT_FALSE(bit_not(t.input("y", f32, {3})).ok());
}

TEST(TraceTest, EveryBinaryFunctionTracesItsOp) {
  struct Row {
    Value (*make)(Operand, Operand);
    DType dtype;
    const char* op;
  };
  const Row rows[] = {{rem, i32, "rem"},
                      {floordiv, i64, "floordiv"},
                      {mod, i32, "mod"},
                      {maximum, f32, "maximum"},
                      {minimum, f32, "minimum"},
                      {logical_and, bool_, "and"},
                      {logical_or, bool_, "or"},
                      {equal, f32, "eq"},
                      {not_equal, f32, "ne"},
                      {less, f32, "lt"},
                      {less_equal, f32, "le"},
                      {greater, f32, "gt"},
                      {greater_equal, f32, "ge"},
                      {pow, f32, "pow"},
                      {pow, i32, "pow"},
                      {atan2, f64, "atan2"},
                      {rem, f32, "rem"},
                      {floordiv, f32, "floordiv"},
                      {mod, f64, "mod"},
                      {logical_xor, bool_, "xor"},
                      {bit_and, i32, "bit_and"},
                      {bit_or, i64, "bit_or"},
                      {bit_xor, i32, "bit_xor"},
                      {shift_left, i64, "shift_left"},
                      {shift_right, i32, "shift_right"}};
  for (const Row& row : rows) {
    Trace t("f");
    const Value x = t.input("x", row.dtype, {3});
    const Value y = row.make(x, x);
    absl::StatusOr<Program> p = t.finish({y});
    ASSERT_TRUE(p.ok()) << row.op << p.status();
    EXPECT_EQ(ir::Name(p->graph().node(p->graph().body.results[0]).op), row.op);
  }
}

TEST(TraceTest, NumbersTakeTheOtherOperandsType) {
  Trace t("f");
  const Value x = t.input("x", i32, {2});
  EXPECT_EQ((x + 3).dtype(), i32);
  EXPECT_EQ(less(x, 3).dtype(), bool_);
  EXPECT_EQ(select(less(x, 3), 0.0, x).dtype(), i32);
  EXPECT_TRUE(t.status().ok()) << t.status();
  EXPECT_FALSE((x + 0.5).ok());
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("0.5 is no exact i32"));
}

TEST(TraceTest, ClampWithMinAboveMaxGivesMax) {
  Trace t("f");
  const Value x = t.constant(Floats({3}, {-1, 0, 7}));
  EXPECT_THAT(Eval(t, clamp(x, 5, 2)), ElementsAre(2, 2, 2));
}

TEST(TraceTest, SelectLogicAndCast) {
  Trace t("f");
  const Value x = t.input("x", f32, {4});
  const Value inside = logical_and(greater(x, 0), logical_not(greater(x, 2)));
  const Value y = select(inside, x, -1) + cast(inside, f32);
  EXPECT_THAT(Eval(t, y, {Floats({4}, {-3, 1, 2, 3})}), ElementsAre(-1, 2, 3, -1));
}

TEST(TraceTest, ViewsKeepTheirSymbolicShapes) {
  Trace t("f");
  const Dim b = t.dim("b"), s = t.dim("s");
  const Value x = t.input("x", f32, {b, s, 6});
  EXPECT_EQ(ToString(reshape(x, {b, -1}).shape()), "[b, 6*s]");
  EXPECT_EQ(ToString(reshape(x, {b, s, 2, 3}).shape()), "[b, s, 2, 3]");
  EXPECT_EQ(ToString(permute(x, {2, 0, -2}).shape()), "[6, b, s]");
  EXPECT_EQ(ToString(slice(x, -1, 1, 4).shape()), "[b, s, 3]");
  EXPECT_EQ(ToString(pad(x, {0, 1, 0}, {0, s, 2}).shape()), "[b, 2*s + 1, 8]");
  EXPECT_EQ(ToString(concat({x, x}, 1).shape()), "[b, 2*s, 6]");
  EXPECT_EQ(ToString(windows(x, {3}).shape()), "[b, s, 4, 3]");
  const WindowOptions options{
      .strides = {2, 1}, .dilations = {}, .low = {1, 0}, .high = {1, 0}, .value = 0};
  EXPECT_EQ(ToString(windows(x, {3, 2}, options).shape()), "[b, ceildiv(s, 2), 5, 3, 2]");
  EXPECT_EQ(ToString(broadcast_to(x, {4, b, s, 6}).shape()), "[4, b, s, 6]");
  EXPECT_EQ(ToString(gather(x, t.input("i", i64, {3}), 1).shape()), "[b, 3, 6]");
  EXPECT_EQ(x.dim(-1), Dim(6));
  EXPECT_EQ(x.rank(), 3);
  EXPECT_TRUE(t.status().ok()) << t.status();
}

TEST(TraceTest, OrdersAndComputedPlaces) {
  Trace t("f");
  const Value x = t.constant(Floats({3}, {5, 1, 7}));
  const Value at = check_index(t.iota({2}, 0, i64) - 1, 3), read = gather(x, at, 0);
  const std::pair<Value, std::vector<float>> rows[] = {
      {cumsum(x, 0), {5, 6, 13}},
      {cumsum(x, -1, {.exclusive = true}), {0, 5, 6}},
      {cumprod(x, 0, {.reverse = true}), {35, 7, 7}},
      {cast(argsort(x), f32), {1, 0, 2}},
      {cast(argsort(x, true), f32), {2, 0, 1}},
      {gather_unchecked(x, at, 0), {7, 5}},
      {gather_unchecked(x, at + 1, 0), {0, 1}},
      {scatter(x, at, read, "add"), {10, 1, 14}},
      {scatter(x, at, read + 1), {6, 1, 8}}};
  std::vector<Value> values;
  for (const auto& [value, wanted] : rows) values.push_back(value);
  const std::vector<Tensor> out = Interpreted(t.finish(values), {});
  ASSERT_EQ(out.size(), values.size());
  for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(Elements<float>(out[i]), rows[i].second) << i;
}

TEST(TraceTest, SliceCountsNegativesFromTheEnd) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n});
  const Value tail = slice(x, 0, -3, std::numeric_limits<int64_t>::max());
  const Value back = slice(x, 0, -1, std::numeric_limits<int64_t>::min(), -1);
  const std::vector<Tensor> out = Interpreted(t.finish({tail, back}), {Floats({2}, {1, 2})});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_THAT(Elements<float>(out[0]), ElementsAre(1, 2));
  EXPECT_THAT(Elements<float>(out[1]), ElementsAre(2, 1));
}

TEST(TraceTest, SplitOfADividedDimHasCleanShapesAndNeedsNothing) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {2, 3 * n});
  const std::vector<Value> parts = split(x, 3, -1);
  ASSERT_EQ(parts.size(), 3u);
  for (const Value& part : parts) EXPECT_EQ(ToString(part.shape()), "[2, n]");
  absl::StatusOr<Program> p = t.finish(parts);
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_TRUE(p->graph().facts().facts().empty());
}

// Lengths that a split doesn't fit are refused by the call, not baked in.
TEST(TraceTest, SplitOfAnOpenDimIsARequirementOfTheCall) {
  Trace t("f");
  const Dim n = t.dim("n");
  const std::vector<Value> parts = split(t.input("x", f32, {n}), 2, 0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(ToString(parts[1].shape()), ToString(parts[0].shape()));
  absl::StatusOr<Program> p = t.finish({parts[1]});
  ASSERT_TRUE(p.ok()) << p.status();
  absl::StatusOr<std::vector<Tensor>> out = ir::Interpret(p->graph(), {Floats({4}, {1, 2, 3, 4})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(Elements<float>((*out)[0]), ElementsAre(3, 4));
  EXPECT_FALSE(ir::Interpret(p->graph(), {Floats({3}, {1, 2, 3})}).ok());
}

TEST(TraceTest, SplitOfAConstantDimThatDoesNotFitIsAnErrorWhileTracing) {
  Trace t("f");
  const std::vector<Value> parts = split(t.input("x", f32, {7}), 2, 0);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_FALSE(parts[0].ok());
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("extent 7"));
}

TEST(TraceTest, ReductionsFoldTheirAxes) {
  Trace t("f");
  const Value x = t.constant(Floats({2, 3}, {1, 2, 3, 4, 5, 9}));
  const std::vector<Tensor> out =
      Interpreted(t.finish({sum(x, {-1}), prod(x, {0}), max(x, {0, 1}), min(x, {1}, true),
                            mean(x, {1}), argmax(x, 1), argmin(x, 0, true, true),
                            all(greater(x, 1), {1}), any(greater(x, 3), {1}, true)}),
                  {});
  ASSERT_EQ(out.size(), 9u);
  EXPECT_THAT(Elements<float>(out[0]), ElementsAre(6, 18));
  EXPECT_THAT(Elements<float>(out[1]), ElementsAre(4, 10, 27));
  EXPECT_THAT(Elements<float>(out[2]), ElementsAre(9));
  EXPECT_THAT(out[3].shape(), ElementsAre(2, 1));
  EXPECT_THAT(Elements<float>(out[4]), ElementsAre(2, 6));
  EXPECT_THAT(Elements<int64_t>(out[5]), ElementsAre(2, 2));
  EXPECT_THAT(out[6].shape(), ElementsAre(1, 3));
  EXPECT_THAT(Elements<int64_t>(out[6]), ElementsAre(0, 0, 0));
  EXPECT_THAT(Elements<bool>(out[7]), ElementsAre(false, true));
  EXPECT_THAT(out[8].shape(), ElementsAre(2, 1));
  EXPECT_THAT(Elements<bool>(out[8]), ElementsAre(false, true));
}

TEST(TraceTest, ProductsAndCompositesHaveTheirShapes) {
  Trace t("f");
  const Dim b = t.dim("b"), s = t.dim("s");
  const Value x = t.input("x", f32, {b, s, 8});
  const Value w = t.constant(Tensor(f32, {8, 5}));
  const Value g = t.constant(Tensor(f32, {8}));
  EXPECT_EQ(ToString(matmul(x, w).shape()), "[b, s, 5]");
  EXPECT_EQ(ToString(matmul(x, permute(x, {0, 2, 1})).shape()), "[b, s, s]");
  EXPECT_EQ(ToString(matmul(x, g).shape()), "[b, s]");
  EXPECT_EQ(ToString(softmax(x, 1).shape()), "[b, s, 8]");
  EXPECT_EQ(ToString(layer_norm(x, g, g).shape()), "[b, s, 8]");
  EXPECT_EQ(ToString(rms_norm(x, g).shape()), "[b, s, 8]");
  EXPECT_EQ(ToString(embedding(w, t.input("ids", i64, {b, s})).shape()), "[b, s, 5]");
  EXPECT_TRUE(t.status().ok()) << t.status();
}

TEST(TraceTest, AttentionTakesMasksThatBroadcastAndScalesByDefault) {
  Trace t("f");
  const Dim b = t.dim("b"), s = t.dim("s");
  const Value q = t.input("q", f32, {b, 2, s, 4});
  AttentionOptions options;
  options.mask = t.input("mask", f32, {b, 1, 1, s});
  options.causal = true;
  const Value y = attention(q, q, q, options);
  EXPECT_EQ(ToString(y.shape()), "[b, 2, s, 4]");
  absl::StatusOr<Program> p = t.finish({y});
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_THAT(p->to_string(), HasSubstr("causal=true"));
}

TEST(TraceTest, AttentionOverAnOpenDepthWantsAScale) {
  Trace t("f");
  const Dim d = t.dim("d");
  const Value q = t.input("q", f32, {3, d});
  AttentionOptions options;
  options.scale = 0.5;
  EXPECT_TRUE(attention(q, q, q, options).ok()) << t.status();
  EXPECT_FALSE(attention(q, q, q).ok());
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("scale"));
}

TEST(TraceTest, SourcesMakeValuesFromSizes) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n});
  const Value y = cast(t.iota({n}, 0, i32), f32) + cast(t.size(2 * n), f32) +
                  cast(t.size(n, i32), f32) + x + t.scalar(f32, 0.5);
  EXPECT_EQ(t.size(n, i32).dtype(), i32);
  EXPECT_EQ(t.random({n, 3}, 7).dtype(), f32);
  EXPECT_EQ(t.random({n, 3}, 7, "uniform").rank(), 2);
  EXPECT_THAT(Eval(t, y, {Floats({2}, {0, 0})}), ElementsAre(6.5, 7.5));
}

TEST(TraceTest, InputSpecsDeclareTheirDims) {
  Trace t("f");
  const Value x = t.input("x", "f32[batch, seq<=8192, 768]");
  EXPECT_EQ(ToString(x.shape()), "[batch, seq, 768]");
  const Value y = t.input("y", "i64[batch, seq]");
  EXPECT_EQ(y.dtype(), i64);
  absl::StatusOr<Program> p = t.finish({x, y});
  ASSERT_TRUE(p.ok()) << p.status();
  absl::StatusOr<Dim> seq = p->graph().dims()->Find("seq");
  ASSERT_TRUE(seq.ok());
  EXPECT_TRUE(p->graph().facts().Proves(*seq <= 8192));
}

TEST(TraceTest, FactsOfDimsAndAssumptionsAreDeclaredWithTheirLine) {
  Trace t("f");
  const Dim n = t.dim("n", "1..64, % 8 == 0"), m = t.dim("m", ">= 2");
  t.assume("n*m <= 512");
  const int line = __LINE__ + 1;
  t.assume(m <= n);
  absl::StatusOr<Program> p = t.finish({t.input("x", f32, {n, m})});
  ASSERT_TRUE(p.ok()) << p.status();
  const dim::FactSet& facts = p->graph().facts();
  EXPECT_TRUE(facts.Proves(Eq(Mod(n, 4), 0)));
  EXPECT_TRUE(facts.Proves(m <= 64));
  EXPECT_EQ(facts.facts().back().source.where, "trace_test.cc:" + std::to_string(line));
}

TEST(TraceTest, FactsThatContradictAreTheFirstError) {
  Trace t("f");
  const Dim n = t.dim("n", ">= 10");
  t.assume(n <= 5);
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("trace_test.cc"));
  EXPECT_FALSE(t.finish({t.input("x", f32, {n})}).ok());
}

TEST(TraceTest, IfChoosesByTheSizesOfTheCall) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n});
  const Value y = t.if_(
      n >= 3, [&] { return x * 10; }, [&] { return x + 1; });
  absl::StatusOr<Program> p = t.finish({y});
  ASSERT_TRUE(p.ok()) << p.status();
  for (int64_t size : {0, 1, 3}) {
    const Tensor in = Floats({size}, std::vector<float>(static_cast<size_t>(size), 2));
    absl::StatusOr<std::vector<Tensor>> out = ir::Interpret(p->graph(), {in});
    ASSERT_TRUE(out.ok()) << out.status();
    for (float v : Elements<float>((*out)[0])) EXPECT_EQ(v, size >= 3 ? 20 : 3);
  }
}

TEST(TraceTest, IfNests) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n});
  const Value y = t.if_(
      n >= 3,
      [&] {
        return t.if_(
            Eq(Mod(n, 2), 0), [&] { return x * 2; }, [&] { return x * 3; });
      },
      [&] { return x; });
  EXPECT_THAT(Eval(t, y, {Floats({3}, {1, 1, 1})}), ElementsAre(3, 3, 3));
}

TEST(TraceTest, AValueOfAClosedSideIsRefused) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n});
  Value leaked;
  const Value y = t.if_(
      n >= 3, [&] { return leaked = exp(x); }, [&] { return x; });
  EXPECT_TRUE(y.ok()) << t.status();
  EXPECT_FALSE((leaked + y).ok());
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("side of an if_ that is closed"));
}

TEST(TraceTest, AnErrorInASideEndsTheTrace) {
  Trace t("f");
  const Dim n = t.dim("n");
  const Value x = t.input("x", f32, {n});
  const Value y = t.if_(
      n >= 3, [&] { return Value(); }, [&] { return x; });
  EXPECT_FALSE(y.ok());
  EXPECT_FALSE(t.finish({y}).ok());
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("then-side gives no value"));
}

TEST(TraceTest, TheFirstErrorNamesTheCallersLineAndPoisonsWhatFollows) {
  Trace t("f");
  const Value x = t.input("x", f32, {3}), k = t.input("k", i32, {3});
  const int line = __LINE__ + 1;
  const Value bad = x * 2 + k;
  const Value after = softmax(exp(bad) + 1.0, 5);
  EXPECT_FALSE(bad.ok());
  EXPECT_FALSE(after.ok());
  EXPECT_TRUE(bad.shape().empty());
  EXPECT_FALSE(sum(x, {7}).ok());  // a later error
  const absl::StatusOr<Program> p = t.finish({after});
  ASSERT_FALSE(p.ok());
  const std::string message(p.status().message());
  EXPECT_THAT(message, HasSubstr("trace_test.cc:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("add"));
  EXPECT_THAT(message, HasSubstr("cast"));
  EXPECT_EQ(t.status(), p.status());
}

TEST(TraceTest, NamedFunctionsCarryTheLineToo) {
  Trace t("f");
  const Value x = t.input("x", f32, {3, 4});
  const int line = __LINE__ + 1;
  permute(x, {0, 0});
  EXPECT_THAT(std::string(t.status().message()),
              HasSubstr("trace_test.cc:" + std::to_string(line)));
}

TEST(TraceTest, EmptyAndForeignValuesAreErrors) {
  {
    Trace t("f");
    const Value x = t.input("x", f32, {3});
    EXPECT_FALSE((x + Value()).ok());
    EXPECT_THAT(std::string(t.status().message()), HasSubstr("empty Value"));
  }
  Trace a("a"), b("b");
  const Value x = a.input("x", f32, {3}), y = b.input("y", f32, {3});
  EXPECT_FALSE((x + y).ok());
  EXPECT_FALSE(a.status().ok() && b.status().ok());
  EXPECT_FALSE(maximum(1.0, 2.0).ok());
  Trace c("c");
  EXPECT_THAT(std::string(c.finish({maximum(1.0, 2.0)}).status().message()),
              HasSubstr("no value of this trace"));
}

TEST(TraceTest, DimsOfAnotherTraceAreRefused) {
  Trace a("a"), b("b");
  EXPECT_FALSE(b.input("x", f32, {a.dim("n")}).ok());
  EXPECT_FALSE(b.status().ok());
}

TEST(TraceTest, DimsHaveNamesThatTheTextFormReads) {
  for (const char* name : {"output", "where", "i8", "a.", "a..b"}) {
    Trace t("f");
    t.dim(name);
    EXPECT_FALSE(t.status().ok()) << name;
  }
  Trace t("f");
  t.dim("seq.max");
  EXPECT_TRUE(t.status().ok()) << t.status();
}

TEST(TraceTest, AFailedFinishLeavesNoOutputsBehind) {
  Trace t("f");
  const Value x = t.input("x", f32, {3}), y = exp(x);
  EXPECT_FALSE(t.finish({x, Value()}).ok());
  EXPECT_FALSE(t.finish({x, y}, {"a", "a"}).ok());
  ASSERT_TRUE(t.status().ok());
  const absl::StatusOr<Program> p = t.finish({y}, {"c"});
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_EQ(p->graph().output_names, std::vector<std::string>{"c"});
}

TEST(TraceTest, AFinishedTraceTracesNoMore) {
  Trace t("f");
  const Value x = t.input("x", f32, {3});
  ASSERT_TRUE(t.finish({x}).ok());
  EXPECT_FALSE(x.ok());
  EXPECT_FALSE(exp(x).ok());
  EXPECT_EQ(x.rank(), 0);
  t.dim("n");
  t.assume("1 <= 2");
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("finished"));
  EXPECT_FALSE(t.finish({x}).ok());
}

TEST(TraceTest, BadInputIsAnErrorWithItsPlace) {
  const auto message = [](void (*trace)(Trace&)) {
    Trace t("f");
    trace(t);
    const std::string text(t.status().message());
    EXPECT_THAT(text, HasSubstr("trace_test.cc:")) << text;
    return text;
  };
  EXPECT_THAT(message([](Trace& t) { t.dim("n", "1...8"); }), HasSubstr("n"));
  EXPECT_THAT(message([](Trace& t) { t.dim("7up"); }), HasSubstr("7up"));
  EXPECT_THAT(message([](Trace& t) { t.assume("n <"); }), HasSubstr("assume"));
  EXPECT_THAT(message([](Trace& t) { t.input("x", "f31[3]"); }), HasSubstr("f31"));
  EXPECT_THAT(message([](Trace& t) { t.input("x", f32, {-1}); }), HasSubstr("negative"));
  EXPECT_THAT(message([](Trace& t) { t.constant(Tensor(f32, {-1})); }), HasSubstr("constant"));
  EXPECT_THAT(message([](Trace& t) { mean(t.input("x", i32, {3}), {0}); }), HasSubstr("cast"));
  EXPECT_THAT(message([](Trace& t) {
                t.input("x", f32, {Dim(int64_t{1} << 39), Dim(int64_t{1} << 39)});
              }),
              HasSubstr("2^63"));
  EXPECT_THAT(message([](Trace& t) { reshape(t.input("x", f32, {3}), {2}); }),
              HasSubstr("reshape"));
  EXPECT_THAT(message([](Trace& t) { t.random({3}, 1, "cauchy"); }), HasSubstr("cauchy"));
}

TEST(TraceTest, DimOfAMissingAxisIsAnError) {
  Trace t("f");
  const Value x = t.input("x", f32, {3});
  EXPECT_EQ(x.dim(4), Dim(0));
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("axis 4 is outside of rank 1"));
}

TEST(TraceTest, OutputsAreNamed) {
  Trace t("f");
  Value x = t.input("x", f32, {3});
  Value y = exp(x);
  y.named("scores");
  absl::StatusOr<Program> p = t.finish({y, x}, {"first", "second"});
  ASSERT_TRUE(p.ok()) << p.status();
  EXPECT_THAT(p->graph().output_names, ElementsAre("first", "second"));
  EXPECT_THAT(p->to_string(), HasSubstr("scores"));
  Trace u("g");
  const Value z = u.input("x", f32, {3});
  EXPECT_FALSE(u.finish({z, z}, {"one"}).ok());
}

TEST(TraceTest, ProgramsParseTheirOwnText) {
  Trace t("f");
  const Dim n = t.dim("n", "1..64");
  absl::StatusOr<Program> p = t.finish({softmax(t.input("x", f32, {n, 8}) * 2, -1)});
  ASSERT_TRUE(p.ok()) << p.status();
  absl::StatusOr<Program> again = Program::parse(p->to_string());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->to_string(), p->to_string());
  EXPECT_FALSE(Program::parse("y = frobnicate(x)", "f.lathe").ok());
  std::unique_ptr<ir::Graph> graph = again->release();
  EXPECT_EQ(graph->name, "f");
}

}  // namespace
}  // namespace lathe
