// Binding of symbols, checks of facts, limits, control flow, composites and float64 mode.
#include "ir/interpreter.h"

#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/compare.h"
#include "ir/expand.h"
#include "tests/ir/interpret_util.h"

namespace lathe::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InterpreterTest : public ::testing::Test {
 protected:
  Dim S(const char* name) { return g_.dims()->Symbol(name); }
  ValueId In(const char* name, DType t, Shape shape) {
    return *b_.Input(name, {t, std::move(shape)});
  }
  void Declare(const char* facts) {
    const absl::Status s = g_.facts().AddSpec(nullptr, facts, {"test", "here:1"});
    ASSERT_TRUE(s.ok()) << s;
  }
  std::string Message(const std::vector<Tensor>& inputs, const InterpretOptions& o = {}) {
    absl::StatusOr<std::vector<Tensor>> out = Interpret(g_, inputs, o);
    return out.ok() ? "ok: " + out->front().ToString() : std::string(out.status().message());
  }
  absl::StatusOr<std::vector<int64_t>> Bind(const std::vector<Tensor>& inputs) {
    return BindSymbols(g_, inputs);
  }

  Graph g_;
  Builder b_{&g_};
};

TEST_F(InterpreterTest, BindsSymbolsAndAffineDims) {
  const Dim a = S("a"), b = S("b");
  In("x", f32, {2 * a, a + b});
  EXPECT_THAT(*Bind({Tensor(f32, {6, 10})}), ElementsAre(3, 7));
  EXPECT_THAT(std::string(Bind({Tensor(f32, {7, 10})}).status().message()),
              HasSubstr("input 'x' axis 0 is 7, wanted 2*a for a whole a: 7 isn't a multiple of 2 "
                        "(remainder 1)"));
  EXPECT_THAT(std::string(Bind({Tensor(f32, {6, 1})}).status().message()),
              HasSubstr("which makes b = -2, wanted >= 0"));
}

TEST_F(InterpreterTest, BindsInAnyOrderAndChecksProducts) {
  const Dim a = S("a"), b = S("b");
  In("x", f32, {a * b});
  In("y", f32, {b});
  EXPECT_THAT(*Bind({Tensor(f32, {12}), Tensor(f32, {4})}), ElementsAre(3, 4));
  EXPECT_THAT(std::string(Bind({Tensor(f32, {13}), Tensor(f32, {4})}).status().message()),
              HasSubstr("remainder 1"));
}

TEST_F(InterpreterTest, RefusesWhatDoesNotFitAndSaysWhere) {
  In("x", f32, {S("n"), 3});
  In("y", f32, {S("n")});
  const Tensor x(f32, {2, 3});
  EXPECT_THAT(std::string(Bind({x}).status().message()), HasSubstr("got 1 inputs"));
  EXPECT_THAT(std::string(Bind({x, Tensor(f32, {3})}).status().message()),
              HasSubstr("input 'y' axis 0 is 3, wanted 2: it is n, n = 2"));
  EXPECT_THAT(std::string(Bind({Tensor(f32, {2, 4}), Tensor(f32, {2})}).status().message()),
              HasSubstr("input 'x' axis 1 is 4, wanted 3"));
  EXPECT_THAT(std::string(Bind({Tensor(i32, {2, 3}), Tensor(f32, {2})}).status().message()),
              HasSubstr("input 'x' is i32[2, 3], wanted f32[n, 3]"));
  EXPECT_THAT(std::string(Bind({Tensor(f32, {2}), Tensor(f32, {2})}).status().message()),
              HasSubstr("input 'x' is f32[2]"));
  EXPECT_FALSE(Bind({Tensor(f32, {-1, 3}), Tensor(f32, {2})}).ok());
}

TEST_F(InterpreterTest, MissingSymbolsAreNamedUnlessNothingNeedsThem) {
  S("unused");
  const Dim n = S("n");
  In("x", f32, {2});
  EXPECT_THAT(*Bind({Tensor(f32, {2})}), ElementsAre(0, 0));
  const ValueId count = *b_.Create(Op::k_iota, {}, {.axis = 0, .shape = Shape{n}, .dtype = i32});
  ASSERT_TRUE(b_.Output("y", count).ok());
  EXPECT_THAT(Message({Tensor(f32, {2})}), HasSubstr("symbol 'n' isn't determined"));
  Declare("n == 3");
  EXPECT_EQ(Message({Tensor(f32, {2})}), "ok: i32[3]{0, 1, 2}");
}

TEST_F(InterpreterTest, S5AConstraintOnADimThatNoTensorUses) {
  S("b");
  Declare("b <= 0");
  ASSERT_TRUE(b_.Output("y", In("x", f32, {1})).ok());
  EXPECT_EQ(Message({Tensor(f32, {1})}), "ok: f32[1]{0}");
}

