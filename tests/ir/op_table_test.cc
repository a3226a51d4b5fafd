// The op table has no empty cell, and what is derived from it agrees with it.
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/expand.h"
#include "ir/op.h"
#include "ir/samples.h"
#include "ir/text_parser.h"
#include "tests/util/golden.h"

namespace lathe::ir {
namespace {

using ::testing::HasSubstr;

// The values that the examples of the rows use.
constexpr std::string_view kPreamble[] = {
    "dim n in 1..64", "dim batch in 1..64", "x: f32[n, 4]", "k: i64[n, 4]",
    "p: bool[n, 4]",  "w: f32[4, 8]",       "w4: f32[4]",   "r: f32[batch, ~seq, 4]",
};

TEST(OpTable, NoCellIsEmpty) {
  for (const OpInfo& op : AllOps()) {
    SCOPED_TRACE(std::string(op.name));
    EXPECT_EQ(&op, &Info(op.op));
    EXPECT_NE(op.infer, nullptr);
    EXPECT_NE(op.dtypes, 0);
    EXPECT_FALSE(op.doc.empty());
    EXPECT_FALSE(op.example.empty());
    EXPECT_FALSE(op.bound.empty());
    EXPECT_LE(op.min_operands, op.max_operands);
    const bool interpreted = op.op == Op::k_input || op.op == Op::k_constant || op.op == Op::k_if;
    const bool composite = op.emission == Emission::kComposite;
    EXPECT_EQ(op.evaluate == nullptr, interpreted || composite);
    EXPECT_EQ(op.expand != nullptr, composite);
    EXPECT_TRUE(op.name[0] >= 'a' && op.name[0] <= 'z') << op.name;
    for (char c : op.name)
      EXPECT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') << op.name;
  }
}

TEST(OpTable, NamesAndAttributesAreDistinct) {
  for (const OpInfo& op : AllOps()) {
    EXPECT_EQ(FindOp(op.name).value(), op.op);
    for (size_t i = 0; i < op.attrs.size(); ++i) {
      for (size_t j = 0; j < i; ++j) EXPECT_NE(op.attrs[i].name, op.attrs[j].name) << op.name;
    }
  }
}

TEST(OpTable, TraitsAgreeWithRows) {
  for (const OpInfo& op : AllOps()) {
    SCOPED_TRACE(std::string(op.name));
    EXPECT_EQ((op.traits & kSameShape) != 0, op.emission == Emission::kElementwise);
    if (op.traits & kFloatOnly) {
      EXPECT_EQ(op.dtypes, kFloatTypes);
    }
    if (op.traits & kCommutative) {
      EXPECT_EQ(op.min_operands, 2);
    }
  }
}

TEST(OpTable, AnUnknownNameIsAnErrorThatOffersNearOnes) {
  EXPECT_THAT(FindOp("sofmax").status().message(), HasSubstr("did you mean 'softmax'"));
  EXPECT_THAT(FindOp("reduce_sum").status().message(), HasSubstr("there is no op 'reduce_sum'"));
  EXPECT_EQ(FindOp("").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FindOp(std::string(100000, 'x')).status().code(), absl::StatusCode::kNotFound);
}

TEST(OpTable, EveryExampleIsAProgram) {
  for (const OpInfo& op : AllOps()) {
    SCOPED_TRACE(std::string(op.name) + ": " + std::string(op.example));
    Graph graph;
    TextSession session(&graph);
    for (std::string_view line : kPreamble) {
      // The example of `input` declares x itself.
      if (op.op == Op::k_input && line.starts_with("x")) continue;
      ASSERT_TRUE(session.Execute(line).ok());
    }
    const auto result = session.Execute(op.example);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_NE(result->value, kNoValue);
    EXPECT_EQ(graph.node(result->value).op, op.op);
    graph.body.results = {result->value};
    graph.output_names = {"result"};
    const absl::Status verified = Verify(graph);
    EXPECT_TRUE(verified.ok()) << verified;
  }
}

// Every subset of a sample's dims symbolic: what the builder makes the verifier accepts, the text
// form gives back, and an expansion leaves verified.
TEST(OpTable, SamplesOfEveryOpAndTypeAreVerified) {
  for (const OpInfo& op : AllOps()) {
    for (int t = 0; t < kNumDTypes; ++t) {
      for (uint32_t symbolic = 0; symbolic < 1u << kSampleSlots; ++symbolic) {
        for (const OpSample& sample :
             SamplesOf(op.op, static_cast<DType>(t), {.symbolic = symbolic})) {
          // Fixed extents may be refused, symbols are never.
          ASSERT_TRUE(sample.status.ok() || symbolic + 1 < 1u << kSampleSlots) << sample.status;
          if (!sample.status.ok()) continue;
          SCOPED_TRACE(sample.label + "\n" + Print(sample.graph));
          const absl::Status verified = Verify(sample.graph);
          ASSERT_TRUE(verified.ok()) << verified;
          const absl::StatusOr<Graph> read = Parse(Print(sample.graph));
          ASSERT_TRUE(read.ok()) << read.status();
          EXPECT_TRUE(Equal(sample.graph, *read));
          Graph expanded = sample.graph.Clone();
          const absl::Status done = ExpandComposites(&expanded);
          ASSERT_TRUE(done.ok()) << done;
          const absl::Status still = Verify(expanded);
          ASSERT_TRUE(still.ok()) << still << Print(expanded);
        }
      }
    }
  }
}

TEST(OpTable, TheDocumentationIsUpToDate) {
  const std::string path = std::string(LATHE_SOURCE_DIR) + "/docs/ops.md";
  if (Blesses()) {
    std::ofstream(path) << OpsMarkdown();
    return;
  }
  EXPECT_TRUE(ReadFile(path) == OpsMarkdown()) << "docs/ops.md differs; ir_test --bless renews it";
}

}  // namespace
}  // namespace lathe::ir
