// Programs in stages: what the verifier refuses, the text, the graphs beside them, the interpreter.
#include "ir/staged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/staged_interpreter.h"
#include "tests/whole/stages.h"

namespace lathe::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using whole::Stages;

// A loop of `trips` steps that adds its number to x and scans it.
Stages Counting() {
  Stages s("counting");
  const SlotId x = s.Input("x", "i64[]"), trips = s.Input("trips", "i64[]");
  Stages body = s.Body("count");
  const SlotId step = body.Input("step", "i64[]"), now = body.Input("now", "i64[]");
  const auto next =
      body.Graph("add", "step: i64[]\nnow: i64[]\noutput y = now + step\n", {step, now});
  body.Output("y", next[0]);
  body.Output("y again", next[0]);
  const auto all = s.Loop(body, 1, {x}, {.trips = trips, .scanned = {"i64[]"}});
  s.Output("last", all[0]);
  s.Output("all", all[1]);
  return s;
}

std::string Fault(const Staged& program) { return std::string(Verify(program).message()); }

TEST(Staged, TheVerifierSaysWhatIsWrongAndWhere) {
  const auto changed = [](const std::function<void(Staged&)>& change) {
    Stages s = Counting();
    EXPECT_TRUE(Verify(s.program()).ok()) << Verify(s.program());
    change(s.program());
    return Fault(s.program());
  };
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].inputs[0] = 7; }),
              HasSubstr("stage 0, loop 'count': input 0 is slot 7 of 4"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].inputs[0] = 2; }),
              HasSubstr("input 0 is slot 2, which nothing has written"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].outputs[0] = 0; }),
              HasSubstr("writes slot 0, which is written already"));
  EXPECT_THAT(changed([](Staged& p) { p.outputs[0] = kNoSlot; }), HasSubstr("output 0 is slot -1"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].trips = kNoSlot; }),
              HasSubstr("it would never end"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].num_carried = 2; }),
              HasSubstr("2 carried values among 1 inputs"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].bodies.clear(); }),
              HasSubstr("0 bodies, wanted 1"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].bodies[0] = nullptr; }), HasSubstr("is null"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].scanned[0].dtype = DType::kF32; }),
              HasSubstr("scanned value 0 is i64 of rank 0, wanted f32 of rank 0"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].outputs.pop_back(); }),
              HasSubstr("1 outputs, wanted 2"));
  EXPECT_THAT(changed([](Staged& p) { p.input_types[0].dtype = DType::kF32; }),
              HasSubstr("input 0 is f32 of rank 0, wanted i64 of rank 0"));
  EXPECT_THAT(changed([](Staged& p) { p.input_names[0] = "trips"; }),
              HasSubstr("two inputs have the name 'trips'"));
  EXPECT_THAT(changed([](Staged& p) { p.output_names.pop_back(); }), HasSubstr("a name for each"));
  EXPECT_THAT(changed([](Staged& p) { p.stages[0].condition = 0; }),
              HasSubstr("the condition is i64 of rank 0, wanted bool of rank 0"));
}

TEST(Staged, BodiesNestToTheLimitAndNoFurther) {
  Stages s("deep");
  Stages inner = s.Body("body 0");
  inner.Output("x", inner.Input("x", "f32[]"));
  for (int depth = 1; depth <= kMaxBlockDepth + 1; ++depth) {
    const bool last = depth > kMaxBlockDepth;
    Stages outer = s.Body(absl::StrCat("body ", depth));
    const SlotId x = outer.Input("x", "f32[]");
    const auto go = outer.Graph("test", "x: f32[]\noutput go = x > 0\n", {x});
    // Both sides are the same body: looked at once, or this would take 2^32 steps.
    const auto y = outer.If(go[0], {x}, inner, inner);
    outer.program().stages.back().bodies[1] = outer.program().stages.back().bodies[0];
    outer.Output("y", y[0]);
    EXPECT_EQ(Verify(outer.program()).ok(), !last) << depth;
    if (last) {
      EXPECT_THAT(Fault(outer.program()), HasSubstr("nest deeper than 32"));
    }
    inner = outer;
  }
}

TEST(Staged, ThePrintShowsEveryStage) {
  const std::string text = Print(Counting().program());
  EXPECT_THAT(text, HasSubstr("program \"counting\"\ninputs s0 = x: i64[], s1 = trips: i64[]\n"
                              "stage 0, loop 'count' trips s1: (s0) -> (s2, s3), carries 1, scans "
                              "i64[]\n  each step\n    inputs s0 = step: i64[], s1 = now: i64[]\n"
                              "    stage 0, graph 'add': (s0, s1) -> (s2)\n"));
  EXPECT_THAT(text, HasSubstr("outputs s2 = last, s3 = all\n"));
}

TEST(Staged, TheInterpreterRunsLoops) {
  const Stages s = Counting();
  for (int64_t trips : {0, 1, 5}) {
    const auto out =
        Interpret(*s.Share(), {Tensor::Scalar<int64_t>(10), Tensor::Scalar<int64_t>(trips)});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(*(*out)[0].data<int64_t>(), 10 + trips * (trips - 1) / 2);
    EXPECT_THAT((*out)[1].shape(), ElementsAre(trips));
  }
}

TEST(Staged, TheEntryHasTheFactsOfSizesThatInputsShow) {
  Stages s("entry");
  const SlotId x = s.Input("x", "f32[n]"), at = s.Input("at", "i64[1]");
  const auto y = s.Graph("cut",
                         "x: f32[n<=8]\nat: i64[1] = input(elements=[k])\nassume k <= n\n"
                         "output y = x[0:k]\n",
                         {x, at});
  s.Output("y", y[0]);
  const absl::StatusOr<Graph> entry = EntryGraph(s.program());
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_TRUE(Verify(*entry).ok()) << Verify(*entry);
  EXPECT_EQ(Print(*entry),
            "program entry\ndim n <= 8\ndim k\nassume k <= n\nx: f32[n]\n"
            "at: i64[1] = input(elements=[k])\n");
}

}  // namespace
}  // namespace lathe::ir