TEST_F(InterpreterTest, S6DeclaredEqualitiesBindAndAreChecked) {
  const Dim a = S("a"), b = S("b");
  Declare("a == b");
  const ValueId x = In("x", f32, {2 * a});
  ASSERT_TRUE(b_.Output("x", x).ok());
  const ValueId n = *b_.Create(Op::k_size, {}, {.dim = b});
  ASSERT_TRUE(b_.Output("n", n).ok());
  absl::StatusOr<std::vector<Tensor>> out = Interpret(g_, {Tensor(f32, {8})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[1].ToString(), "i64[]{4}");
}

TEST_F(InterpreterTest, FactsAreCheckedWithArgumentValueAndRemainder) {
  const Dim seq = S("seq");
  Declare("seq % 8 == 0, seq <= 64");
  ASSERT_TRUE(b_.Output("y", In("x", f32, {2, seq})).ok());
  EXPECT_THAT(Message({Tensor(f32, {2, 12})}),
              HasSubstr("declared fact seq % 8 == 0 (test, here:1) doesn't hold: seq = 12 leaves "
                        "remainder 4; seq = 12 (input 'x' axis 1)"));
  EXPECT_THAT(Message({Tensor(f32, {2, 72})}), HasSubstr("seq = 72"));
  EXPECT_EQ(Message({Tensor(f32, {2, 0})}), "ok: f32[2, 0]{}");
  EXPECT_THAT(Message({Tensor(f32, {1, 12})}, {.check_facts = false}), HasSubstr("wanted 2"));
  EXPECT_THAT(Message({Tensor(f32, {2, 12})}, {.check_facts = false}), HasSubstr("ok"));
}

TEST_F(InterpreterTest, Z5ReshapeCancelsBeforeItDivides) {
  const Dim n = S("n");
  const ValueId x = In("x", f32, {n, 4});
  ASSERT_TRUE(b_.Output("y", *b_.Reshape(x, {n, -1})).ok());
  EXPECT_EQ(Message({Tensor(f32, {0, 4})}), "ok: f32[0, 4]{}");
  EXPECT_EQ(Message({Tensor(f32, {1, 4})}), "ok: f32[1, 4]{0, 0, 0, 0}");
}

TEST_F(InterpreterTest, RequiredFactsNameTheRemainder) {
  const ValueId x = In("x", f32, {S("batch"), S("seq")});
  ASSERT_TRUE(b_.Output("y", *b_.Reshape(x, {-1, 512})).ok());
  EXPECT_THAT(Message({Tensor(f32, {3, 200})}), HasSubstr("88"));
  EXPECT_THAT(Message({Tensor(f32, {3, 200})}), HasSubstr("input 'x' axis 1"));
  EXPECT_THAT(Message({Tensor(f32, {2, 256})}), HasSubstr("ok: f32[1, 512]"));
}

TEST_F(InterpreterTest, O4RefusesBeforeAllocating) {
  const Dim n = S("n");
  const ValueId x = In("x", f32, {n});
  const ValueId zero = *b_.ScalarConstant(f32, 0);
  const Dim huge = n * (int64_t{1} << 32);
  ASSERT_TRUE(b_.Output("y", *b_.BroadcastTo(zero, {huge, huge})).ok());
  EXPECT_THAT(Message({Tensor(f32, {1})}), HasSubstr("passes 64 bits"));
  EXPECT_THAT(Message({Tensor(f32, {512})}), HasSubstr("wanted 0..1099511627776"));
  EXPECT_THAT(Message({Tensor(f32, {0})}), HasSubstr("ok: f32[0, 0]{}"));
  (void)x;
}

TEST_F(InterpreterTest, LimitsBytesOfAValue) {
  const Dim n = S("n");
  const ValueId x = In("x", f32, {n});
  const ValueId y = *b_.BroadcastTo(x, {n, n});
  ASSERT_TRUE(b_.Output("y", y).ok());
  absl::StatusOr<std::vector<Tensor>> out = Interpret(g_, {Tensor(f32, {8})}, {.max_bytes = 255});
  EXPECT_EQ(out.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(out.status().message()),
              HasSubstr("f32[n, n] = [8, 8] takes 256 bytes, the limit is 255"));
  EXPECT_TRUE(Interpret(g_, {Tensor(f32, {8})}, {.max_bytes = 256}).ok());
}

TEST_F(InterpreterTest, S7BranchesOnSizesRunOneSide) {
  const Dim n = S("n");
  const ValueId x = In("x", f32, {n});
  ASSERT_TRUE(b_.OpenIf(Eq(n, 1)).ok());
  ASSERT_TRUE(b_.Else(*b_.Create(Op::k_neg, {x})).ok());
  ASSERT_TRUE(b_.OpenIf(n >= 3).ok());
  ASSERT_TRUE(b_.Else(x).ok());
  const ValueId nested = *b_.CloseIf(*b_.Create(Op::k_add, {x, x}));
  const ValueId y = *b_.CloseIf(nested);
  ASSERT_TRUE(b_.Output("y", *b_.Create(Op::k_mul, {y, x})).ok());
  const auto ones = [](int64_t count) {
    return Tensor::FromVector<float>({count}, std::vector<float>(static_cast<size_t>(count), 1));
  };
  EXPECT_EQ(Message({ones(1)}), "ok: f32[1]{-1}");
  EXPECT_EQ(Message({ones(2)}), "ok: f32[2]{2, 2}");
  EXPECT_EQ(Message({ones(3)}), "ok: f32[3]{1, 1, 1}");
  EXPECT_EQ(Message({ones(0)}), "ok: f32[0]{}");
}

TEST_F(InterpreterTest, CompositesInBranchesExpandInPlace) {
  const Dim n = S("n");
  const ValueId x = In("x", f32, {n, 2});
  ASSERT_TRUE(b_.OpenIf(n >= 2).ok());
  ASSERT_TRUE(b_.Else(*b_.Create(Op::k_softmax, {x}, {.axis = 1})).ok());
  const ValueId y = *b_.CloseIf(*b_.Create(Op::k_relu, {x}));
  const ValueId z = *b_.Create(Op::k_mean, {y}, {.axes = {1}});
  ASSERT_TRUE(b_.Output("z", z).ok());
  ASSERT_TRUE(b_.Output("y", y).ok());
  EXPECT_EQ(Message({Tensor(f32, {2, 2})}), "ok: f32[2]{0.5, 0.5}");
  EXPECT_EQ(Message({Tensor(f32, {1, 2})}), "ok: f32[1]{0}");
  Graph expanded = g_.Clone();
  ASSERT_TRUE(ExpandComposites(&expanded).ok());
  EXPECT_TRUE(Verify(expanded).ok()) << Verify(expanded);
  for (ValueId v : expanded.body.nodes) EXPECT_NE(expanded.node(v).op, Op::k_mean);
}

TEST_F(InterpreterTest, NormsAndSoftmaxMatchTheirFormulas) {
  const std::vector<float> v = {0.5f, -1.25f, 3, 0.125f, 7, -2};
  const Tensor x = Tensor::FromVector<float>({2, 3}, v);
  const Tensor gamma = Tensor::FromVector<float>({3}, {1, 2, 0.5f});
  const Tensor beta = Tensor::FromVector<float>({3}, {0.25f, 0, -1});
  const double epsilon = double{1e-5f};  // in float64 mode as well a constant keeps its f32 value
  Tensor norm(f64, {2, 3}), rms(f64, {2, 3}), soft(f64, {2, 3});
  for (int r = 0; r < 2; ++r) {
    const float* row = v.data() + 3 * r;
    const double mean = (double{row[0]} + row[1] + row[2]) / 3;
    double variance = 0, square = 0, total = 0;
    for (int i = 0; i < 3; ++i) {
      variance += (row[i] - mean) * (row[i] - mean) / 3;
      square += double{row[i]} * row[i] / 3;
      total += std::exp(double{row[i]});
    }
    for (int i = 0; i < 3; ++i) {
      const double g = gamma.data<float>()[i], at = row[i];
      norm.data<double>()[3 * r + i] =
          (at - mean) / std::sqrt(variance + epsilon) * g + beta.data<float>()[i];
      rms.data<double>()[3 * r + i] = at / std::sqrt(square + epsilon) * g;
      soft.data<double>()[3 * r + i] = std::exp(at) / total;
    }
  }
  for (bool in_f64 : {false, true}) {
    const RunOptions o{.symbolic = false, .interpret = {.in_f64 = in_f64}};
    const double bound = in_f64 ? 1e-14 : 1e-6;
    EXPECT_LT(RelativeError(*RunOp(Op::k_layer_norm, {x, gamma, beta}, {.epsilon = 1e-5}, o), norm),
              bound);
    EXPECT_LT(RelativeError(*RunOp(Op::k_rms_norm, {x, gamma}, {.epsilon = 1e-5}, o), rms), bound);
    EXPECT_LT(RelativeError(*RunOp(Op::k_softmax, {x}, {.axis = 1}, o), soft), bound);
  }
}

TEST_F(InterpreterTest, Float64ModeHoldsEveryF32ValueWider) {
  const ValueId x = In("x", f32, {1});
  const ValueId third = *b_.Binary(Op::k_div, x, *b_.ScalarConstant(f32, 3));
  const ValueId tenth = *b_.ScalarConstant(f32, 0.1);
  ASSERT_TRUE(b_.Output("y", third).ok());
  ASSERT_TRUE(b_.Output("tenth", tenth).ok());
  ASSERT_TRUE(b_.Output("p", *b_.Binary(Op::k_lt, x, third)).ok());
  absl::StatusOr<std::vector<Tensor>> out =
      Interpret(g_, {Tensor::FromVector<float>({1}, {1})}, {.in_f64 = true});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].dtype(), f64);
  EXPECT_EQ(*(*out)[0].data<double>(), 1.0 / 3);
  EXPECT_EQ(*(*out)[1].data<double>(), double{0.1f});  // a constant keeps its f32 value
  EXPECT_EQ((*out)[2].dtype(), bool_);
}

