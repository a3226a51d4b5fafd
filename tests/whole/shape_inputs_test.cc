// Shape arithmetic in tensors and shape inputs: recognised as dims, bound from the data of a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/element_dims.h"
#include "ir/interpreter.h"
#include "runtime/function_state.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using ::testing::HasSubstr;

// Calls the program with each list of inputs in the order A, B, .., A and compares with the
// interpreter and the evaluator; nothing may compile in between.
void CheckCalls(const std::string& text, const std::vector<std::vector<Tensor>>& calls) {
  SCOPED_TRACE(text);
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<ir::Graph> graph = ir::Parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<ir::Graph> again = ir::Parse(ir::Print(*graph));
  ASSERT_TRUE(again.ok()) << again.status() << "\n" << ir::Print(*graph);
  EXPECT_TRUE(ir::Equal(*graph, *again)) << ir::Print(*graph) << ir::Print(*again);
  absl::StatusOr<Function> f = CompileGraph(engine, *graph);
  ASSERT_TRUE(f.ok()) << f.status();
  const int64_t compiles = engine.counters().compiles;
  for (size_t turn = 0; turn <= calls.size(); ++turn) {
    const std::vector<Tensor>& inputs = calls[turn % calls.size()];
    absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(*graph, inputs);
    ASSERT_TRUE(wanted.ok()) << "turn " << turn << ": " << wanted.status();
    const absl::Status s = CheckCall(*f, *graph, inputs, /*exact=*/true, true);
    ASSERT_TRUE(s.ok()) << "turn " << turn << ": " << s;
  }
  EXPECT_EQ(engine.counters().compiles, compiles) << "a size was specialised silently";
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
}

TEST(ShapeInputs, AReshapeTakesItsTargetFromTheDataOfEachCall) {
  const std::string text = "x: f32[n, m]\ntarget: i64[2]\ny = reshape(x, target) * 2\noutput y\n";
  CheckCalls(text, {{Counted({6, 4}), I64({2}, {8, 3})},
                    {Counted({6, 4}), I64({2}, {1, 24})},
                    {Counted({2, 1}), I64({2}, {1, 2})},
                    {Counted({0, 4}), I64({2}, {0, 9})}});
}

TEST(ShapeInputs, AnI32InputAndScalarsGiveSizes) {
  CheckCalls(
      "x: f32[n]\ncount: i32[]\ny = broadcast(x, concat(reshape(cast(count, i64), [1]), "
      "shape_of(x), axis=0))\noutput y\n",
      {{Counted({3}), I32({}, {2})}, {Counted({1}), I32({}, {0})}, {Counted({5}), I32({}, {1})}});
}

TEST(ShapeInputs, ConstantsOf1And0AndMinus1FollowTheRulesOfReshape) {
  CheckCalls(
      "x: f32[n, 4]\nrows: i64[1]\n"
      "y = reshape(x, concat(rows, constant(i64[2]{-1, 2}), axis=0))\noutput y\n",
      {{Counted({6, 4}), I64({1}, {3})}, {Counted({1, 4}), I64({1}, {2})}});
  CheckCalls(
      "x: f32[n, 4]\ny = reshape(x, concat(shape_of(x)[0:1], constant(i64[1]{-1}), axis=0))"
      "\noutput y\n",
      {{Counted({0, 4})}, {Counted({3, 4})}});
}

TEST(ShapeArithmetic, LeavesNoKernelsBehind) {
  Engine engine({.threads = 1, .background_compiles = false});
  // As an exporter writes a flattening of the last two axes: shape, gather, product, concat.
  const Function f = CompileText(engine, R"(x: f32[batch, seq, 8]
s = shape_of(x * 2)
b = gather(s, constant(i64[1]{0}), axis=0)
l = gather(s, constant(i64[1]{1}), axis=0)
c = gather(s, constant(i64[1]{-1}), axis=0)
flat = mul(l, c)
y = reshape(x, concat(b, flat, axis=0)) + 1
output y
)");
  ASSERT_NE(f.state(), nullptr);
  EXPECT_EQ(f.state()->table()->versions()[0]->program.kernels.size(), 1u);
  for (int64_t seq : {5, 0, 1, 5}) {
    absl::StatusOr<std::vector<Tensor>> out = f.call({Counted({2, seq, 8})});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT((*out)[0].shape(), testing::ElementsAre(2, seq * 8));
  }
}

