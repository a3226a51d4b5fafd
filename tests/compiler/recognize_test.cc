// Forms that exporters write out: what each becomes, what is nearly one and must stay, and that
// results stay within the bounds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/lower/fuse.h"
#include "compiler/passes/pass.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/compare.h"
#include "ir/expand.h"
#include "ir/interpreter.h"
#include "ir/samples.h"
#include "lathe/engine.h"
#include "lathe/trace.h"

namespace lathe::compiler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Pass = absl::Status (*)(ir::Graph&, PassContext&);

ir::Graph Parsed(const std::string& text) {
  absl::StatusOr<ir::Graph> graph = ir::Parse(text, "test");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.status() << "\n" << text;
    return ir::Graph();
  }
  return *std::move(graph);
}

// After one pass, with what comes before it in the table.
ir::Graph Rewritten(const std::string& text, Pass pass) {
  ir::Graph graph = Parsed(text);
  PassContext context;
  for (Pass p : {Pass(Canonicalize), Pass(FoldConstants), Pass(EliminateCommon), pass}) {
    absl::Status s = p(graph, context);
    if (s.ok()) s = ir::Verify(graph);
    EXPECT_TRUE(s.ok()) << s << "\n" << ir::Print(graph);
  }
  EXPECT_TRUE(RemoveDead(graph, context).ok());
  return graph;
}

// The same with the names of values left out: exported and recognised forms have different ones.
std::string Text(ir::Graph graph) {
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.node(v).op != ir::Op::k_input) graph.node(v).name.clear();
  }
  PassContext context;
  EXPECT_TRUE(RemoveDead(graph, context).ok());
  return ir::Print(graph);
}

void ExpectBecomes(const std::string& before, const std::string& after, Pass pass) {
  EXPECT_EQ(Text(Rewritten(before, pass)), Text(Rewritten(after, RemoveDead))) << before;
}

void ExpectStays(const std::string& text, Pass pass) { ExpectBecomes(text, text, pass); }

// Both programs by the interpreter at these sizes: the largest relative error between them.
double Difference(const ir::Graph& before, const ir::Graph& after,
                  const std::vector<int64_t>& sizes) {
  const std::vector<Tensor> inputs = ir::SampleInputs(before, sizes, 3, true);
  const absl::StatusOr<std::vector<Tensor>> a = ir::Interpret(before, inputs);
  const absl::StatusOr<std::vector<Tensor>> b = ir::Interpret(after, inputs);
  EXPECT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  if (!a.ok() || !b.ok()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < a->size(); ++i)
    worst = std::max(worst, ir::RelativeError((*b)[i], (*a)[i]));
  return worst;
}

// Kernels of the program after all passes.
int Kernels(const std::string& text) {
  ir::Graph graph = Parsed(text);
  PassContext context;
  context.verify = true;
  absl::Status s = RunPasses(graph, context);
  if (s.ok()) s = ir::ExpandComposites(&graph);
  EXPECT_TRUE(s.ok()) << s;
  const FusionPlan plan = Fuse(graph);
  SCOPED_TRACE(plan.ToString(graph));
  return static_cast<int>(plan.groups.size());
}

std::string Plan(const std::string& text) {
  ir::Graph graph = Parsed(text);
  PassContext context;
  absl::Status s = RunPasses(graph, context);
  if (s.ok()) s = ir::ExpandComposites(&graph);
  EXPECT_TRUE(s.ok()) << s;
  return absl::StrCat(Fuse(graph).ToString(graph), ir::Print(graph));
}

// Compiled after all passes, against the interpreter of the program as it was written: the largest
// relative error at these sizes.
double CompiledDifference(const std::string& text, const std::vector<std::vector<int64_t>>& sizes) {
  ir::Graph graph = Parsed(text);
  const ir::Graph before = graph.Clone();
  Engine engine;
  absl::StatusOr<Function> f =
      engine.compile(Program(std::make_unique<ir::Graph>(std::move(graph))));
  absl::Status s = f.status();
  if (s.ok()) s = f->prepare();
  EXPECT_TRUE(s.ok()) << s;
  double worst = s.ok() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < sizes.size() && s.ok(); ++k) {
    const std::vector<Tensor> inputs = ir::SampleInputs(before, sizes[k], 5, false);
    const absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(before, inputs);
    const absl::StatusOr<std::vector<Tensor>> found = f->call(inputs);
    s = wanted.ok() ? found.status() : wanted.status();
    EXPECT_TRUE(s.ok()) << s;
    for (size_t i = 0; s.ok() && i < wanted->size(); ++i)
      worst = std::max(worst, ir::RelativeError((*found)[i], (*wanted)[i]));
  }
  return worst;
}