TEST_F(InterpreterTest, RandomIsTheSameInBothModesAndAtEverySize) {
  const Dim n = S("n");
  In("x", f32, {n});
  for (const char* d : {"uniform", "normal"}) {
    const ValueId r = *b_.Create(Op::k_random, {},
                                 {.shape = Shape{n}, .dtype = f32, .seed = 3, .distribution = d});
    ASSERT_TRUE(b_.Output(d, r).ok());
  }
  const auto small = *Interpret(g_, {Tensor(f32, {3})}), large = *Interpret(g_, {Tensor(f32, {9})});
  const auto wide = *Interpret(g_, {Tensor(f32, {3})}, {.in_f64 = true});
  for (size_t o : {0, 1}) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(small[o].data<float>()[i], large[o].data<float>()[i]);
      EXPECT_EQ(double{small[o].data<float>()[i]}, wide[o].data<double>()[i]);
    }
  }
}

TEST_F(InterpreterTest, StridedAndMisalignedInputs) {
  const ValueId x = In("x", f32, {S("n"), 2});
  ASSERT_TRUE(b_.Output("y", *b_.Create(Op::k_neg, {x})).ok());
  std::vector<float> base(10);
  std::iota(base.begin(), base.end(), 0.0f);
  EXPECT_EQ(Message({Tensor::View(base.data() + 1, f32, {2, 2}, {1, 2})}),
            "ok: f32[2, 2]{-1, -3, -2, -4}");
  EXPECT_EQ(Message({Tensor::View(base.data() + 5, f32, {3, 2}, {-2, 0})}),
            "ok: f32[3, 2]{-5, -5, -3, -3, -1, -1}");
  std::vector<char> bytes(9);
  std::copy_n(reinterpret_cast<const char*>(base.data() + 1), 8, bytes.data() + 1);
  EXPECT_EQ(Message({Tensor::View(bytes.data() + 1, f32, {1, 2})}), "ok: f32[1, 2]{-1, -2}");
}

