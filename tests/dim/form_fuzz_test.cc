// The canonical form, evaluation, substitution, dim programs and the text of random expressions
// against plain evaluation, with negative values, 0, and nested `//` and `%`.
#include <gtest/gtest.h>

#include "ir/dim/dim_program.h"
#include "ir/dim/facts.h"
#include "random_dims.h"

namespace lathe::dim {
namespace {

constexpr int kSymbols = 3;

class FormFuzz : public testing::Test {
 protected:
  FormFuzz() : random_(FuzzSeed(), kSymbols) {
    for (const char* name : {"a", "b", "c"}) context_.Symbol(name);
  }

  std::vector<int64_t> Assignment() {
    return {random_.Int(-9, 14), random_.Int(-9, 14), random_.Int(-9, 14)};
  }

  DimContext context_;
  RandomDims random_;
};

TEST_F(FormFuzz, CanonicalFormEvaluatesLikeThePlainExpression) {
  for (int round = 0; round < FuzzRounds(30000); ++round) {
    std::shared_ptr<Tree> tree = random_.Expression(4);
    Dim d = Build(*tree, &context_);
    for (int i = 0; i < 6; ++i) {
      std::vector<int64_t> values = Assignment();
      std::optional<int64_t> want = PlainEvaluate(*tree, values);
      if (!want || !d.ok()) continue;
      absl::StatusOr<int64_t> got = Evaluate(d, values);
      ASSERT_TRUE(got.ok()) << d.ToString() << ": " << got.status();
      ASSERT_EQ(*got, *want) << d.ToString() << " at " << testing::PrintToString(values);
    }
  }
}

TEST_F(FormFuzz, TextReadsBackToTheSameDim) {
  for (int round = 0; round < FuzzRounds(30000); ++round) {
    Dim d = Build(*random_.Expression(5), &context_);
    if (!d.ok()) continue;
    absl::StatusOr<Dim> back = ParseDim(d.ToString(), &context_, false);
    ASSERT_TRUE(back.ok()) << d.ToString() << ": " << back.status();
    ASSERT_EQ(*back, d) << d.ToString() << " became " << back->ToString();
  }
}

TEST_F(FormFuzz, DimProgramGivesTheValueOfEvaluate) {
  for (int round = 0; round < FuzzRounds(4000); ++round) {
    DimProgramBuilder builder(&context_);
    for (SymbolId s = 0; s < kSymbols; ++s) builder.Input(context_.SymbolDim(s));
    std::vector<Dim> dims;
    std::vector<int> slots;
    for (int i = 0; i < 3; ++i) {
      Dim d = Build(*random_.Expression(4), &context_);
      if (!d.ok()) continue;
      dims.push_back(d);
      slots.push_back(builder.Slot(d));
      ASSERT_GE(slots.back(), 0);
    }
    DimProgram program = builder.Build();
    for (int i = 0; i < 5; ++i) {
      std::vector<int64_t> values = Assignment();
      std::vector<int64_t> memory(static_cast<size_t>(program.num_slots()));
      std::copy(values.begin(), values.end(), memory.begin());
      int failed = program.Run(memory.data());
      bool defined = true;
      for (size_t k = 0; k < dims.size(); ++k) {
        absl::StatusOr<int64_t> want = Evaluate(dims[k], values);
        defined &= want.ok();
        if (failed < 0) {
          ASSERT_TRUE(want.ok());
          ASSERT_EQ(memory[static_cast<size_t>(slots[k])], *want) << dims[k].ToString();
        }
      }
      ASSERT_EQ(failed < 0, defined) << program.Explain(failed, memory.data());
    }
  }
}

TEST_F(FormFuzz, SubstituteEvaluatesLikeReplacedValues) {
  DimContext other;
  for (int round = 0; round < FuzzRounds(10000); ++round) {
    Dim d = Build(*random_.Expression(4), &context_);
    Dim x = Build(*random_.Expression(2), &context_), y = Build(*random_.Expression(2), &context_);
    bool same = random_.Chance(50);
    absl::flat_hash_map<SymbolId, Dim> rename;
    if (!d.ok() || !x.ok() || !y.ok()) continue;
    DimContext* target = same ? &context_ : &other;
    if (!same) {  // what replaces must live in the target
      x = Substitute(x, {}, &other);
      y = Substitute(y, {}, &other);
    }
    Dim replaced = Substitute(d, {{0, x}, {1, y}}, target);
    if (!replaced.ok()) continue;
    std::vector<int64_t> values = Assignment(), named(values.size());
    for (SymbolId s = 0; s < kSymbols; ++s) {
      SymbolId id = 0;
      IsSymbol(target->Symbol(context_.SymbolName(s)), &id);
      named[id] = values[s];
    }
    absl::StatusOr<int64_t> vx = Evaluate(x, named), vy = Evaluate(y, named);
    if (!vx.ok() || !vy.ok()) continue;
    absl::StatusOr<int64_t> want = Evaluate(d, {*vx, *vy, values[2]});
    if (!want.ok()) continue;
    absl::StatusOr<int64_t> got = Evaluate(replaced, named);
    ASSERT_TRUE(got.ok()) << replaced.ToString() << got.status();
    ASSERT_EQ(*got, *want) << d.ToString() << " became " << replaced.ToString();
  }
}

TEST_F(FormFuzz, SplitAffineAddsUp) {
  for (int round = 0; round < FuzzRounds(10000); ++round) {
    Dim d = Build(*random_.Expression(4), &context_), slope, rest;
    if (!d.ok() || !SplitAffine(d, 1, &slope, &rest)) continue;
    EXPECT_FALSE(DependsOn(slope, 1));
    EXPECT_FALSE(DependsOn(rest, 1));
    ASSERT_EQ(slope * context_.SymbolDim(1) + rest, d);
  }
}

}  // namespace
}  // namespace lathe::dim
