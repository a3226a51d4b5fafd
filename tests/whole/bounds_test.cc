// Known memory, over random programs: bounds hold at every size, could_exceed agrees with what a
// call needs, and explanations are whole.
#include "ir/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/function_state.h"
#include "tests/compiler/random_graph.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

Sizes NamedSizes(const ir::Graph& graph, const std::vector<int64_t>& values) {
  Sizes sizes;
  for (size_t s = 0; s < values.size(); ++s)
    sizes[graph.dims()->SymbolName(static_cast<dim::SymbolId>(s))] = values[s];
  return sizes;
}

bool Holds(const ir::Graph& graph, const std::vector<int64_t>& sizes) {
  for (const dim::Fact& fact : graph.facts().facts()) {
    const absl::StatusOr<bool> holds = dim::Evaluate(fact.claim, sizes);
    if (!holds.ok() || !*holds) return false;
  }
  return true;
}

TEST(Bounds, EveryValueOfRandomProgramsStaysBelowItsBound) {
  int compared = 0, known = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    ir::Graph graph = fuzz::RandomGraph(seed);
    const ir::GraphBounds bounds = ir::BoundsOf(graph);
    for (uint64_t draw = 0; draw < 4; ++draw) {
      const std::vector<int64_t> sizes = fuzz::RandomSizes(graph, seed * 4 + draw);
      if (!Holds(graph, sizes)) continue;
      int64_t total = 0;
      for (const ir::GraphBounds::Row& row : bounds.rows) {
        const absl::StatusOr<int64_t> bytes = dim::Evaluate(row.bounds.bytes, sizes);
        if (!bytes.ok()) continue;
        ++compared;
        const ir::Op op = graph.node(row.value).op;
        if (op != ir::Op::k_input && op != ir::Op::k_constant) total += *bytes;
        if (!row.bounds.max_bytes) continue;
        ++known;
        EXPECT_LE(*bytes, *row.bounds.max_bytes) << "seed " << seed << "\n" << ir::Print(graph);
      }
      if (bounds.max_total_bytes) {
        EXPECT_LE(total, *bounds.max_total_bytes) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(known, 1000);
  EXPECT_GT(compared, known) << "nothing was unknown";
}

TEST(CouldExceed, AgreesWithWhatCallsNeed) {
  Engine engine({.threads = 2, .background_compiles = false});
  int no = 0, yes = 0, unknown = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    ir::Graph graph = fuzz::RandomGraph(seed);
    for (int s = 0; seed % 2 == 0 && s < graph.dims()->num_symbols(); ++s) {
      const Dim d = graph.dims()->SymbolDim(static_cast<dim::SymbolId>(s));
      graph.facts().Add(d <= 64, dim::Standing::kDeclared, {"bound", ""}).IgnoreError();
    }
    if (!ir::Verify(graph).ok()) continue;
    absl::StatusOr<Function> f = CompileGraph(engine, graph);
    if (!f.ok()) continue;
    int64_t most = 0;
    for (uint64_t draw = 0; draw < 6; ++draw) {
      const std::vector<int64_t> sizes = fuzz::RandomSizes(graph, seed * 6 + draw);
      const absl::StatusOr<int64_t> peak = f->peak_bytes(NamedSizes(graph, sizes));
      if (peak.ok()) most = std::max(most, *peak);
    }
    for (const int64_t bytes : {most - 1, most, 2 * most, int64_t{1} << 50}) {
      if (bytes < 0) continue;
      const absl::StatusOr<MemoryAnswer> answer = f->could_exceed(bytes);
      ASSERT_TRUE(answer.ok()) << answer.status();
      switch (answer->verdict) {
        case MemoryAnswer::Verdict::kNo:
          ++no;
          EXPECT_LE(most, bytes) << "seed " << seed;
          break;
        case MemoryAnswer::Verdict::kYes: {
          ++yes;
          const absl::StatusOr<int64_t> peak = f->peak_bytes(answer->sizes);
          ASSERT_TRUE(peak.ok()) << peak.status() << " seed " << seed;
          EXPECT_GT(*peak, bytes) << "seed " << seed;
          EXPECT_EQ(*peak, answer->peak_bytes);
          break;
        }
        case MemoryAnswer::Verdict::kUnknown:
          ++unknown;
          break;
      }
    }
  }
  std::printf("no %d, yes %d, unknown %d\n", no, yes, unknown);
  EXPECT_GT(no, 20);
  EXPECT_GT(yes, 20);
  EXPECT_LE(unknown * 5, no + yes);
}

TEST(CouldExceed, NeedsAMemoryPlan) {
  Engine engine;
  absl::StatusOr<Program> p = Program::parse("dim n\nx: f32[n]\noutput exp(x)\n");
  absl::StatusOr<Function> f = engine.compile(std::move(p));
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_EQ(f->could_exceed(1).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Explain, JsonHoldsAllDecisions) {
  Engine engine({.threads = 1});
  absl::StatusOr<Program> p = Program::parse(
      "dim n in 1..64\nx: f32[n, 32]\nw = randn([32, 160], seed=1)\n"
      "v = randn([160, 32], seed=2)\noutput y = softmax(gelu(x @ w) @ v, axis=-1)\n");
  absl::StatusOr<Function> f = engine.compile(std::move(p));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  f->wait_for_versions();
  const absl::StatusOr<std::string> text = f->explain_json({{"n", 7}});
  ASSERT_TRUE(text.ok()) << text.status();
  const nlohmann::json json = nlohmann::json::parse(*text);
  EXPECT_EQ(json["sizes"]["n"], 7);
  EXPECT_EQ(json["version"]["name"], "generic");
  EXPECT_FALSE(json["others"].empty());
  EXPECT_FALSE(json["facts"].empty());
  EXPECT_EQ(json["kernels"].size(), f->versions().back().kernel_labels.size());
  EXPECT_EQ(json["outputs"][0]["shape"], (std::vector<int64_t>{7, 32}));
  int64_t end = 0;
  for (const auto& v : json["memory"]["values"])
    end = std::max(end, v["offset"].get<int64_t>() + v["bytes"].get<int64_t>());
  EXPECT_EQ(end, json["memory"]["arena"]);
  EXPECT_EQ(json["memory"]["peak"], *f->peak_bytes({{"n", 7}}));
}

}  // namespace
}  // namespace lathe::whole
