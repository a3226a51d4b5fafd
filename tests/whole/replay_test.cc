// Lowering learns about sizes only by asking: with the recorded answers in place of the facts, the
// same kernels come out. What a version's guard leaves out would show here. Every group of samples
// of all ops, of random programs and of the encoder, under the declared facts alone and with guards
// of versions added.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/micro.h"
#include "compiler/passes/pass.h"
#include "examples/encoder.h"
#include "ir/samples.h"
#include "tests/compiler/random_graph.h"

namespace lathe::whole {
namespace {

using compiler::DimQuery;
using compiler::Group;
using compiler::LoweredKernel;

// Everything that a lowered group consists of, as text.
std::string Text(const absl::StatusOr<LoweredKernel>& lowered) {
  if (!lowered.ok()) return lowered.status().ToString();
  std::string text = absl::StrCat(kernel::Print(*lowered->kernel), "\nsizes");
  for (Dim d : lowered->sizes) absl::StrAppend(&text, " ", d.ToString());
  absl::StrAppend(&text, "\ntasks ", lowered->tasks.ToString(), "\nwork ", lowered->work.ToString(),
                  "\nschedule ", lowered->schedule, "\n");
  for (const compiler::KernelArg& a : lowered->args) {
    absl::StrAppend(&text, "arg ", static_cast<int>(a.kind), " ", a.value, " ", a.panel_width, " ",
                    a.scratch_bytes.ToString(), "\n");
  }
  for (const compiler::DimAnswer& a : lowered->answers)
    absl::StrAppend(&text, a.claim.ToString(), ": ", a.proved ? "proved" : "unknown", "\n");
  return text;
}

class Replay : public testing::Test {
 protected:
  // False after a failure.
  bool Check(const ir::Graph& graph) {
    SCOPED_TRACE(ir::Print(graph));
    ir::Graph g = graph.Clone();
    compiler::PassContext passes;
    const absl::Status s = compiler::RunPipeline(g, passes);
    if (!s.ok()) return Fail(s.ToString());
    const compiler::FusionPlan plan = compiler::Fuse(g);
    bool same = Compare(g, plan, g.facts());
    const int symbols = g.dims()->num_symbols();
    for (int i = 0; same && i < symbols; ++i) {
      const Dim d = g.dims()->SymbolDim(static_cast<dim::SymbolId>(i));
      for (const Claim& guard : {d <= 4, Eq(d, 3), Eq(Mod(d, 8), 0), d >= 1})
        same = same && CompareWith(g, plan, {guard});
    }
    if (same && symbols >= 2)
      same = CompareWith(g, plan, {g.dims()->SymbolDim(0) * g.dims()->SymbolDim(1) <= 4});
    return same;
  }

  int compared_ = 0;

 private:
  bool CompareWith(const ir::Graph& g, const compiler::FusionPlan& plan,
                   const std::vector<Claim>& guard) {
    dim::FactSet facts = g.facts();
    for (const Claim& c : guard) {
      // A guard that contradicts the facts belongs to no version.
      if (!facts.Add(c, dim::Standing::kDeclared, {"guard", ""}).ok()) return true;
    }
    SCOPED_TRACE(absl::StrCat("guard ", guard[0].ToString()));
    return Compare(g, plan, facts);
  }

  bool Compare(const ir::Graph& g, const compiler::FusionPlan& plan, const dim::FactSet& facts) {
    for (const Group& group : plan.groups) {
      DimQuery asked(facts);
      const absl::StatusOr<LoweredKernel> first =
          compiler::LowerGroup({g, plan, target_, asked, micro_}, group);
      DimQuery replayed = DimQuery::Replay(first.ok() ? first->answers : asked.answers());
      const absl::StatusOr<LoweredKernel> second =
          compiler::LowerGroup({g, plan, target_, replayed, micro_}, group);
      ++compared_;
      const std::string wanted = Text(first), found = Text(second);
      if (found == wanted) continue;
      EXPECT_EQ(found, wanted) << "something was known that wasn't asked";
      return false;
    }
    return true;
  }

  static bool Fail(const std::string& why) {
    ADD_FAILURE() << why;
    return false;
  }

  const compiler::ScheduleTarget target_;
  compiler::MicroKernels micro_;
};

TEST_F(Replay, AnswersAreAllThatTheKernelsOfAnOpDependOn) {
  for (int op = 0; op < ir::kNumOps; ++op) {
    for (DType dtype : {DType::kF32, DType::kI64, DType::kBool}) {
      for (uint32_t mask : {0b0000u, 0b1111u, 0b0101u}) {
        for (const ir::OpSample& sample :
             ir::SamplesOf(static_cast<ir::Op>(op), dtype, {.symbolic = mask}))
          if (sample.status.ok() && !Check(sample.graph)) return;
      }
    }
  }
  EXPECT_GT(compared_, 1000);
}

TEST_F(Replay, AnswersAreAllThatTheKernelsOfRandomProgramsDependOn) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const ir::Graph graph = fuzz::RandomGraph(seed);
    if (ir::Verify(graph).ok() && !Check(graph)) return;
  }
  EXPECT_GT(compared_, 500);
}

TEST_F(Replay, AnswersAreAllThatTheEncodersKernelsDependOn) {
  examples::EncoderConfig config;
  config.layers = 1;
  config.vocab = 32;
  for (const char* facts : {"1..64", "0..64", "in {1, 2, 4}", ""}) {
    Trace t("encoder");
    config.batch_facts = facts;
    absl::StatusOr<Value> hidden = examples::BuildEncoder(t, config, examples::SeededWeights(1));
    ASSERT_TRUE(hidden.ok()) << hidden.status();
    absl::StatusOr<Program> p = t.finish({*hidden}, {"hidden"});
    ASSERT_TRUE(p.ok()) << p.status();
    ASSERT_TRUE(Check(p->graph()));
  }
}

}  // namespace
}  // namespace lathe::whole
