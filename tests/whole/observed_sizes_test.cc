// Strategies that fix sizes as seen look only at the symbols that they fix: however many sizes of
// the open one are called, each of the others gets its version.
#include <gtest/gtest.h>

#include "tests/whole/case.h"

namespace lathe::whole {
namespace {

absl::StatusOr<Program> TraceSum() {
  Trace t("f");
  const Dim batch = t.dim("batch", "0..64"), seq = t.dim("seq", "0..64");
  return t.finish({sum(t.input("x", f32, {batch, seq, 8}), {1})});
}

struct Observed {
  Strategy strategy;
  std::string open_symbol;
  bool batch_is_open;
};

TEST(ObservedSizes, OfTheOpenSymbolUseUpNothing) {
  for (const auto& [strategy, open_symbol, batch_is_open] :
       {Observed{Strategy::kBatchDynamic, "", true}, Observed{Strategy::kSeqDynamic, "", false},
        Observed{Strategy::kSeqDynamic, "batch", true}}) {
    Engine engine({.threads = 1});
    const Function f =
        *engine.compile(TraceSum(), {.strategy = strategy, .open_symbol = open_symbol});
    ASSERT_TRUE(f.prepare().ok());
    f.wait_for_versions();
    const auto sizes = [&, batch_is_open = batch_is_open](int64_t open, int64_t fixed) {
      return Sizes{{"batch", batch_is_open ? open : fixed}, {"seq", batch_is_open ? fixed : open}};
    };
    // The generic version serves these all, because none is built meanwhile.
    engine.hold_background(true);
    for (int64_t open = 0; open < 30; ++open) {
      Sizes s = sizes(open, 16);
      EXPECT_TRUE(f.call({Tensor(f32, {s["batch"], s["seq"], 8})}).ok());
    }
    engine.hold_background(false);
    f.wait_for_versions();
    ASSERT_TRUE(f.prepare({sizes(5, 16), sizes(1, 9), sizes(2, 16)}).ok());
    // One for 16 and one for 9, unless all of its kernels are the generic version's.
    EXPECT_EQ(engine.counters().versions_built, 3);
    const absl::StatusOr<std::string> explained = f.explain({{"batch", 1}, {"seq", 1}});
    ASSERT_TRUE(explained.ok()) << explained.status();
    EXPECT_EQ(explained->find("is dead"), std::string::npos) << *explained;
  }
}

}  // namespace
}  // namespace lathe::whole
