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

TEST(Staged, InputsMayBeStridedAndOutputsInputs) {
  Stages s("alias");
  const ir::SlotId x = s.Input("x", "f32[n, m]"), y = s.Input("y", "f32[n]");
  const auto sum =
      s.Graph("sum", "x: f32[n, m]\ny: f32[n]\noutput z = sum(x, axes=[1]) + y\n", {x, y});
  s.Output("z", sum[0]);
  s.Output("y", y);
  s.Output("again", sum[0]);
  const Tensor wide = Counted({4, 6});
  const Tensor strided = Tensor::View(wide.raw(), f32, {2, 3}, {6, 2});
  CheckCalls(s, {{strided, F32({2}, {1, 2})}, {Counted({2, 3}), F32({2}, {1, 2})}});
  Engine engine({.threads = 1});
  const Function f = Compile(engine, s);
  ASSERT_NE(f.staged_state(), nullptr);
  const Tensor given = F32({2}, {1, 2});
  const auto out = f.call({Counted({2, 3}), given});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_NE((*out)[1].raw(), given.raw()) << "an output is the caller's memory";
  EXPECT_NE((*out)[0].raw(), (*out)[2].raw()) << "two outputs share memory";
}

// In each step x is halved or grows by one, by what stands at its front; what both sides see is
// captured from the program.
Stages Zigzag() {
  Stages s("zigzag");
  const ir::SlotId x = s.Input("x", "f32[n]"), one = s.Input("one", "f32[1]"),
                   trips = s.Input("trips", "i64[1]");
  Stages body = s.Body("zig");
  body.Input("step", "i64[]");
  const ir::SlotId now = body.Input("now", "f32[m]"), add = body.Input("one", "f32[1]");
  const auto test = body.Graph("test", "x: f32[m]\noutput big = sum(x) > 4\n", {now});
  Stages half = s.Body("half"), grow = s.Body("grow");
  for (Stages* side : {&half, &grow}) {
    const ir::SlotId in = side->Input("x", "f32[m]"), extra = side->Input("one", "f32[1]");
    const auto out = side->Graph(side == &half ? "halve" : "append",
                                 side == &half ? "x: f32[m]\none: f32[1]\noutput y = x * 0.5\n"
                                               : "x: f32[m]\none: f32[1]\n"
                                                 "output y = concat(x, one, axis=0)\n",
                                 {in, extra});
    side->Output("y", out[0]);
  }
  const auto next = body.If(test[0], {now, add}, half, grow);
  const auto total = body.Graph("total", "x: f32[m]\noutput total = sum(x)\n", {next[0]});
  body.Output("next", next[0]);
  body.Output("total", total[0]);
  // Twice the same loop inside of another one.
  Stages outer = s.Body("outer");
  outer.Input("step", "i64[]");
  const ir::SlotId seen = outer.Input("x", "f32[m]"), often = outer.Input("trips", "i64[1]"),
                   unit = outer.Input("one", "f32[1]");
  const auto first = outer.Loop(body, 1, {seen, unit}, {.trips = often, .scanned = {"f32[]"}});
  const auto second = outer.Loop(body, 1, {first[0], unit}, {.trips = often, .scanned = {"f32[]"}});
  outer.Output("x", second[0]);
  outer.Output("totals", second[1]);
  const auto last = s.Loop(outer, 1, {x, trips, one}, {.trips = trips, .scanned = {"f32[t]"}});
  s.Output("x", last[0]);
  s.Output("totals", last[1]);
  return s;
}

TEST(Staged, IfsInLoopsInLoops) {
  const Tensor one = F32({1}, {1});
  CheckCalls(Zigzag(), {{F32({2}, {1, 2}), one, I64({1}, {3})},
                        {F32({1}, {9}), one, I64({1}, {1})},
                        {F32({0}, {}), one, I64({1}, {4})},
                        {F32({2}, {1, 2}), one, I64({1}, {0})}});
}