TEST_F(InterpreterTest, OutputsNeverAliasInputs) {
  const ValueId x = In("x", f32, {2});
  ASSERT_TRUE(b_.Output("y", x).ok());
  ASSERT_TRUE(b_.Output("again", x).ok());
  Tensor t = Tensor::FromVector<float>({2}, {1, 2});
  const auto out = *Interpret(g_, {t});
  EXPECT_NE(out[0].raw(), t.raw());
  EXPECT_NE(out[0].raw(), out[1].raw());
}

TEST_F(InterpreterTest, ErrorsNameNodeAndPlace) {
  const ValueId x = In("x", f32, {3});
  const ValueId k = In("k", i64, {1});
  b_.set_location({"f.lathe", 7, 0});
  const ValueId y = *b_.Create(Op::k_embedding, {*b_.Reshape(x, {3, 1}), k});
  b_.SetName(y, "row");
  ASSERT_TRUE(b_.Output("y", y).ok());
  EXPECT_THAT(Message({Tensor(f32, {3}), Tensor::FromVector<int64_t>({1}, {-4})}),
              HasSubstr("gather 'row' at f.lathe:7: index -4 at position [0] is outside of axis 0 "
                        "of extent 3"));
}

TEST_F(InterpreterTest, T5AChainOf200000Ops) {
  ValueId v = In("x", i32, {S("n")});
  const ValueId one = *b_.BroadcastTo(*b_.IntConstant(i32, 1), {S("n")});
  for (int i = 0; i < 200000; ++i) v = *b_.Create(Op::k_add, {v, one});
  ASSERT_TRUE(b_.Output("y", v).ok());
  EXPECT_EQ(Message({Tensor(i32, {2})}), "ok: i32[2]{200000, 200000}");
}

}  // namespace
}  // namespace lathe::ir
