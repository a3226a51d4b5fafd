// PartialShape: what is known of a shape, merging and comparing such knowledge.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "ir/dim/context.h"
#include "ir/dim/facts.h"
#include "lathe/shape.h"

namespace lathe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class PartialShapeTest : public testing::Test {
 protected:
  dim::DimContext context;
  dim::FactSet facts{&context};
  Dim batch = context.Symbol("batch"), seq = context.Symbol("seq");

  PartialShape Parse(std::string_view text) {
    absl::StatusOr<PartialShape> p = PartialShape::Parse(text, &context);
    EXPECT_TRUE(p.ok()) << p.status();
    return p.ok() ? *p : PartialShape::OfUnknownRank();
  }
  std::string Error(std::string_view text) {
    absl::StatusOr<PartialShape> p = PartialShape::Parse(text, &context);
    return p.ok() ? "accepted: " + p->ToString() : std::string(p.status().message());
  }
  void Assume(std::string_view claims) {
    ASSERT_TRUE(facts.AddSpec(nullptr, claims, {}).ok()) << claims;
  }
};

TEST_F(PartialShapeTest, TextGoesBothWays) {
  for (const char* text : {"[...]", "[]", "[batch, ?, 768]", "[2*seq + 1, ?]", "[0]"})
    EXPECT_EQ(Parse(text).ToString(), text);
  EXPECT_EQ(Parse("(batch, _, None, 4,)").ToString(), "[batch, ?, ?, 4]");
  EXPECT_EQ(Parse("[batch, ?]"), PartialShape::Of({batch, std::nullopt}));
  EXPECT_EQ(Parse("[batch, 8]"), PartialShape::FromShape({batch, 8}));
  EXPECT_THAT(Error("batch, 8"), HasSubstr("column 1: found \"batch\", wanted \"[\""));
  EXPECT_THAT(Error("[batch, 8"), HasSubstr("column 10: found the end, wanted \",\" or \"]\""));
  EXPECT_THAT(Error("[batch,, 8]"), HasSubstr("column 8: found \",\", wanted a size"));
  EXPECT_THAT(Error("[8] 9"), HasSubstr("column 5: found \"9\", wanted the end"));
  EXPECT_THAT(Error("[..]"), HasSubstr("wanted \"...\""));
  EXPECT_THAT(Error("[seq <= 8]"), HasSubstr("column 6: found \"<=\""));
}

TEST_F(PartialShapeTest, TellsHowMuchIsFixed) {
  EXPECT_TRUE(Parse("[2, 3]").IsStatic());
  EXPECT_TRUE(Parse("[]").IsStatic());
  EXPECT_FALSE(Parse("[]").IsFullyDynamic());
  EXPECT_FALSE(Parse("[2, seq]").IsStatic() || Parse("[2, seq]").IsFullyDynamic());
  EXPECT_TRUE(Parse("[?, seq]").IsFullyDynamic());
  EXPECT_TRUE(Parse("[...]").IsFullyDynamic());
  EXPECT_FALSE(Parse("[...]").IsStatic());
  EXPECT_THAT(Parse("[?, 3, seq, 0]").StaticDims(), ElementsAre(Pair(1, 3), Pair(3, 0)));
  EXPECT_THAT(Parse("[?, 3, seq, 0]").DynamicIndices(), ElementsAre(0, 2));
  EXPECT_THAT(Parse("[...]").DynamicIndices(), IsEmpty());
}

TEST_F(PartialShapeTest, CountsElementsWhereItCan) {
  EXPECT_EQ(*Parse("[2, seq, 3]").NumElements(), 6 * seq);
  EXPECT_EQ(*Parse("[]").NumElements(), Dim(1));
  EXPECT_FALSE(Parse("[2, ?]").NumElements().has_value());
  EXPECT_FALSE(Parse("[...]").NumElements().has_value());
  EXPECT_EQ(*Parse("[?, 0]").NumElements(), Dim(0));  // whatever the other axis is
  EXPECT_EQ(*Parse("[4294967296, 4294967296, 0]").NumElements(), Dim(0));
  EXPECT_FALSE(Parse("[4294967296, 4294967296]").NumElements()->ok());
}

TEST_F(PartialShapeTest, ComesFromOnnxTypes) {
  const PartialShape p = PartialShape::FromOnnx({{3, ""},
                                                 {std::nullopt, "batch"},
                                                 {std::nullopt, ""},
                                                 {-1, ""},
                                                 {0, ""},
                                                 {std::nullopt, "2*seq + 1"}},
                                                &context);
  EXPECT_EQ(p.ToString(), "[3, batch, ?, ?, 0, 2*seq + 1]");
  const PartialShape odd = PartialShape::FromOnnx({{std::nullopt, "batch size"},
                                                   {std::nullopt, "batch_size"},
                                                   {std::nullopt, "batch size"},
                                                   {std::nullopt, "batch.size?"},
                                                   {std::nullopt, "3d"},
                                                   {std::nullopt, "_"},
                                                   {std::nullopt, "unk__1"}},
                                                  &context);
  EXPECT_EQ(odd.entry(0), odd.entry(2));
  EXPECT_NE(odd.entry(0), odd.entry(1));
  EXPECT_NE(odd.entry(0), odd.entry(3));
  for (const PartialShape::Entry& e : odd.entries()) {
    ASSERT_TRUE(e.has_value() && e->ok());
    EXPECT_EQ(*dim::ParseDim(e->ToString(), &context, false), *e);
  }
  EXPECT_EQ(odd.entry(1)->ToString(), "batch_size");
  EXPECT_EQ(odd.entry(6)->ToString(), "unk__1");
}