// -- gelu

std::string Pointwise(const std::string& formula) {
  return absl::StrCat("dim n\nx: f32[n, 4]\noutput y = ", formula, "\n");
}

TEST(RecognizeGeluTest, EveryOrderOfFactorsAndTerms) {
  for (const char* form : {
           "x * 0.5 * (1 + erf(x / 1.4142135623730951))",
           "x * 0.5 * (erf(x * 0.7071067811865476) + 1)",
           "0.5 * x * (1 + erf(0.70710677 * x))",
           "0.5 * (x * (1 + erf(x / 1.4142135)))",
           "x * (1 + erf(x / 1.4142135)) * 0.5",
           "(1 + erf(x / 1.4142135)) * (x * 0.5)",
           "x * ((erf(x / 1.4142135) + 1) * 0.5)",
           "x / 2 * (1 + erf(x / 1.4142135))",
       }) {
    ExpectBecomes(Pointwise(form), Pointwise("gelu(x)"), RecognizeGelu);
  }
}

TEST(RecognizeGeluTest, WhatIsNearlyOneStays) {
  for (const char* form : {
           "x * 0.5 * (1 + erf(x / 1.5))",
           "x * 0.5 * (1 + erf(x * 0.7))",
           "x * (1 + erf(x / 1.4142135))",
           "x * 0.5 * (1 - erf(x / 1.4142135))",
           "x * 0.5 * (2 + erf(x / 1.4142135))",
           "x * 0.5 * (1 + erf(abs(x) / 1.4142135))",
           "x * 0.5 * (1 + erf(1.4142135 / x))",
           "x * 0.5 * (1 + tanh(x / 1.4142135))",
       }) {
    ExpectStays(Pointwise(form), RecognizeGelu);
  }
}

TEST(RecognizeGeluTest, AFactorThatIsUsedElsewhereStays) {
  ExpectStays(R"(
dim n
x: f32[n, 4]
cdf = 1 + erf(x / 1.4142135)
output y = x * 0.5 * cdf
output cdf
)",
              RecognizeGelu);
}

TEST(RecognizeGeluTest, ValuesStayWithinTheBoundOfGelu) {
  const std::string text = Pointwise("x * 0.5 * (1 + erf(x / 1.4142135623730951))");
  ir::Graph before = Parsed(text);
  const ir::Graph after = Rewritten(text, RecognizeGelu);
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f,  -0.0f, 1.0f, -1.0f, 3.5f,   -3.5f,
                                     -6.0f, 9.0f,  inf,  -inf,  1e-30f, std::nanf("")};
  const Tensor x = Tensor::FromVector<float>({3, 4}, values);
  const auto a = ir::Interpret(before, {x}), b = ir::Interpret(after, {x});
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < values.size(); ++i) {
    const float wanted = (*a)[0].data<float>()[i], found = (*b)[0].data<float>()[i];
    if (std::isfinite(values[i])) {
      EXPECT_NEAR(found, wanted, std::fabs(values[i]) * std::exp2(-22.0)) << values[i];
    } else {
      EXPECT_TRUE(std::isnan(wanted) ? std::isnan(found) : found == wanted) << values[i];
    }
  }
}

TEST(RecognizeGeluTest, TheTanhFormIsOneKernel) {
  const std::string text =
      Pointwise("0.5 * x * (1 + tanh(0.7978846 * (x + 0.044715 * pow(x, 3))))");
  EXPECT_EQ(Kernels(text), 1);
  EXPECT_THAT(Text(Rewritten(text, RecognizeGelu)), Not(HasSubstr("pow")));
}

