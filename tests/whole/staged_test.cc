// Programs in stages: compiled, they give what the interpreter of stages gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "ir/staged_interpreter.h"
#include "tests/whole/case.h"
#include "tests/whole/stages.h"

namespace lathe::whole {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Function Compile(Engine& engine, const Stages& stages) {
  absl::StatusOr<Function> f = engine.compile(stages.Take());
  EXPECT_TRUE(f.ok()) << f.status();
  if (!f.ok()) return Function(nullptr);
  const absl::Status prepared = f->prepare();
  EXPECT_TRUE(prepared.ok()) << prepared;
  return *f;
}

void ExpectSame(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].dtype(), wanted[i].dtype()) << i;
    ASSERT_EQ(found[i].shape(), wanted[i].shape()) << i;
    const size_t bytes = static_cast<size_t>(wanted[i].num_bytes());
    EXPECT_TRUE(bytes == 0 || std::memcmp(found[i].raw(), wanted[i].raw(), bytes) == 0)
        << i << ": " << found[i].ToString() << ", wanted " << wanted[i].ToString();
  }
}

// Calls in the order A, B, .., A, by call and by call_into, against the interpreter; nothing is
// compiled in a call, and nothing is kept but the arena.
void CheckCalls(const Stages& stages, const std::vector<std::vector<Tensor>>& calls) {
  Engine engine({.threads = 1});
  const Function f = Compile(engine, stages);
  ASSERT_NE(f.staged_state(), nullptr);
  f.wait_for_versions();
  const int64_t compiles = engine.counters().compiles;
  Context context;
  int64_t live = -1;
  for (size_t turn = 0; turn < 2 * calls.size() + 1; ++turn) {
    SCOPED_TRACE(absl::StrCat("turn ", turn));
    const std::vector<Tensor>& inputs = calls[turn % calls.size()];
    absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(*stages.Share(), inputs);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    {
      absl::StatusOr<std::vector<Tensor>> found = f.call(inputs);
      ASSERT_TRUE(found.ok()) << found.status();
      ExpectSame(*found, *wanted);
    }
    std::vector<Tensor> into;
    for (const Tensor& t : *wanted) into.push_back(Tensor(t.dtype(), t.shape()));
    const absl::Status s = f.call_into(inputs, into, context);
    ASSERT_TRUE(s.ok()) << s;
    ExpectSame(into, *wanted);
    if (turn == calls.size() - 1) live = engine.counters().live_bytes;
    if (turn < calls.size()) continue;
    EXPECT_EQ(engine.counters().live_bytes, live) << "something leaks";
  }
  EXPECT_EQ(engine.counters().compiles, compiles);
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
}

// x doubles while it is below the limit; a trip costs a step.
Stages Doubling() {
  Stages s("doubling");
  const ir::SlotId x = s.Input("x", "f32[n]"), limit = s.Input("limit", "f32[]");
  const auto first =
      s.Graph("test", "x: f32[n]\nlimit: f32[]\noutput go = sum(x) < limit\n", {x, limit});
  Stages body = s.Body("double");
  const ir::SlotId step = body.Input("step", "i64[]"), now = body.Input("now", "f32[n]"),
                   bound = body.Input("limit", "f32[]");
  const auto next = body.Graph("step", R"(step: i64[]
x: f32[n]
limit: f32[]
y = x * 2 + cast(step, f32)
output go = sum(y) < limit
output y
output total = sum(y)
)",
                               {step, now, bound});
  body.Output("go", next[0]);
  body.Output("y", next[1]);
  body.Output("total", next[2]);
  const auto last = s.Loop(body, 1, {x, limit},
                           {.condition = first[0], .gives_condition = true, .scanned = {"f32[]"}});
  s.Output("y", last[0]);
  s.Output("totals", last[1]);
  return s;
}

// An accumulator that grows by x in each of `trips` steps, and what it was before each.
Stages Growing(bool scans) {
  Stages s("growing");
  const ir::SlotId x = s.Input("x", "f32[n]"), trips = s.Input("trips", "i64[]");
  Stages body = s.Body("grow");
  const ir::SlotId step = body.Input("step", "i64[]"), sofar = body.Input("sofar", "f32[m]"),
                   add = body.Input("add", "f32[n]");
  const auto next = body.Graph("concat", R"(step: i64[]
sofar: f32[m]
add: f32[n]
scaled = add * cast(step, f32)
output all = concat(sofar, scaled, axis=0)
output scaled
)",
                               {step, sofar, add});
  body.Output("all", next[0]);
  if (scans) body.Output("scaled", next[1]);
  const auto last =
      s.Loop(body, 1, {x, x},
             {.trips = trips,
              .scanned = scans ? std::vector<std::string>{"f32[n]"} : std::vector<std::string>{}});
  s.Output("all", last[0]);
  if (scans) s.Output("scaled", last[1]);
  return s;
}

TEST(Staged, ASizeThatAnEarlierStageComputes) {
  CheckCalls(Positives(), {{F32({5}, {1, -1, 0, 2, 3})},
                           {F32({0}, {})},
                           {F32({1}, {-1})},
                           {F32({1}, {7})},
                           {F32({4}, {-1, -2, -3, -4})},
                           {Counted({33}, -16)}});
}

TEST(Staged, ALoopRunsAsLongAsItsConditionHolds) {
  CheckCalls(Doubling(), {{F32({2}, {1, 2}), F32({}, {100})},
                          {F32({2}, {1, 2}), F32({}, {2})},  // no step
                          {F32({2}, {1, 2}), F32({}, {4})},  // one
                          {F32({3}, {.5, .25, 1}), F32({}, {1e9})}});
}

TEST(Staged, ACarriedValueMayGrow) {
  for (bool scans : {false, true}) {
    CheckCalls(Growing(scans), {{F32({2}, {1, 2}), I64({}, {3})},
                                {F32({2}, {1, 2}), I64({}, {0})},
                                {F32({1}, {5}), I64({}, {1})},
                                {F32({0}, {}), I64({}, {4})},
                                {F32({3}, {1, 2, 3}), I64({}, {-7})},
                                {F32({7}, {1, 2, 3, 4, 5, 6, 7}), I64({}, {31})}});
  }
}

TEST(Staged, LoopsOfNoStepsGiveEmptyScansOfTheRightShape) {
  Engine engine({.threads = 1});
  const Function f = Compile(engine, Growing(true));
  ASSERT_NE(f.staged_state(), nullptr);
  const auto out = f.call({F32({3}, {1, 2, 3}), I64({}, {0})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT((*out)[0].shape(), ElementsAre(3));
  EXPECT_THAT((*out)[1].shape(), ElementsAre(0, 3));
}

}  // namespace
}  // namespace lathe::whole