TEST_F(PartialShapeTest, CompatibleMeansThatSomeSizesFit) {
  EXPECT_TRUE(Compatible(Parse("[...]"), Parse("[1, 2]")));
  EXPECT_FALSE(Compatible(Parse("[1]"), Parse("[1, 2]")));
  EXPECT_TRUE(Compatible(Parse("[?, 2]"), Parse("[1, ?]")));
  EXPECT_FALSE(Compatible(Parse("[2, seq]"), Parse("[3, seq]")));
  EXPECT_TRUE(Compatible(Parse("[batch]"), Parse("[seq]")));
  EXPECT_FALSE(Compatible(Parse("[seq]"), Parse("[seq + 1]")));  // for no size
  EXPECT_TRUE(Compatible(Parse("[seq]"), Parse("[9]"), &facts));
  Assume("seq <= 8, batch < seq");
  EXPECT_FALSE(Compatible(Parse("[seq]"), Parse("[9]"), &facts));
  EXPECT_FALSE(Compatible(Parse("[seq]"), Parse("[batch]"), &facts));
}

TEST_F(PartialShapeTest, MergeKeepsTheMoreDefiniteEntry) {
  EXPECT_EQ(Merge(Parse("[batch, ?, ?]"), Parse("[?, 128, seq]"))->ToString(), "[batch, 128, seq]");
  EXPECT_EQ(Merge(Parse("[...]"), Parse("[2]"))->ToString(), "[2]");
  EXPECT_EQ(Merge(Parse("[2]"), Parse("[...]"))->ToString(), "[2]");
  std::vector<Claim> required;
  EXPECT_EQ(
      Merge(Parse("[batch, seq]"), Parse("[8, 2*batch]"), nullptr, "a", "b", &required)->ToString(),
      "[8, seq]");
  ASSERT_EQ(required.size(), 2u);
  EXPECT_EQ(required[0].ToString(), "batch == 8");
  EXPECT_EQ(required[1].ToString(), "seq == 2*batch");
  Assume("batch == 8");
  required.clear();
  ASSERT_TRUE(Merge(Parse("[batch]"), Parse("[8]"), &facts, "a", "b", &required).ok());
  EXPECT_THAT(required, IsEmpty());
}

TEST_F(PartialShapeTest, AConflictNamesBothSources) {
  const absl::Status s = Merge(Parse("[batch, 3]"), Parse("[?, 4]"), nullptr, "value_info of 'h'",
                               "conv 'c1' at model.onnx:7")
                             .status();
  EXPECT_EQ(
      s.message(),
      "axis 1 is 3 and 4, which are never equal: found [batch, 3] from value_info of 'h', and "
      "[?, 4] from conv 'c1' at model.onnx:7; wanted shapes that can be the same");
  EXPECT_THAT(Merge(Parse("[2]"), Parse("[2, 2]")).status().ToString(), HasSubstr("ranks 1 and 2"));
}

TEST_F(PartialShapeTest, FactsRefine) {
  const PartialShape p = Parse("[batch, min(seq, 8), ?, 2*batch]");
  EXPECT_EQ(p.Refined(facts), p);
  Assume("batch == 4, seq <= 8");
  EXPECT_EQ(p.Refined(facts).ToString(), "[4, seq, ?, 8]");
}

TEST_F(PartialShapeTest, BecomesAShapeWithNewSymbols) {
  EXPECT_EQ(ToString(*Parse("[batch, ?, 3, ?]").ToShape(&context, "ids")),
            "[batch, ids_d1, 3, ids_d3]");
  EXPECT_THAT(Parse("[...]").ToShape(&context, "ids").status().ToString(),
              HasSubstr("the rank of ids isn't known"));
}

// Random shapes over random sizes: merge is defined where it should be, and what it says holds for
// every shape that both describe.
TEST_F(PartialShapeTest, MergeAgreesWithBruteForce) {
  std::mt19937_64 random(7);
  const Dim pool[] = {batch, seq, 2 * batch, batch + 1, batch + seq, Min(batch, seq)};
  const auto entry = [&]() -> PartialShape::Entry {
    const uint64_t k = random() % 12;
    if (k < 3) return std::nullopt;
    return k < 6 ? Dim(static_cast<int64_t>(random() % 4)) : pool[random() % 6];
  };
  const auto describes = [](const PartialShape& p, const std::vector<int64_t>& shape,
                            const std::vector<int64_t>& symbols) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const PartialShape::Entry& e = p.entries()[i];
      if (e.has_value() && *dim::Evaluate(*e, symbols) != shape[i]) return false;
    }
    return true;
  };
  int conflicts = 0;
  for (int round = 0; round < 400; ++round) {
    const PartialShape a = PartialShape::Of({entry(), entry()});
    const PartialShape b = PartialShape::Of({entry(), entry()});
    std::vector<Claim> required;
    const absl::StatusOr<PartialShape> m = Merge(a, b, &facts, "a", "b", &required);
    EXPECT_EQ(m.ok(), Compatible(a, b, &facts));
    conflicts += !m.ok();
    for (int64_t n = 0; n < 6 * 6 * 7 * 7; ++n) {
      const std::vector<int64_t> symbols = {n % 6, n / 6 % 6}, shape = {n / 36 % 7, n / 252};
      const bool both = describes(a, shape, symbols) && describes(b, shape, symbols);
      if (both) {
        ASSERT_TRUE(m.ok()) << m.status();
      }
      if (!m.ok()) continue;
      bool holds = true;
      for (const Claim& c : required) holds = holds && *dim::Evaluate(c, symbols);
      ASSERT_EQ(both, holds && describes(*m, shape, symbols))
          << a.ToString() << " " << b.ToString() << " " << m->ToString();
    }
  }
  EXPECT_GT(conflicts, 20);
}

}  // namespace
}  // namespace lathe