TEST(RecognizeGeluTest, CubesStayWithinTheBoundOfPow) {
  const std::string text = Pointwise("pow(x, 3)");
  const ir::Graph before = Parsed(text), after = Rewritten(text, RecognizeGelu);
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0.0f, -0.0f, 1.1f,   -1.3f,  1e13f, -1e13f,
                                     inf,  -inf,  1e-13f, 3e-14f, -7.7f, 123.4f};
  const Tensor x = Tensor::FromVector<float>({3, 4}, values);
  const auto a = ir::Interpret(before, {x}), b = ir::Interpret(after, {x});
  ASSERT_TRUE(a.ok() && b.ok());
  for (size_t i = 0; i < values.size(); ++i) {
    const float wanted = (*a)[0].data<float>()[i], found = (*b)[0].data<float>()[i];
    EXPECT_EQ(std::signbit(found), std::signbit(wanted)) << values[i];
    if (std::isfinite(wanted)) {
      EXPECT_NEAR(found, wanted, std::fabs(wanted) * 4 * std::exp2(-24.0) + 1.5e-45) << values[i];
    } else {
      EXPECT_EQ(found, wanted) << values[i];
    }
  }
}

// -- norms

std::string Norm(const std::string& lines) {
  return absl::StrCat("dim n, m\nx: f32[n, m, 8]\ng: f32[8]\nb: f32[8]\n", lines);
}

constexpr const char* kCentred =
    "d = x - mean(x, axes=[2], keep_dims=true)\n"
    "v = mean(d * d, axes=[2], keep_dims=true)\n";

TEST(RecognizeNormTest, LayerNormInEveryForm) {
  const std::string after = Norm("output y = layer_norm(x, g, b, epsilon=0.0625)\n");
  for (const char* last : {
           "output y = d / sqrt(v + 0.0625) * g + b\n",
           "output y = b + g * (d / sqrt(0.0625 + v))\n",
           "output y = d * rsqrt(v + 0.0625) * g + b\n",
           "output y = d * (1 / sqrt(v + 0.0625)) * g + b\n",
           "output y = (1 / sqrt(v + 0.0625)) * d * g + b\n",
           "output y = d / pow(v + 0.0625, 0.5) * g + b\n",
           "output y = d * pow(v + 0.0625, -0.5) * g + b\n",
       }) {
    ExpectBecomes(Norm(absl::StrCat(kCentred, last)), after, RecognizeNorm);
  }
}

TEST(RecognizeNormTest, MeansBySumAndCountOrWithoutTheAxis) {
  const std::string after = Norm("output y = layer_norm(x, g, b, epsilon=0.0625)\n");
  ExpectBecomes(Norm("d = x - sum(x, axes=[2], keep_dims=true) / 8\n"
                     "v = sum(d * d, axes=[2], keep_dims=true) / 8\n"
                     "output y = d / sqrt(v + 0.0625) * g + b\n"),
                after, RecognizeNorm);
  ExpectBecomes(Norm("d = x - reshape(mean(x, axes=[2]), [n, m, 1])\n"
                     "v = reshape(mean(d * d, axes=[2]), [n, m, 1])\n"
                     "output y = d / sqrt(v + 0.0625) * g + b\n"),
                after, RecognizeNorm);
  ExpectBecomes(
      "dim n\nx: f32[3, n]\ng: f32[n]\nb: f32[n]\n"
      "count = cast(size(dim=n), f32)\n"
      "d = x - sum(x, axes=[1], keep_dims=true) / count\n"
      "v = sum(d * d, axes=[1], keep_dims=true) / count\n"
      "output y = d / sqrt(v + 0.0625) * g + b\n",
      "dim n\nx: f32[3, n]\ng: f32[n]\nb: f32[n]\n"
      "output y = layer_norm(x, g, b, epsilon=0.0625)\n",
      RecognizeNorm);
}

TEST(RecognizeNormTest, ConstantRowsOfAnyRank) {
  ExpectBecomes(Norm(absl::StrCat(kCentred,
                                  "output y = d / sqrt(v + 0.0625) * constant(f32[1, 1, 8]{2*8}) "
                                  "+ constant(f32[8]{3*8})\n")),
                Norm("output y = layer_norm(x, constant(f32[8]{2*8}), constant(f32[8]{3*8}), "
                     "epsilon=0.0625)\n"),
                RecognizeNorm);
}

TEST(RecognizeNormTest, RmsNormInEveryForm) {
  const std::string after = Norm("output y = rms_norm(x, g, epsilon=0.0625)\n");
  for (const char* last : {
           "output y = g * (x * rsqrt(v + 0.0625))\n",
           "output y = x / sqrt(v + 0.0625) * g\n",
           "output y = g * (x * (1 / sqrt(v + 0.0625)))\n",
       }) {
    ExpectBecomes(Norm(absl::StrCat("v = mean(x * x, axes=[2], keep_dims=true)\n", last)), after,
                  RecognizeNorm);
  }
}

