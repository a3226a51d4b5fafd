// Bad input answers with one fault a statement, which names its place; the session goes on.
#include <random>

#include "gmock/gmock.h"
#include "ir/text_parser.h"
#include "tests/repl/repl_util.h"

namespace lathe::repl {
namespace {

std::string Repeat(const std::string& piece, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += piece;
  return all;
}

std::vector<std::string> BadStatements() {
  const std::string long_word(1 << 20, 'a');
  return {
      "y = frob(x)",
      "y = x @ x @ (",
      "y = x + cast(x, i32)",
      "y = softmax(x, axis=2)",
      "y = matmul(x)",
      "y = reshape(x, [n, 5])",
      "y = concat(x, constant(1.0), axis=0)",
      "x: f32[n]",
      "x2: f33[n]",
      "x2: f32[1099511627776, 1099511627776]",

      "dim n in 8..4",
      "dim k in {}",
      "assume n == 1000",
      "assume n < n",
      "y = if n > 2 { yield x }",
      "y = if n > 2 { yield x } else { yield sum(x, axes=[0]) }",
      "}",
      ")",
      "]]]",
      "y = x[0:",
      ";x=;",
      "yield x",
      "output output",
      "\"",
      "y = \"text",
      "%",
      "%99999999999999999999999",
      ":",
      "::",
      ":run",
      ":run x",
      ":run %999",
      ":run x n=",
      ":run x =3",
      ":run x n=-1",
      ":run x n=65",
      ":run x n=18446744073709551616",
      ":run nothing n=1",
      ":prove n",
      ":prove n < (((",
      ":facts ]",
      ":fit x n -1GiB",
      ":fit x n 1e300TB",
      ":peak x n=0x10",
      ":time x n=..",
      ":time x n=1..2:0",
      ":help " + long_word,
      ":" + long_word,
      ":run " + long_word,
      ":run x " + long_word,
      ":run x n=" + long_word,
      ":prove " + Repeat("(", 1 << 20),
      long_word + " = x",
      "y = " + Repeat("(", 1 << 20),
      "y = " + Repeat("-", 1 << 20) + "x",
      "y = " + Repeat("x@", 300) + "q",
      "y = x\x01\x02\xff\xfe",
      std::string("y = \0x", 6),
      "\xc3\x28 = 1",
      ":run \xff\xfe n=1",
  };
}

TEST(BadInput, EveryStatementAnswersWithAFaultAndTheSessionGoesOn) {
  Console console(/*json=*/true);
  console.Run("dim n in 1..64; x: f32[n, 4]; ok = x * 2; :run ok n=3");
  const Json before = console.Ask(":run ok n=3");
  ASSERT_TRUE(before.contains("outputs"));
  for (const std::string& bad : BadStatements()) {
    SCOPED_TRACE(bad.substr(0, 80));
    const int faults = console.output().faults();
    const std::string lines = console.Run(bad);
    EXPECT_GT(console.output().faults(), faults);
    EXPECT_LT(lines.size(), 4096u);
    const Json first = Json::parse(lines.substr(0, lines.find('\n')), nullptr, false);
    ASSERT_TRUE(first.contains("error")) << lines;
    EXPECT_THAT(first["error"]["at"].get<std::string>(), ::testing::MatchesRegex("[0-9]+:[0-9]+"));
    EXPECT_FALSE(first["error"]["message"].get<std::string>().empty());
    EXPECT_EQ(console.Ask(":run ok n=3"), before);
  }
}

TEST(BadInput, RandomBytesNeverStopASession) {
  std::mt19937 random(1);
  const std::string pieces[] = {"x", "n",    "dim ", "f32[",  "]",       "(", ")",
                                "=", "{",    "}",    ":run ", ":prove ", ";", "\n",
                                "1", "\xff", "if ",  "else ", "softmax", ","};
  for (int round = 0; round < 200; ++round) {
    Console console(/*json=*/true);
    console.Run("dim n; x: f32[n]");
    std::string text;
    for (int i = 0; i < 40; ++i) {
      text += random() % 4 == 0 ? std::string(1, static_cast<char>(random()))
                                : pieces[random() % std::size(pieces)];
    }
    int statements = 0;
    ir::StatementReader reader(text);
    while (!reader.Next().text.empty()) ++statements;
    const std::string lines = console.Run(text);
    EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), statements) << text;
    EXPECT_TRUE(console.Ask(":shape x").contains("shape")) << text;
  }
}

TEST(BadInput, ErrorsOfTheDataComeBackFromTheCall) {
  Console console(/*json=*/true);
  console.Run("x: f32[n]; i: i64[n]; g = gather(x, i + 100, axis=0); m = max(x, axes=[0])");
  const Json fault = console.Ask(":run g n=3");
  EXPECT_EQ(fault["error"]["code"], "OUT_OF_RANGE") << fault;
  EXPECT_TRUE(console.Ask(":run m n=0").contains("error"));
  EXPECT_TRUE(console.Ask(":run m n=2").contains("outputs"));
}

}  // namespace
}  // namespace lathe::repl
