// Every op and type, with static dims, all dims symbolic, and pairwise covering subsets of symbolic
// dims, at odd sizes in the order A, B, A: machine code against the interpreter, within the op
// table's bound of the op, and against the evaluator bit for bit. One compile a graph, whatever the
// sizes.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "ir/samples.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using ir::Op;
using ir::OpSample;

constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 8, 31, 32, 33};

std::vector<int64_t> Extents(int k) {
  std::vector<int64_t> extents;
  for (int slot = 0; slot < ir::kSampleSlots; ++slot)
    extents.push_back(kSizes[(k * 5 + slot * (2 + k % 3)) % 9]);
  return extents;
}

class OpSweep : public testing::TestWithParam<int> {
 protected:
  void Check(Op op, const OpSample& sample, int k) {
    SCOPED_TRACE(absl::StrCat(std::string(ir::Name(op)), ": ", sample.label, ", sizes ", k, "\n",
                              ir::Print(sample.graph)));
    absl::StatusOr<Function> f = CompileGraph(engine_, sample.graph);
    ASSERT_TRUE(f.ok()) << f.status();
    const int64_t compiles = engine_.counters().compiles;
    const std::vector<int64_t> a = Extents(k), b = Extents(k + 1);
    int turn = 0;
    for (const std::vector<int64_t>* extents : {&a, &b, &a}) {
      std::vector<int64_t> sizes;
      for (int slot : sample.slots) sizes.push_back((*extents)[static_cast<size_t>(slot)]);
      const bool whole = turn % 2 == 0;
      const std::vector<Tensor> inputs = ir::SampleInputs(sample.graph, sizes, 1 + k, whole);
      const auto within = [&](const Tensor& found, const Tensor& wanted, const Tensor& wanted64) {
        return WithinOpBound(op, inputs, whole, found, wanted, wanted64);
      };
      const absl::Status s = CheckCall(*f, sample.graph, inputs, within, turn < 2);
      ASSERT_TRUE(s.ok()) << "turn " << turn << ": " << s;
      ++turn;
    }
    EXPECT_EQ(engine_.counters().compiles, compiles) << "a size was specialised silently";
    EXPECT_EQ(engine_.counters().compiles_in_calls, 0);
  }

  Engine engine_{{.threads = 1, .background_compiles = false}};
};

TEST_P(OpSweep, CompiledCodeIsRightAtEverySizeWithEverySubsetOfSymbols) {
  const Op op = static_cast<Op>(GetParam());
  for (int t = 0; t < kNumDTypes; ++t) {
    const DType dtype = static_cast<DType>(t);
    int k = 0;
    for (uint32_t mask : {0b0000u, 0b1111u, 0b0011u, 0b0101u, 0b1001u, 0b0110u, 0b1010u, 0b1100u}) {
      ++k;
      // The types that share their code with another: open, and one of each kind half open.
      const bool half_open = mask == 0b0101 && (dtype == u8 || dtype == f16);
      if (dtype > DType::kF64 && mask != 0b1111 && !half_open) continue;
      std::set<std::pair<std::string, uint32_t>> seen;
      const std::vector<int64_t> fixed = Extents(k + static_cast<int>(dtype));
      for (const OpSample& sample :
           ir::SamplesOf(op, dtype, {.symbolic = mask, .extents = fixed})) {
        if (!sample.status.ok()) continue;
        const uint32_t used = mask & sample.used_slots;
        if (mask != 0 && used == 0) continue;
        if (!seen.insert({sample.label, used}).second) continue;
        Check(op, sample, k);
        if (HasFatalFailure()) return;
      }
    }
  }
}

std::string OpName(const testing::TestParamInfo<int>& info) {
  return std::string(ir::Name(static_cast<Op>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(Ops, OpSweep, testing::Range(0, ir::kNumOps), OpName);

}  // namespace
}  // namespace lathe::whole