TEST(RecognizeNormTest, WhatIsNearlyOneStays) {
  for (const char* lines : {
           // another axis
           "v = mean(x * x, axes=[1], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // two axes
           "v = mean(x * x, axes=[1, 2], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // no mean
           "v = sum(x * x, axes=[2], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // by another count
           "v = sum(x * x, axes=[2], keep_dims=true) / 7\noutput y = x / sqrt(v + 0.0625) * g\n",
           // of something else
           "v = mean(abs(x) * x, axes=[2], keep_dims=true)\noutput y = x / sqrt(v + 0.0625) * g\n",
           // the other way around
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = sqrt(v + 0.0625) / x * g\n",
           // beside the root
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = x / (sqrt(v) + 0.0625) * g\n",
           // a negative epsilon
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = x / sqrt(v + -0.0625) * g\n",
           // another power
           "v = mean(x * x, axes=[2], keep_dims=true)\noutput y = x / pow(v + 0.0625, 0.25) * g\n",
       }) {
    ExpectStays(Norm(lines), RecognizeNorm);
  }
  // A factor a row instead of a column, and a square matrix where the two have one extent.
  ExpectStays(
      "x: f32[8, 8]\ng: f32[8, 1]\nv = mean(x * x, axes=[1], keep_dims=true)\n"
      "output y = x / sqrt(v + 0.0625) * g\n",
      RecognizeNorm);
  // The variance of one value beside the mean of another.
  const std::string text = Norm(
      "d = x - mean(relu(x), axes=[2], keep_dims=true)\n"
      "v = mean(d * d, axes=[2], keep_dims=true)\noutput y = d / sqrt(v + 0.0625) * g + b\n");
  EXPECT_THAT(Text(Rewritten(text, RecognizeNorm)), Not(HasSubstr("layer_norm")));
}

TEST(RecognizeNormTest, ResultsStayWithinTheBound) {
  const std::string text = Norm(absl::StrCat(kCentred, "output y = d / sqrt(v + 1e-05) * g + b\n"));
  const ir::Graph after = Rewritten(text, RecognizeNorm);
  for (int64_t n : {0, 1, 5}) EXPECT_LT(Difference(Parsed(text), after, {n, 3}), 1e-6) << n;
  EXPECT_LT(CompiledDifference(text, {{3, 2}}), 1e-6);
}

// -- attention

std::string Heads(const std::string& lines) {
  return absl::StrCat(
      "dim n, s, t\nq: f32[n, 2, s, 16]\nk: f32[n, 2, t, 16]\nv: f32[n, 2, t, 8]\n"
      "m: f32[n, 1, s, t]\np: bool[s, t]\n",
      lines);
}

TEST(RecognizeAttentionTest, TheScaleAnywhere) {
  const std::string after =
      Heads("output y = attention(q, k, v, scale=0.25, empty_row_nan=true)\n");
  for (const char* scores : {
           "q @ permute(k, axes=[0, 1, 3, 2]) * 0.25",
           "0.25 * (q @ permute(k, axes=[0, 1, 3, 2]))",
           "q @ permute(k, axes=[0, 1, 3, 2]) / 4",
           "(q * 0.25) @ permute(k, axes=[0, 1, 3, 2])",
           "(q / 4) @ permute(k, axes=[0, 1, 3, 2])",
           "q @ permute(k * 0.25, axes=[0, 1, 3, 2])",
           "q @ (permute(k, axes=[0, 1, 3, 2]) * 0.25)",
           "(q * 0.5) @ permute(k * 0.5, axes=[0, 1, 3, 2])",
           "(q * 0.5) @ (permute(k, axes=[0, 1, 3, 2]) / 2)",
       }) {
    ExpectBecomes(Heads(absl::StrCat("output y = softmax(", scores, ", axis=-1) @ v\n")), after,
                  RecognizeAttention);
    // As files before opset 13 have it.
    ExpectBecomes(Heads(absl::StrCat("output y = reshape(softmax(reshape(", scores,
                                     ", [n*2*s, t]), axis=1), [n, 2, s, t]) @ v\n")),
                  after, RecognizeAttention);
  }
}