TEST(Staged, ValuesCapturedByAllAreSharedAndLive) {
  Stages s("capture");
  const ir::SlotId x = s.Input("x", "f32[n]"), trips = s.Input("trips", "i64[]");
  const auto w = s.Graph("w", "x: f32[n]\noutput w = x * 3\n", {x});
  Stages body = s.Body("step");
  body.Input("step", "i64[]");
  const ir::SlotId acc = body.Input("acc", "f32[n]"), by = body.Input("w", "f32[n]");
  const auto next = body.Graph("add", "acc: f32[n]\nw: f32[n]\noutput next = acc + w\n", {acc, by});
  body.Output("next", next[0]);
  const auto sum = s.Loop(body, 1, {x, w[0]}, {.trips = trips});
  const auto end = s.Graph("end", "a: f32[n]\nw: f32[n]\noutput y = a * w\n", {sum[0], w[0]});
  s.Output("y", end[0]);
  CheckCalls(
      s,
      {{Counted({5}), I64({}, {3})}, {Counted({1}), I64({}, {0})}, {Counted({0}), I64({}, {2})}});
}

// Each step gathers at its own number, which fails past the end.
Stages GatherAtStep() {
  Stages s("at_step");
  const ir::SlotId x = s.Input("x", "f32[n]"), trips = s.Input("trips", "i64[]");
  Stages body = s.Body("each");
  const ir::SlotId step = body.Input("step", "i64[]"), in = body.Input("x", "f32[n]");
  const auto got = body.Graph(
      "look", "step: i64[]\nx: f32[n]\noutput y = gather(x, step, axis=0)\n", {step, in});
  body.Output("y", got[0]);
  const auto all = s.Loop(body, 0, {x}, {.trips = trips, .scanned = {"f32[]"}});
  s.Output("y", all[0]);
  return s;
}

TEST(Staged, AnErrorInAStepNamesItAndLeavesEverythingUsable) {
  Engine engine({.threads = 1});
  const Function f = Compile(engine, GatherAtStep());
  ASSERT_NE(f.staged_state(), nullptr);
  int64_t live = 0;
  for (int turn = 0; turn < 3; ++turn) {
    {
      const auto failed = f.call({Counted({2}), I64({}, {5})});
      ASSERT_FALSE(failed.ok());
      EXPECT_EQ(failed.status().code(), absl::StatusCode::kOutOfRange);
      EXPECT_THAT(std::string(failed.status().message()),
                  HasSubstr("stage 0, loop 'each': step 2: stage 0, graph 'look': "));
      const auto fine = f.call({Counted({4}, 7), I64({}, {3})});
      ASSERT_TRUE(fine.ok()) << fine.status();
      ExpectSame(*fine, {F32({3}, {7, 8, 9})});
    }
    if (turn == 0) live = engine.counters().live_bytes;
    EXPECT_EQ(engine.counters().live_bytes, live) << "a failed call keeps memory";
  }
}

TEST(Staged, InputsAreCheckedBeforeAnythingRuns) {
  Engine engine({.threads = 1});
  const Function f = Compile(engine, Growing(true));
  ASSERT_NE(f.staged_state(), nullptr);
  const auto message = [&](std::vector<Tensor> inputs) {
    return std::string(f.call(inputs).status().message());
  };
  EXPECT_THAT(message({F32({2}, {1, 2})}), HasSubstr("1 input"));
  EXPECT_THAT(message({I64({2}, {1, 2}), I64({}, {1})}), HasSubstr("input x"));
  EXPECT_THAT(message({F32({1, 2}, {1, 2}), I64({}, {1})}), HasSubstr("input x"));
  Context context;
  Tensor all(f32, {4}), scaled(f32, {1, 3});
  const absl::Status wrong = f.call_into({F32({2}, {1, 2}), I64({}, {1})}, {all, scaled}, context);
  EXPECT_THAT(std::string(wrong.message()),
              HasSubstr("output scaled: found f32[1, 3], wanted f32[1, 2]"));
  const Tensor x = F32({4}, {1, 2, 3, 4});
  EXPECT_THAT(std::string(f.call_into({x, I64({}, {0})}, {x, scaled}, context).message()),
              HasSubstr("overlaps the memory of input x"));
  // Facts about sizes that data give are checked where they are read.
  Stages bad("bad");
  const ir::SlotId in = bad.Input("x", "f32[n]"), at = bad.Input("k", "i64[1]");
  const auto twice = bad.Graph("twice", "k: i64[1]\noutput k2 = k * 2\n", {at});
  const auto cut = bad.Graph(
      "cut", "x: f32[n]\nc: i64[1] = input(elements=[k])\nassume k <= n\noutput y = x[0:k]\n",
      {in, twice[0]});
  bad.Output("y", cut[0]);
  const Function g = Compile(engine, bad);
  ASSERT_NE(g.staged_state(), nullptr);
  EXPECT_TRUE(g.call({Counted({4}), I64({1}, {2})}).ok());
  EXPECT_THAT(std::string(g.call({Counted({4}), I64({1}, {3})}).status().message()),
              HasSubstr("stage 1, graph 'cut': "));
  EXPECT_FALSE(g.call({Counted({4}), I64({1}, {-1})}).ok());
}

