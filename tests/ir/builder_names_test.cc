// Names of inputs and outputs: each once, however the graph's lists came to be.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ir/builder.h"

namespace lathe::ir {
namespace {

constexpr auto kTwice = absl::StatusCode::kAlreadyExists;

TEST(BuilderNames, AnInputGivenTwiceIsRefusedByEveryBuilder) {
  Graph graph;
  Builder first(&graph);
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(first.Input(name, {f32, {}}).ok());
    EXPECT_EQ(first.Input(name, {f32, {}}).status().code(), kTwice);
  }
  for (const char* name : {"a", "b", "c"}) {
    Builder other(&graph);
    EXPECT_EQ(other.Input(name, {f32, {}}).status().code(), kTwice);
    EXPECT_EQ(other.Input(name, {f32, {}}).status().code(), kTwice);
    EXPECT_EQ(first.Input(name, {f32, {}}).status().code(), kTwice);
  }
  Builder second(&graph);
  ASSERT_TRUE(second.Input("d", {f32, {}}).ok());
  EXPECT_EQ(first.Input("d", {f32, {}}).status().code(), kTwice);
  EXPECT_TRUE(first.Input("e", {f32, {}}).ok());
}

TEST(BuilderNames, AnOutputThatWasTakenBackMayBeGivenAgain) {
  Graph graph;
  Builder b(&graph);
  const ValueId x = *b.Input("x", {f32, {}});
  for (const char* name : {"p", "q", "r"}) ASSERT_TRUE(b.Output(name, x).ok());
  graph.output_names.resize(1);
  graph.body.results.resize(1);
  EXPECT_EQ(b.Output("p", x).code(), kTwice);
  EXPECT_TRUE(b.Output("r", x).ok());
  EXPECT_EQ(b.Output("r", x).code(), kTwice);
  graph.output_names = {"s", "t"};  // as many others
  EXPECT_EQ(b.Output("s", x).code(), kTwice);
  graph.body.results.resize(2);
  EXPECT_TRUE(b.Output("p", x).ok());
}

TEST(BuilderNames, ManyNamesAreToldApartQuickly) {
  Graph graph;
  Builder b(&graph);
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i) {
    const absl::StatusOr<ValueId> x = b.Input(absl::StrCat("x", i), {f32, {}});
    ASSERT_TRUE(x.ok());
    ASSERT_TRUE(b.Output(absl::StrCat("y", i), *x).ok());
  }
  EXPECT_EQ(b.Input("x0", {f32, {}}).status().code(), kTwice);
  EXPECT_EQ(b.Output("y0", graph.inputs[0]).code(), kTwice);
}

}  // namespace
}  // namespace lathe::ir