TEST(RecognizeAttentionTest, KeysFromAnyLayout) {
  constexpr const char* kHead =
      "dim n, s, t\nq: f32[n, 2, s, 16]\nk: f32[n, t, 2, 16]\nv: f32[n, 2, t, 8]\n";
  ExpectBecomes(
      absl::StrCat(kHead, "output y = softmax(q @ permute(k, axes=[0, 2, 3, 1]), axis=3) @ v\n"),
      absl::StrCat(kHead,
                   "output y = attention(q, permute(k, axes=[0, 2, 1, 3]), v, scale=1, "
                   "empty_row_nan=true)\n"),
      RecognizeAttention);
  // k^T as an input: turned for the op.
  constexpr const char* kTurned = "dim s, t\nq: f32[2, s, 16]\nk: f32[2, 16, t]\nv: f32[2, t, 8]\n";
  ExpectBecomes(absl::StrCat(kTurned, "output y = softmax(q @ k * 0.25, axis=2) @ v\n"),
                absl::StrCat(kTurned,
                             "output y = attention(q, permute(k, axes=[0, 2, 1]), v, scale=0.25, "
                             "empty_row_nan=true)\n"),
                RecognizeAttention);
}

TEST(RecognizeAttentionTest, MasksThatAreAdded) {
  constexpr const char* kT = "q @ permute(k, axes=[0, 1, 3, 2])";
  const std::string after = Heads(
      "output y = attention(q, k, v, broadcast(m, shape=[n, 2, s, t]), scale=0.25, "
      "empty_row_nan=true)\n");
  for (const std::string& scores :
       {absl::StrCat(kT, " * 0.25 + m"), absl::StrCat("m + ", kT, " / 4")}) {
    ExpectBecomes(Heads(absl::StrCat("output y = softmax(", scores, ", axis=-1) @ v\n")), after,
                  RecognizeAttention);
  }
  // T5: no scale, a bias of the positions; here with a mask on top.
  ExpectBecomes(
      Heads(absl::StrCat("w: f32[2, s, t]\noutput y = softmax(", kT, " + w + m, axis=-1) @ v\n")),
      Heads("w: f32[2, s, t]\n"
            "a = broadcast(w, shape=[n, 2, s, t])\nc = broadcast(m, shape=[n, 2, s, t])\n"
            "output y = attention(q, k, v, a + c, scale=1, empty_row_nan=true)\n"),
      RecognizeAttention);
}

TEST(RecognizeAttentionTest, MasksThatChoose) {
  constexpr const char* kT = "q @ permute(k, axes=[0, 1, 3, 2]) * 0.25";
  ExpectBecomes(Heads(absl::StrCat("output y = softmax(select(p, ", kT, ", -inf), axis=-1) @ v\n")),
                Heads("output y = attention(q, k, v, broadcast(p, shape=[n, 2, s, t]), scale=0.25, "
                      "empty_row_nan=true)\n"),
                RecognizeAttention);
  ExpectBecomes(
      Heads(absl::StrCat("output y = softmax(select(p, -inf, ", kT, "), axis=-1) @ v\n")),
      Heads("output y = attention(q, k, v, not(broadcast(p, shape=[n, 2, s, t])), scale=0.25, "
            "empty_row_nan=true)\n"),
      RecognizeAttention);
  ExpectBecomes(
      Heads(absl::StrCat("output y = softmax(select(p, ", kT, ", -3.4028235e+38), axis=-1) @ v\n")),
      Heads("w = broadcast(p, shape=[n, 2, s, t])\n"
            "z = broadcast(constant(f32[]{0}), shape=[n, 2, s, t])\n"
            "output y = attention(q, k, v, select(w, z, broadcast(constant(f32[]{-3.4028235e+38}), "
            "shape=[n, 2, s, t])), scale=0.25, empty_row_nan=true)\n"),
      RecognizeAttention);
}