TEST(Staged, ASymbolThatSeveralInputsGiveIsTheSameInAll) {
  Stages s("same");
  const ir::SlotId x = s.Input("x", "f32[n]"), a = s.Input("a", "i64[1]"),
                   b = s.Input("b", "i64[1]");
  const auto copies =
      s.Graph("copies", "a: i64[1]\nb: i64[1]\noutput c = a + 0\noutput d = b + 0\n", {a, b});
  // k by two inputs' elements, n by a shape and by elements; d may be below 0.
  const auto out = s.Graph("use", R"(x: f32[n]
c: i64[1] = input(elements=[k])
e: i64[1] = input(elements=[k])
l: i64[1] = input(elements=[n])
d: i64[1] = input(elements=[d])
assume -8 <= d, d <= 8, k <= n
output y = x[0:k] + cast(size(d), f32)
output z = x[max(d, 0):n]
)",
                           {x, copies[0], a, a, copies[1]});
  s.Output("y", out[0]);
  s.Output("z", out[1]);
  CheckCalls(s, {{Counted({4}), I64({1}, {4}), I64({1}, {-3})},
                 {Counted({1}), I64({1}, {1}), I64({1}, {1})},
                 {Counted({0}), I64({1}, {0}), I64({1}, {0})}});
  Engine engine({.threads = 1});
  const Function f = Compile(engine, s);
  ASSERT_NE(f.staged_state(), nullptr);
  EXPECT_FALSE(f.call({Counted({4}), I64({1}, {3}), I64({1}, {0})}).ok()) << "n is 4 and 3";
  EXPECT_FALSE(f.call({Counted({4}), I64({1}, {4}), I64({1}, {-9})}).ok());
}

TEST(Staged, TwoThreadsCallAtOnce) {
  Engine engine({.threads = 2});
  const Function f = Compile(engine, Growing(true));
  ASSERT_NE(f.staged_state(), nullptr);
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 40; ++i) {
        const int64_t n = 1 + (i + t) % 5, trips = i % 7;
        const auto out = f.call({Counted({n}), I64({}, {trips})});
        ASSERT_TRUE(out.ok()) << out.status();
        ASSERT_THAT((*out)[0].shape(), ElementsAre(n * (trips + 1)));
        ASSERT_THAT((*out)[1].shape(), ElementsAre(trips, n));
        const float last = trips > 1 ? (*out)[1].data<float>()[2 * n - 1] : 0;
        ASSERT_EQ(last, trips > 1 ? static_cast<float>(n - 1) : 0);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
}

TEST(Staged, TheBoundOfMemoryIsNeverBelowWhatACallTakes) {
  Engine engine({.threads = 1, .background_compiles = false});
  struct Case {
    Stages stages;
    std::vector<Tensor> inputs;
    Sizes sizes;
  };
  const Case cases[] = {
      {Positives(), {Counted({300}, 1)}, {{"n", 300}}},
      {Positives(), {Counted({300}, 1)}, {{"n", 300}, {"k", 300}}},
      {Growing(false), {Counted({64}), I64({}, {40})}, {{"n", 64}, {"m", 64 * 40}}},
      {Doubling(), {F32({2}, {1, 2}), F32({}, {4})}, {{"n", 2}}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.stages.Share()->name);
    const Function f = Compile(engine, c.stages);
    ASSERT_NE(f.staged_state(), nullptr);
    const absl::StatusOr<int64_t> bound = f.peak_bytes(c.sizes);
    if (c.stages.Share()->name == "doubling") {
      EXPECT_THAT(std::string(bound.status().message()), HasSubstr("number of its steps"));
      continue;
    }
    ASSERT_TRUE(bound.ok()) << bound.status();
    const int64_t before = engine.counters().live_bytes;
    engine.reset_peak();
    ASSERT_TRUE(f.call(c.inputs).ok());
    const int64_t taken = engine.counters().peak_bytes - before;
    EXPECT_LE(taken, *bound);
    EXPECT_GE(2 * taken, *bound) << "a loose bound for these inputs, which need most";
  }
}

