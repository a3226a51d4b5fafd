// All passes together on random programs, bit for bit against the interpreter; and the programs.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/passes/pass.h"
#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "ir/samples.h"
#include "tests/compiler/random_graph.h"

namespace lathe::compiler {
namespace {

struct Comparison {
  std::string failure;    // empty: none
  bool ran = false;       // the sizes were admitted
  bool unproved = false;  // the verifier wanted a claim that the prover doesn't find
};

bool Unproved(const absl::Status& s) {
  return absl::StrContains(s.message(), "is not among the facts");
}

Comparison Compare(const ir::Graph& graph, uint64_t seed, bool integer_valued) {
  ir::Graph better = graph.Clone();
  Comparison result;
  // Those that don't keep every bit have tests of their own; here they must leave a valid program.
  PassContext all, context;
  all.verify = context.verify = true;
  ir::Graph best = graph.Clone();
  best.fast_math = true;
  if (absl::Status s = RunPasses(best, all); !s.ok() && !Unproved(s)) {
    result.failure = s.ToString();
    return result;
  }
  for (const PassRow& row : PassTable()) {
    if (!row.keeps_bits) context.skip.emplace_back(row.name);
  }
  if (absl::Status s = RunPasses(better, context); !s.ok()) {
    result.unproved = Unproved(s);
    if (!result.unproved) result.failure = s.ToString();
    return result;
  }
  for (uint64_t draw = 0; draw < 3; ++draw) {
    const std::vector<int64_t> sizes = fuzz::RandomSizes(graph, seed * 3 + draw);
    const std::vector<Tensor> inputs = ir::SampleInputs(graph, sizes, seed, integer_valued);
    const absl::StatusOr<std::vector<Tensor>> before = ir::Interpret(graph, inputs);
    const absl::StatusOr<std::vector<Tensor>> after = ir::Interpret(better, inputs);
    if (before.status().code() != after.status().code()) {
      result.failure = absl::StrCat(before.status().ToString(), " / ", after.status().ToString());
      return result;
    }
    if (!before.ok()) continue;
    result.ran = true;
    for (size_t i = 0; i < before->size(); ++i) {
      const absl::Status s = ir::SameBits((*after)[i], (*before)[i]);
      if (!s.ok()) {
        result.failure =
            absl::StrCat("output ", i, " at sizes ", absl::StrJoin(sizes, ","), ": ", s.ToString());
        return result;
      }
    }
  }
  return result;
}

TEST(PassesFuzzTest, RandomProgramsKeepEveryBit) {
  constexpr uint64_t kSeeds = 4000;
  int ran = 0, unproved = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const bool integer_valued = seed % 2 == 0;
    const ir::Graph g = fuzz::RandomGraph(seed, {.integer_valued = integer_valued});
    if (absl::Status s = ir::Verify(g); !s.ok()) {
      ASSERT_TRUE(Unproved(s)) << "seed " << seed << ": " << s << "\n" << ir::Print(g);
      ++unproved;
      continue;
    }
    const Comparison c = Compare(g, seed, integer_valued);
    ran += c.ran;
    unproved += c.unproved;
    if (c.failure.empty()) continue;
    const ir::Graph small = fuzz::Shrink(
        g, [&](const ir::Graph& s) { return !Compare(s, seed, integer_valued).failure.empty(); });
    FAIL() << "seed " << seed << ": " << c.failure << "\n" << ir::Print(small);
  }
  EXPECT_GT(ran, static_cast<int>(kSeeds) * 3 / 4);
  EXPECT_LE(unproved, static_cast<int>(kSeeds) / 1000);
}

TEST(RandomGraphTest, EveryOpOccursAndGraphsRepeat) {
  std::set<std::string_view> seen;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    const ir::Graph g = fuzz::RandomGraph(seed);
    for (ir::ValueId v = 0; v < g.num_nodes(); ++v) seen.insert(ir::Name(g.node(v).op));
    if (seed % 50 == 0) {
      EXPECT_EQ(ir::Print(g), ir::Print(fuzz::RandomGraph(seed)));
    }
  }
  for (const ir::OpInfo& op : ir::AllOps()) EXPECT_TRUE(seen.contains(op.name)) << op.name;
}

// With whole numbers, a sum in another order has the same bits: the float64 interpreter agrees.
TEST(RandomGraphTest, IntegerValuedProgramsAreExact) {
  int ran = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const ir::Graph g = fuzz::RandomGraph(seed, {.integer_valued = true});
    const std::vector<Tensor> inputs = ir::SampleInputs(g, fuzz::RandomSizes(g, seed), seed, true);
    const absl::StatusOr<std::vector<Tensor>> narrow = ir::Interpret(g, inputs);
    const absl::StatusOr<std::vector<Tensor>> wide = ir::Interpret(g, inputs, {.in_f64 = true});
    if (!narrow.ok()) continue;
    ASSERT_TRUE(wide.ok()) << wide.status();
    ++ran;
    for (size_t i = 0; i < narrow->size(); ++i) {
      ASSERT_EQ(ir::RelativeError((*narrow)[i], (*wide)[i]), 0) << "seed " << seed << "\n"
                                                                << ir::Print(g);
    }
  }
  EXPECT_GT(ran, 700);
}

TEST(RandomGraphTest, ShrinkLeavesOutWhatIsNotNeededToFail) {
  const absl::StatusOr<ir::Graph> g = ir::Parse(R"(
dim n
x: f32[n, 4]
a = exp(x)
b = softmax(neg(a), axis=1)
c = relu(b + x)
output c
output d = permute(c, axes=[1, 0])
)",
                                                "test");
  ASSERT_TRUE(g.ok()) << g.status();
  const auto has_softmax = [](const ir::Graph& s) {
    for (ir::ValueId v : s.body.nodes) {
      if (s.node(v).op == ir::Op::k_softmax) return true;
    }
    return false;
  };
  const absl::StatusOr<ir::Graph> least = ir::Parse(R"(
dim n
x: f32[n, 4]
b = softmax(x, axis=1)
output y = b
)",
                                                    "test");
  ASSERT_TRUE(least.ok()) << least.status();
  EXPECT_EQ(ir::Print(fuzz::Shrink(*g, has_softmax)), ir::Print(*least));
}

}  // namespace
}  // namespace lathe::compiler