TEST(RecognizeAttentionTest, WhatIsNearlyOneStays) {
  for (const char* lines : {
           "output y = softmax(q @ permute(k, axes=[0, 1, 3, 2]), axis=2) @ v\n",
           "output y = exp(q @ permute(k, axes=[0, 1, 3, 2])) @ v\n",
           // scaled after the mask
           "output y = softmax((q @ permute(k, axes=[0, 1, 3, 2]) + m) * 0.25, axis=-1) @ v\n",
           // by what is not one number
           "output y = softmax(q @ permute(k, axes=[0, 1, 3, 2]) * m, axis=-1) @ v\n",
           // a row that is masked as a whole shows these scores' differences
           "output y = softmax(select(p, q @ permute(k, axes=[0, 1, 3, 2]), -10000.0), axis=-1) @ "
           "v\n",
           // the probabilities, or the scores, are wanted as well
           "w = softmax(q @ permute(k, axes=[0, 1, 3, 2]), axis=-1)\noutput w\noutput y = w @ v\n",
           "w = q @ permute(k, axes=[0, 1, 3, 2])\noutput w\noutput y = softmax(w, axis=-1) @ v\n",
           // no product
           "output y = softmax(broadcast(m, shape=[n, 2, s, t]) * 0.25, axis=-1) @ v\n",
       }) {
    ExpectStays(Heads(lines), RecognizeAttention);
  }
  // k and v for all batches: the op wants one rank.
  ExpectStays(
      "dim n, s\nq: f32[n, s, 16]\nk: f32[16, 5]\nv: f32[5, 8]\n"
      "output y = softmax(q @ k, axis=-1) @ v\n",
      RecognizeAttention);
}

TEST(RecognizeAttentionTest, ResultsStayWithinTheBoundAndRowsThatSeeNothingAreWhatTheyWere) {
  constexpr const char* kT = "q @ permute(k, axes=[0, 1, 3, 2]) * 0.25";
  for (const std::string& scores :
       {std::string(kT), absl::StrCat(kT, " + m"), absl::StrCat("select(p, ", kT, ", -inf)"),
        absl::StrCat("select(p, ", kT, ", -3.4028235e+38)")}) {
    const std::string text = Heads(absl::StrCat("output y = softmax(", scores, ", axis=-1) @ v\n"));
    const ir::Graph after = Rewritten(text, RecognizeAttention);
    EXPECT_THAT(ir::Print(after), HasSubstr("attention"));
    const std::vector<std::vector<int64_t>> sizes = {{2, 3, 5}, {1, 1, 1}, {0, 3, 2},
                                                     {2, 0, 3}, {2, 3, 0}, {1, 2, 70}};
    for (const std::vector<int64_t>& s : sizes)
      EXPECT_LT(Difference(Parsed(text), after, s), 1e-5) << scores;
    EXPECT_LT(CompiledDifference(text, sizes), 1e-5) << scores;
  }
}

TEST(RecognizeAttentionTest, AnEncodersAttentionIsOneKernelBehindItsProjections) {
  const std::string text = R"(
dim n, s
x: f32[n, s, 32]
m: f32[n, 1, 1, s]
wq = constant(f32[32, 32]{0.01*1024})
wk = constant(f32[32, 32]{0.02*1024})
wv = constant(f32[32, 32]{0.03*1024})
wo = constant(f32[32, 32]{0.04*1024})
bq = constant(f32[32]{0.5*32})
q = permute(reshape(x @ wq + bq, [n, s, 2, 16]), axes=[0, 2, 1, 3])
k = permute(reshape(x @ wk + bq, [n, s, 2, 16]), axes=[0, 2, 3, 1])
v = permute(reshape(x @ wv + bq, [n, s, 2, 16]), axes=[0, 2, 1, 3])
a = softmax(q @ k / 4 + m, axis=-1) @ v
output y = reshape(permute(a, axes=[0, 2, 1, 3]), [n, s, 32]) @ wo + bq
)";
  EXPECT_EQ(Kernels(text), 3) << Plan(text);  // projections, attention, output
  EXPECT_LT(CompiledDifference(text, {{2, 5}}), 1e-5);
}

// -- views behind elementwise ops

