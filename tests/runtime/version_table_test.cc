// What a version table refuses, and which version it picks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/fakes.h"

namespace lathe::rt::fake {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<std::shared_ptr<const VersionTable>> Table(const std::vector<Chain>& chains,
                                                          const std::string& facts = "") {
  auto graph = GraphOf({{"x", {"n", "m"}}}, facts);
  const EntryPlan plan = *MakeEntryPlan(*graph);
  std::vector<std::shared_ptr<const Version>> versions;
  for (const Chain& chain : chains) versions.push_back(MakeVersion(*graph, chain));
  auto table = VersionTable::Make(plan, graph->facts(), versions);
  // The table is asked about after its graph is gone: it must hold what it needs.
  static std::vector<std::shared_ptr<ir::Graph>>
      graphs;  // Dims in guards live as long as the graph
  graphs.push_back(graph);
  return table;
}

Chain Guarded(const std::string& guard, int order) {
  Chain c;
  c.name = c.guard = guard;
  c.order = order;
  return c;
}

std::string PickAt(const VersionTable& table, std::vector<int64_t> symbols) {
  std::vector<int64_t> slots(static_cast<size_t>(table.program().num_slots()));
  std::copy(symbols.begin(), symbols.end(), slots.begin());
  if (!table.Run(slots.data()).ok()) return "fault";
  int failed = -1;
  const int v = table.Pick(slots.data(), &failed);
  return v < 0 ? "check " + std::to_string(failed) : table.versions()[static_cast<size_t>(v)]->name;
}

TEST(VersionTable, PicksByOrder) {
  const auto table =
      *Table({{}, Guarded("n <= 8", 2), Guarded("n*m >= 512", 3), Guarded("n <= 16", 1)});
  EXPECT_EQ(PickAt(*table, {4, 4}), "n <= 8");
  EXPECT_EQ(PickAt(*table, {4, 512}), "n*m >= 512");
  EXPECT_EQ(PickAt(*table, {10, 4}), "n <= 16");
  EXPECT_EQ(PickAt(*table, {100, 2}), "generic");
  EXPECT_EQ(PickAt(*table, {0, 0}), "n <= 8");  // case Z10: 0 is covered
}

TEST(VersionTable, ChecksComeFirst) {
  const auto table = *Table({{}, Guarded("n <= 8", 1)}, "n % 2 == 0, m <= 9");
  EXPECT_EQ(PickAt(*table, {3, 4}), "check 0");
  EXPECT_EQ(PickAt(*table, {2, 10}), "check 1");
  EXPECT_EQ(PickAt(*table, {2, 9}), "n <= 8");
}

TEST(VersionTable, AGuardThatOverflowsDoesntHold) {
  const auto table = *Table({{}, Guarded("n*m >= 512", 2), Guarded("n >= 7", 1)});
  EXPECT_EQ(PickAt(*table, {int64_t{1} << 40, int64_t{1} << 40}), "n >= 7");
  EXPECT_EQ(PickAt(*table, {0, int64_t{1} << 40}), "generic");
}

TEST(VersionTable, NeedsOneGenericVersionOfTheLowestOrder) {
  EXPECT_THAT(Table({}).status().ToString(), HasSubstr("empty"));
  EXPECT_THAT(Table({Guarded("n <= 8", 1)}).status().ToString(), HasSubstr("one generic version"));
  Chain high;
  high.order = 5;
  EXPECT_THAT(Table({high, Guarded("n <= 8", 1)}).status().ToString(), HasSubstr("lowest order"));
  Chain second;
  second.order = 7;
  EXPECT_THAT(Table({{}, second}).status().ToString(), HasSubstr("found 2 without a guard"));
}

TEST(VersionTable, OrdersAreDistinct) {
  EXPECT_THAT(Table({{}, Guarded("n <= 8", 1), Guarded("n >= 16", 1)}).status().ToString(),
              HasSubstr("same order 1"));
}

TEST(VersionTable, DeadVersionsAreRefused) {
  EXPECT_THAT(Table({{}, Guarded("n >= 200", 1)}, "n <= 100").status().ToString(),
              HasSubstr("contradicts the facts"));
  EXPECT_THAT(Table({{}, Guarded("n <= 8", 1), Guarded("n <= 16", 2)}).status().ToString(),
              HasSubstr("comes before it"));
  EXPECT_TRUE(Table({{}, Guarded("n <= 8", 2), Guarded("n <= 16", 1)}).ok());
}

}  // namespace
}  // namespace lathe::rt::fake