TEST(Staged, QuestionsHaveAnswersOrSaySo) {
  Engine engine({.threads = 1});
  const Function f = Compile(engine, Positives());
  ASSERT_NE(f.staged_state(), nullptr);
  const auto open = f.output_shapes({{"n", 8}});
  EXPECT_THAT(std::string(open.status().message()),
              HasSubstr("output at: stage 1, graph 'cut': the extent k depends on k"));
  const auto shapes = f.output_shapes({{"n", 8}, {"k", 3}});
  ASSERT_TRUE(shapes.ok()) << shapes.status();
  EXPECT_THAT((*shapes)[1], ElementsAre(3));
  const absl::StatusOr<int64_t> eight = f.peak_bytes({{"n", 8}}), more = f.peak_bytes({{"n", 800}});
  ASSERT_TRUE(eight.ok() && more.ok()) << eight.status();
  EXPECT_LT(*eight, *more);
  EXPECT_LE(*f.peak_bytes({{"n", 800}, {"k", 0}}), *more);
  const absl::StatusOr<int64_t> largest = f.largest("n", {}, *more);
  ASSERT_TRUE(largest.ok()) << largest.status();
  EXPECT_GE(*largest, 800);
  EXPECT_LE(*f.peak_bytes({{"n", *largest}}), *more);
  EXPECT_EQ(f.could_exceed(1 << 20)->verdict, MemoryAnswer::Verdict::kUnknown);
  EXPECT_FALSE(f.peak_bytes({{"nonsense", 8}}).ok());
  const Function g = Compile(engine, Growing(false));
  ASSERT_NE(g.staged_state(), nullptr);
  EXPECT_THAT(std::string(g.peak_bytes({{"n", 8}}).status().message()),
              HasSubstr("size m has no upper bound: give it among the sizes"));
  Context context;
  EXPECT_TRUE(f.reserve(context, {{"n", 100}}).ok());
  const int64_t growths = engine.counters().arena_growths;
  Tensor at(i64, {100}), there(f32, {100});
  EXPECT_TRUE(f.call_into({Counted({100}, 1)}, {at, there}, context).ok());
  EXPECT_EQ(engine.counters().arena_growths, growths);
  const auto text = f.explain({{"n", 8}});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("stage 0, graph 'find'"));
  EXPECT_THAT(*text, HasSubstr("known when it runs: k"));
  const auto json = f.explain_json({{"n", 8}});
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_THAT(*json, HasSubstr("\"open\":[\"k\"]"));
  EXPECT_EQ(f.versions().size(), 2u);
  EXPECT_TRUE(f.pin_version("generic").ok());
  EXPECT_TRUE(f.pin_version("").ok());
  EXPECT_TRUE(absl::IsNotFound(f.pin_version("best")));
  const std::vector<Sizes> named = {{{"n", 8}}};
  EXPECT_TRUE(f.prepare(named).ok());
}

// What an op in one side requires of sizes says nothing of calls that take the other.
TEST(Staged, FactsOfASideDoNotBoundTheProgram) {
  Stages s("sides");
  const ir::SlotId go = s.Input("go", "bool[]"), x = s.Input("x", "f32[n]"),
                   y = s.Input("y", "f32[m]");
  const auto first = s.Graph("first",
                             "x: f32[n]\ny: f32[m]\nassume m <= 8\noutput u = exp(x)\n"
                             "output w = exp(y)\n",
                             {x, y});
  Stages then = s.Body("then"), otherwise = s.Body("otherwise");
  for (Stages* side : {&then, &otherwise}) {
    const ir::SlotId a = side->Input("x", "f32[n]"), b = side->Input("y", "f32[m]");
    side->Output("z", side->Graph("add",
                                  side == &then ? "x: f32[n]\ny: f32[m]\n"
                                                  "dot = reshape(x, [1, n]) @ reshape(y, [m, 1])\n"
                                                  "output z = x * sum(dot)\n"
                                                : "x: f32[n]\ny: f32[m]\noutput z = exp(x)\n",
                                  {a, b})[0]);
  }
  s.Output("z", s.If(go, {first[0], first[1]}, then, otherwise)[0]);
  Engine engine({.threads = 1});
  const Function f = Compile(engine, s);
  ASSERT_NE(f.staged_state(), nullptr);
  EXPECT_NE(f.could_exceed(1 << 20)->verdict, MemoryAnswer::Verdict::kNo);
}