TEST(SinkViewsTest, ViewsMoveBehindWhatIsComputedElementByElement) {
  const std::string head = "dim n\nx: f32[n, 4, 2]\nz: f32[n, 4, 2]\n";
  const struct {
    const char* before;
    const char* after;
  } kCases[] = {
      {"relu(reshape(x, [n, 8]))", "reshape(relu(x), [n, 8])"},
      {"exp(permute(x, axes=[2, 0, 1])) * 2", "permute(exp(x) * 2, axes=[2, 0, 1])"},
      {"permute(x, axes=[1, 0, 2]) + permute(z, axes=[1, 0, 2])", "permute(x + z, axes=[1, 0, 2])"},
      {"permute(relu(permute(x, axes=[2, 1, 0])), axes=[2, 1, 0])", "relu(x)"},
      {"reshape(relu(reshape(x, [4*n, 2])) + reshape(z, [4*n, 2]), [n, 4, 2])", "relu(x) + z"},
      // a constant a column, where the axis stays whole
      {"permute(x, axes=[0, 2, 1]) * constant(f32[4]{1, 2, 3, 4})",
       "permute(x * broadcast(constant(f32[4]{1, 2, 3, 4}), shape=[n, 4, 2], axes=[1]), "
       "axes=[0, 2, 1])"},
      {"reshape(x, [4*n, 2]) * constant(f32[2]{1, 2})",
       "reshape(x * constant(f32[2]{1, 2}), [4*n, 2])"},
      // and where not
      {"reshape(x, [n, 8]) * constant(f32[8]{1, 2, 3, 4, 5, 6, 7, 8})",
       "reshape(x, [n, 8]) * constant(f32[8]{1, 2, 3, 4, 5, 6, 7, 8})"},
      // another view of another value
      {"reshape(x, [n, 8]) + reshape(permute(z, axes=[0, 2, 1]), [n, 8])",
       "reshape(x, [n, 8]) + reshape(permute(z, axes=[0, 2, 1]), [n, 8])"},
      {"permute(x, axes=[1, 0, 2]) + reshape(z, [4, n, 2])",
       "permute(x, axes=[1, 0, 2]) + reshape(z, [4, n, 2])"},
  };
  for (const auto& c : kCases) {
    ExpectBecomes(absl::StrCat(head, "output y = ", c.before, "\n"),
                  absl::StrCat(head, "output y = ", c.after, "\n"), SinkViews);
    const std::string text = absl::StrCat(head, "output y = ", c.before, "\n");
    for (int64_t n : {0, 1, 3})
      EXPECT_EQ(Difference(Parsed(text), Rewritten(text, SinkViews), {n}), 0) << c.before;
  }
}

// Each convolution as the importer writes it: rows by a matrix, then [n, o, m] -> [n, m, o].
std::string Convolutions(const std::string& tail) {
  return absl::StrCat(R"(
dim n, o
x: f32[n, o, 8]
w = constant(f32[8, 4]{0.5*32})
c = permute(reshape(reshape(x, [n*o, 8]) @ w, [n, o, 4]), axes=[0, 2, 1])
b = constant(f32[1, 4, 1]{1, 2, 3, 4})
)",
                      tail);
}

TEST(SinkViewsTest, BiasActivationAndResidualOfAConvolutionAreItsProductsEpilogue) {
  const std::string text = Convolutions(R"(
r: f32[n, 4, o]
y = relu(c + b + r)
output z = permute(y, axes=[0, 2, 1])
)");
  EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul add add relu)"));
  EXPECT_LT(CompiledDifference(text, {{2, 3}}), 1e-6);
}

TEST(SinkViewsTest, AValueThatWaitsForTheProductKeepsItsPlace) {
  const std::string text = Convolutions("output y = c + relu(max(c, axes=[2], keep_dims=true))\n");
  EXPECT_THAT(Text(Rewritten(text, SinkViews)), HasSubstr("permute"));
  EXPECT_EQ(Difference(Parsed(text), Rewritten(text, SinkViews), {2, 3}), 0);
}

// -- factors behind products

ir::Graph Folded(const std::string& text) {
  ir::Graph graph = Rewritten(text, SinkViews);
  PassContext context;
  EXPECT_TRUE(FoldScale(graph, context).ok());
  EXPECT_TRUE(ir::Verify(graph).ok()) << ir::Verify(graph) << ir::Print(graph);
  return graph;
}

void ExpectFolds(const std::string& before, const std::string& after) {
  EXPECT_EQ(Text(Folded(before)), Text(Rewritten(after, SinkViews))) << before;
}

constexpr const char* kProduct = "dim n\nx: f32[n, 2]\nw = constant(f32[2, 2]{1, 2, 3, 4})\n";

