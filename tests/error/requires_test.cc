// What ops require of sizes: said with the statement, checked by each call unless it is declared,
// and counted only for the values that need the op.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "repl/session.h"

namespace lathe::repl {
namespace {

using testing::HasSubstr;

class Requires : public testing::Test {
 protected:
  // The JSON of the last statement; all must succeed.
  Json Ask(std::initializer_list<const char*> statements) {
    Json last;
    for (const char* statement : statements) {
      const std::variant<Answer, Fault> reply = session_.Execute(statement);
      if (const Fault* fault = std::get_if<Fault>(&reply)) {
        ADD_FAILURE() << statement << ": " << fault->message;
      } else {
        last = std::get<Answer>(reply).json;
      }
    }
    return last;
  }

  std::string FaultOf(const char* statement) {
    const std::variant<Answer, Fault> reply = session_.Execute(statement);
    const Fault* fault = std::get_if<Fault>(&reply);
    return fault == nullptr ? "" : fault->message;
  }

  Session session_{{.threads = 1}};
};

TEST_F(Requires, AMultipleIsSaidWithTheDeclarationThatProvidesIt) {
  const Json y = Ask({"dim batch, seq", "x: f32[batch, seq]", "y = reshape(x, [-1, 512])"});
  ASSERT_EQ(y["requires"].size(), 1u) << y;
  EXPECT_EQ(y["requires"][0]["claim"], "batch*seq % 512 == 0");
  EXPECT_EQ(y["requires"][0]["declare"], "assume batch*seq % 512 == 0");
  const std::string fault = FaultOf(":run y batch=3 seq=100");
  for (const char* part : {"batch*seq % 512 == 0", "batch = 3 (axis 0 of input x)",
                           "seq = 100 (axis 1 of input x)", "300", "remainder 300", "reshape"}) {
    EXPECT_THAT(fault, HasSubstr(part));
  }
  const Json declared = Ask({"assume batch*seq % 512 == 0", "z = reshape(x, [-1, 512])"});
  EXPECT_FALSE(declared.contains("requires")) << declared;
  Ask({":run z batch=4 seq=128"});
}

TEST_F(Requires, FlattenedSizesAreSaidAsAnEquality) {
  const Json z = Ask({"dim b, s, c, t", "x: f32[b, s]", "y: f32[c, t]",
                      "z = reshape(x, [-1]) + reshape(y, [-1])"});
  ASSERT_TRUE(z.contains("requires")) << z;
  EXPECT_EQ(z["requires"][0]["declare"], "assume b*s == c*t");
  EXPECT_THAT(z["requires"][0]["by"].get<std::string>(),
              HasSubstr("b*s and c*t must be equal, or one of them 1"));
  const std::string fault = FaultOf(":run z b=2 s=3 c=2 t=4");
  EXPECT_THAT(fault, HasSubstr("b*s and c*t must be equal, or one of them 1"));
  EXPECT_THAT(fault, HasSubstr("b = 2 (axis 0 of input x)"));
  Ask({":run z b=2 s=3 c=3 t=2", ":run z b=2 s=3 c=1 t=1"});
  const Json declared = Ask({"assume b*s == c*t", "w = reshape(x, [-1]) + reshape(y, [-1])"});
  EXPECT_FALSE(declared.contains("requires")) << declared;
}

// A value that doesn't need the op isn't bound by what the op requires.
TEST_F(Requires, CountsOnlyForValuesThatNeedTheOp) {
  Ask({"dim n, m", "x: f32[n]", "y: f32[m]", "c = reshape(x, [4, -1])", "d = x @ y", "z = x + y",
       ":run z n=1 m=3", ":run z n=3 m=3", ":run z n=3 m=1"});
  EXPECT_NE(FaultOf(":run d n=3 m=1"), "");
  EXPECT_NE(FaultOf(":run c n=3"), "");
  EXPECT_NE(FaultOf(":run z n=2 m=3"), "");
}

TEST_F(Requires, AnIndexDoesNotReachIntoSlicesOfTheSameValue) {
  Ask({"dim n", "x: f32[n]", "y = x[9]", "y = x[1:n-1]", ":run y n=1", ":run y n=0", ":run y n=5"});
}

// One that needs the op may rely on it: the sum below has the shape that the index proves.
TEST_F(Requires, CountsForValuesThatNeedTheOp) {
  const Json z = Ask({"dim n, m", "x: f32[n]", "y: f32[m]", "d = x @ y", "z = x * d + y"});
  EXPECT_FALSE(z.contains("requires")) << z;
  Ask({":run z n=3 m=3"});
}

TEST_F(Requires, WhatSidesOfAnIfTeachIsListedWithItsPlace) {
  const Json facts = Ask(
      {"dim n in 1..64", "x: f32[n]", "y = if n >= 8 { yield x * 2 } else { yield x }", ":facts"});
  std::string all;
  for (const Json& line : facts["facts"]) all += line.get<std::string>() + "\n";
  EXPECT_THAT(all, HasSubstr("8 <= n  [where the then-side of if at line 1:5 runs]"));
  EXPECT_THAT(all, HasSubstr("n < 8  [where the other side of if at line 1:5 runs]"));
}

}  // namespace
}  // namespace lathe::repl