// What controls a stage has one element.
TEST(Staged, ControlsOfOtherThanOneElement) {
  Stages s("controls");
  const ir::SlotId go = s.Input("go", "bool[k]"), trips = s.Input("trips", "i64[t]"),
                   x = s.Input("x", "f32[n]");
  Stages then = s.Body("then"), otherwise = s.Body("otherwise"), body = s.Body("body");
  for (Stages* side : {&then, &otherwise}) {
    const ir::SlotId a = side->Input("x", "f32[n]");
    side->Output("y", side->Graph("one",
                                  side == &then ? "x: f32[n]\noutput y = x + 1\n"
                                                : "x: f32[n]\noutput y = x - 1\n",
                                  {a})[0]);
  }
  const ir::SlotId step = body.Input("step", "i64[]"), now = body.Input("now", "f32[n]");
  body.Output("y",
              body.Graph("twice", "step: i64[]\nx: f32[n]\noutput y = x * 2\n", {step, now})[0]);
  const ir::SlotId chosen = s.If(go, {x}, then, otherwise)[0];
  s.Output("y", s.Loop(body, 1, {chosen}, {.trips = trips})[0]);
  Engine engine({.threads = 1});
  const Function f = Compile(engine, s);
  ASSERT_NE(f.staged_state(), nullptr);
  const auto bools = [](int64_t count) { return Tensor(bool_, {count}); };
  const Tensor two = F32({2}, {1, 2});
  const std::pair<std::vector<Tensor>, std::string> wrong[] = {
      {{bools(0), I64({1}, {1}), two}, "the condition has 0 elements, wanted 1"},
      {{bools(3), I64({1}, {1}), two}, "the condition has 3 elements, wanted 1"},
      {{bools(1), I64({0}, {}), two}, "the number of steps has 0 elements, wanted 1"},
      {{bools(1), I64({2}, {1, 1}), two}, "the number of steps has 2 elements, wanted 1"}};
  for (const auto& [inputs, message] : wrong) {
    for (const absl::Status& failed :
         {f.call(inputs).status(), ir::Interpret(*s.Share(), inputs).status()}) {
      EXPECT_EQ(failed.code(), absl::StatusCode::kInvalidArgument) << failed;
      EXPECT_THAT(std::string(failed.message()), HasSubstr(message));
    }
  }
  const auto right = f.call({bools(1), I64({1}, {2}), two});
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ((*right)[0].data<float>()[1], 4);
}

// A number of steps that is only bounded is none to answer with.
TEST(Staged, ShapesThatAreOnlyBoundedAreNotAnswered) {
  Stages s("steps");
  const ir::SlotId x = s.Input("x", "f32[n]");
  const auto found =
      s.Graph("count", "x: f32[n]\noutput k = reshape(sum(cast(x > 0, i64)), [1])\n", {x});
  const auto trips = s.Graph("steps", R"(x: f32[n]
k: i64[1] = input(elements=[k])
assume k <= n
output t = size(min(k, 4))
)",
                             {x, found[0]});
  Stages body = s.Body("body");
  const ir::SlotId step = body.Input("step", "i64[]"), now = body.Input("now", "f32[n]");
  const auto next = body.Graph(
      "next", "step: i64[]\nx: f32[n]\noutput y = x + 1\noutput t = sum(x)\n", {step, now});
  body.Output("y", next[0]);
  body.Output("t", next[1]);
  const auto last = s.Loop(body, 1, {x}, {.trips = trips[0], .scanned = {"f32[]"}});
  s.Output("totals", last[1]);
  Engine engine({.threads = 1});
  const Function f = Compile(engine, s);
  ASSERT_NE(f.staged_state(), nullptr);
  EXPECT_EQ(f.output_shapes({{"n", 8}}).status().code(), absl::StatusCode::kFailedPrecondition);
  const auto given = f.output_shapes({{"n", 8}, {"k", 2}});
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_THAT((*given)[0], ElementsAre(2));
}

TEST(Staged, BeforePrepareCallsFailAndCompileReportsWhere) {
  Engine engine({.threads = 1});
  absl::StatusOr<Function> f = engine.compile(Positives().Take());
  ASSERT_TRUE(f.ok()) << f.status();
  EXPECT_TRUE(absl::IsFailedPrecondition(f->call({Counted({4})}).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(f->peak_bytes({{"n", 4}}).status()));
  Stages broken = Positives();
  broken.program().stages[1].inputs[1] = 99;
  EXPECT_FALSE(engine.compile(broken.Take()).ok());
  EXPECT_THAT(Positives().Take().to_string(), HasSubstr("stage 1, graph 'cut': (s0, s1, s2)"));
}

}  // namespace
}  // namespace lathe::whole