TEST(ShapeArithmetic, IsDataToWhoElseUsesIt) {
  CheckCalls("x: f32[n, m]\ns = shape_of(x)\ny = reshape(x, [m, n])\noutput y\noutput s\n",
             {{Counted({2, 3})}, {Counted({0, 1})}, {Counted({7, 5})}});
  CheckCalls(
      "x: f32[n]\ntarget: i64[2]\ny = reshape(x, target)\nz = target * 3\noutput y\n"
      "output z\n",
      {{Counted({6}), I64({2}, {2, 3})}, {Counted({4}), I64({2}, {4, 1})}});
}

TEST(ShapeArithmetic, EveryOpThatKeepsSizesIsRecognised) {
  const auto dims = [](const std::string& value) -> std::string {
    absl::StatusOr<ir::Graph> g = ir::Parse(
        absl::StrCat("x: f32[n, m, 6]\nt: i64[2]\nassume t.1 >= 1\ns = shape_of(x)\ny = ", value,
                     "\noutput y\n"));
    if (!g.ok()) return g.status().ToString();
    const std::optional<std::vector<Dim>> found = ir::ElementDims(&*g, g->body.results[0]);
    return found ? ToString(*found) : "none";
  };
  EXPECT_EQ(dims("s"), "[n, m, 6]");
  EXPECT_EQ(dims("s[1:]"), "[m, 6]");
  EXPECT_EQ(dims("s[::-1]"), "[6, m, n]");
  EXPECT_EQ(dims("gather(s, constant(i64[2]{2, -3}), axis=0)"), "[6, n]");
  EXPECT_EQ(dims("concat(t, s[0:1] * 2 + 1, axis=0)"), "[t.0, t.1, 2*n + 1]");
  EXPECT_EQ(dims("prod(s)"), "[6*n*m]");
  EXPECT_EQ(dims("sum(s)"), "[n + m + 6]");
  EXPECT_EQ(dims("cast(cast(s[2], i32), i64)"), "[6]");
  EXPECT_EQ(dims("floordiv(s[0], 2)"), "[n // 2]");
  EXPECT_EQ(dims("div(s[0], t[1])"), "[n // t.1]");
  EXPECT_EQ(dims("mod(s[0], t[1])"), "[n % t.1]");
  EXPECT_EQ(dims("div(s[0], t[0])"), "none") << "0 / 0 is 0 for elements and an error for sizes";
  EXPECT_EQ(dims("maximum(s[0], s[1])"), "[max(n, m)]");
  EXPECT_EQ(dims("neg(s[0])"), "[-n]");
  EXPECT_EQ(dims("select(s[2] == 6, s[0], s[1])"), "[n]");
  EXPECT_EQ(dims("select(s[0] == 6, s[0], s[1])"), "none");
  EXPECT_EQ(dims("select(s[0] == 6, s[1], s[1])"), "[m]");
  EXPECT_EQ(dims("broadcast(s[0], shape=[3])"), "[n, n, n]");
  EXPECT_EQ(dims("iota([3], axis=0, dtype=i64) + s"), "[n, m + 1, 8]");
  EXPECT_EQ(dims("argmax(t, axis=0)"), "none");
}

TEST(ShapeInputs, ErrorsNameArgumentElementAndValue) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f = CompileText(
      engine,
      "x: f32[n]\ntarget: i64[2]\nassume target.1 <= 8\ny = reshape(x, target)\noutput y\n");
  ASSERT_NE(f.state(), nullptr);
  const auto message = [&](std::vector<Tensor> inputs) {
    return std::string(f.call(inputs).status().message());
  };
  EXPECT_THAT(message({Counted({6}), I64({2}, {-1, 6})}),
              HasSubstr("`0 <= target.0` is violated: target.0 = -1 (element 0 of input target);"));
  EXPECT_THAT(message({Counted({9}), I64({2}, {1, 9})}),
              HasSubstr("target.1 = 9 (element 1 of input target)"));
  EXPECT_THAT(message({Counted({6}), I64({2}, {2, 4})}), HasSubstr("n = 6 (axis 0 of input x)"));
  EXPECT_THAT(message({Counted({6}), I64({2}, {2, 4})}),
              HasSubstr("target.0 = 2 (element 0 of input target)"));
  EXPECT_THAT(message({Counted({6}), I64({3}, {2, 4, 1})}),
              HasSubstr("input target: axis 0 has extent 3, wanted 2"));
  EXPECT_THAT(message({Counted({6}), I32({2}, {2, 3})}), HasSubstr("wanted type i64"));
  EXPECT_THAT(message({Counted({6}), I64({2}, {INT64_MAX, INT64_MAX})}), testing::Ne(""));
  EXPECT_EQ(message({Counted({6}), I64({2}, {2, 3})}), "");
}