TEST(FoldScaleTest, FactorsAndTermsOfColumnsGoIntoTheConstants) {
  const struct {
    const char* before;
    const char* after;
  } kCases[] = {
      {"x @ w * constant(f32[2]{2, 4})", "x @ constant(f32[2, 2]{2, 8, 6, 16})"},
      {"x @ w * 3", "x @ constant(f32[2, 2]{3, 6, 9, 12})"},
      {"x @ w / constant(f32[2]{2, 4})", "x @ constant(f32[2, 2]{0.5, 0.5, 1.5, 1})"},
      {"(x @ w + constant(f32[2]{1, 2})) * constant(f32[2]{2, 4}) + constant(f32[2]{5, 6})",
       "x @ constant(f32[2, 2]{2, 8, 6, 16}) + constant(f32[2]{7, 14})"},
      {"(x @ w - constant(f32[2]{1, 2})) * constant(f32[2]{2, 4}) + constant(f32[2]{5, 6})",
       "x @ constant(f32[2, 2]{2, 8, 6, 16}) - constant(f32[2]{-3, 2})"},
      {"(x @ w * 2 + constant(f32[2]{1, 2})) * 3 - 1",
       "x @ constant(f32[2, 2]{6, 12, 18, 24}) + constant(f32[2]{2, 5})"},
  };
  for (const auto& c : kCases) {
    ExpectFolds(absl::StrCat(kProduct, "output y = ", c.before, "\n"),
                absl::StrCat(kProduct, "output y = ", c.after, "\n"));
  }
}

TEST(FoldScaleTest, AlsoThroughTheViewsBehindAConvolution) {
  const std::string text = Convolutions(
      "y = relu(c * constant(f32[4, 1]{1, 2, 3, 4}) + b)\noutput z = permute(y, axes=[0, 2, 1])\n");
  const std::string folded = Text(Folded(text));
  EXPECT_THAT(folded, Not(HasSubstr(" mul(")));
  EXPECT_THAT(folded, HasSubstr("{0.5, 1, 1.5, 2,"));
  EXPECT_LT(Difference(Parsed(text), Folded(text), {2, 3}), 1e-6);
  EXPECT_THAT(Plan(text), HasSubstr("gemm (matmul add relu)"));
}

TEST(FoldScaleTest, WhatHasOtherUsersOrIsNotFiniteOrNotAColumnStays) {
  for (const char* lines : {
           "p = x @ w\noutput p\noutput y = p * 2\n",         // the product
           "output a = x @ w\noutput y = relu(x) @ w * 2\n",  // the matrix
           "p = x @ w + 1\noutput p\noutput y = p * 2\n",     // the sum
           "output y = x @ w * 3e+38\n",                      // overflows
           "output y = x @ w * constant(f32[2]{1, inf})\n",   // is no number
           "output y = x @ w / 0\n",                          //
           "f: f32[2]\noutput y = x @ w * f\n",               // not constant
           "output y = relu(x @ w) * 2\n",                    // something between
           "output y = 2 / (x @ w)\n",                        // below the line
       }) {
    const std::string text = absl::StrCat(kProduct, lines);
    EXPECT_EQ(Text(Folded(text)), Text(Rewritten(text, SinkViews))) << lines;
  }
  // A factor a row.
  const std::string rows =
      "x: f32[2, 2]\noutput y = x @ constant(f32[2, 2]{1, 2, 3, 4}) * constant(f32[2, 1]{5, 6})\n";
  EXPECT_EQ(Text(Folded(rows)), Text(Rewritten(rows, SinkViews)));
}

// -- rotary embedding

TEST(RotaryTest, IsOneKernel) {
  EXPECT_EQ(Kernels(R"(
dim n, s
x: f32[n, 2, s, 16]
c: f32[s, 16]
d: f32[s, 16]
output y = x * c + concat(neg(x[:, :, :, 8:]), x[:, :, :, :8], axis=3) * d
)"),
            1);
}

// -- transposes into products

TEST(TransposeTest, AProductOfTransposedOperandsIsOneKernel) {
  EXPECT_EQ(Kernels("dim n\na: f32[n, 3]\nb: f32[n, 4]\n"
                    "output y = permute(a, axes=[1, 0]) @ b\n"),
            1);
  EXPECT_EQ(Kernels("dim n\na: f32[n, 3]\nb: f32[4, 3]\n"
                    "output y = a @ permute(b, axes=[1, 0])\n"),
            1);
}

}  // namespace
}  // namespace lathe::compiler