TEST(ShapeInputs, ATargetThatIsNotMadeOfSizesIsAnError) {
  const auto message = [](const std::string& text) {
    return std::string(ir::Parse(text).status().message());
  };
  EXPECT_THAT(message("x: f32[n]\nk: i64[n]\ny = reshape(x, k)\n"),
              HasSubstr("isn't made of sizes"));
  EXPECT_THAT(message("x: f32[4]\ny = reshape(x, argmax(reshape(x, [2, 2]), axis=0))\n"),
              HasSubstr("argmax"));
  EXPECT_THAT(message("x: f32[4]\ny = reshape(x, x)\n"), HasSubstr("has no whole elements"));
}

TEST(ShapeInputs, SizesByNameServePrepareMemoryAndExplain) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f = CompileText(engine,
                                 "x: f32[n]\ntarget: i64[2]\ny = exp(reshape(x, target))\n"
                                 "z = softmax(y, axis=0)\noutput z\n");
  ASSERT_NE(f.state(), nullptr);
  const Sizes sizes = {{"n", 12}, {"target.0", 3}, {"target.1", 4}};
  EXPECT_TRUE(f.prepare({&sizes, 1}).ok());
  absl::StatusOr<std::vector<std::vector<int64_t>>> shapes = f.output_shapes(sizes);
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_THAT((*shapes)[0], testing::ElementsAre(3, 4));
  EXPECT_GE(f.peak_bytes(sizes).value(), 48);
  EXPECT_TRUE(f.explain(sizes).ok());
  EXPECT_THAT(std::string(f.output_shapes({{"n", 12}, {"target.0", 3}}).status().message()),
              HasSubstr("no size is given for target.1"));
  Context context;
  ASSERT_TRUE(f.reserve(context, sizes).ok());
  Tensor out(f32, {3, 4});
  const int64_t grown = engine.counters().arena_growths;
  ASSERT_TRUE(f.call_into({Counted({12}), I64({2}, {3, 4})}, {out}, context).ok());
  EXPECT_EQ(engine.counters().arena_growths, grown);
  EXPECT_EQ(f.call_into({Counted({12}), I64({2}, {4, 3})}, {out}, context).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(f.call_into({Counted({12}), I64({2}, {3, 4})}, {out}, context).ok());
}

TEST(ShapeInputs, StridedAndMisalignedDataIsRead) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f =
      CompileText(engine, "x: f32[n]\ntarget: i64[2]\ny = reshape(x, target)\noutput y\n");
  ASSERT_NE(f.state(), nullptr);
  std::vector<char> bytes(64, 0x55);
  const int64_t values[] = {3, 2};
  for (int i = 0; i < 2; ++i)
    std::memcpy(bytes.data() + 1 + 24 * (1 - i), &values[i], sizeof values[i]);
  const Tensor target = Tensor::View(bytes.data() + 25, i64, {2}, {-3});
  absl::StatusOr<std::vector<Tensor>> out = f.call({Counted({6}), target});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT((*out)[0].shape(), testing::ElementsAre(3, 2));
}

TEST(ShapeInputs, TheTracingDslTakesValuesAsShapes) {
  Trace t("dsl");
  const Dim n = t.dim("n"), m = t.dim("m");
  const Value x = t.input("x", f32, {n, m});
  const Value target = t.input("target", i32, {3});
  const Value wide = broadcast_to(t.scalar(f32, 2), target);
  const Value y = reshape(x, shape_of(wide)) * wide;
  const Dim last = element_dims(target)[2];
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = engine.compile(t.finish({y, t.size(last)}));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  for (const std::vector<int32_t>& shape :
       {std::vector<int32_t>{2, 2, 3}, {1, 12, 1}, {2, 2, 3}, {0, 5, 7}}) {
    const int64_t count = int64_t{shape[0]} * shape[1] * shape[2];
    absl::StatusOr<std::vector<Tensor>> out = f->call({Counted({count, 1}), I32({3}, shape)});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_THAT((*out)[0].shape(), testing::ElementsAre(shape[0], shape[1], shape[2]));
    if (count > 1) {
      EXPECT_EQ((*out)[0].data<float>()[1], 2);
    }
    EXPECT_EQ(*(*out)[1].data<int64_t>(), shape[2]);
  }
}

}  // namespace
}  // namespace lathe::whole
