// Bad texts: every error names its place and what was wanted, limits hold, and no text crashes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/graph.h"
#include "ir/text_parser.h"

namespace lathe::ir {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(std::string_view text, std::string_view file = "f.lathe") {
  auto g = Parse(text, file);
  EXPECT_FALSE(g.ok()) << "accepted:\n" << text;
  return g.ok() ? "" : std::string(g.status().message());
}

struct BadText {
  const char* text;
  const char* place;    // "line:column"
  const char* message;  // a part of it
};

constexpr BadText kBadTexts[] = {
    // Words and names.
    {"x: f32[n]\ny = sofmax(x, axis=0)", "2:5", "did you mean 'softmax'"},
    {"xs: f32[n]\ny = relu(xz)", "2:10", "there is no value 'xz'; did you mean 'xs'"},
    {"y = relu(%3)", "1:10", "there is no value '%3'"},
    {"x: f32[n]\ny = reshape(x, [m, 1])", "2:17", "there is no dim 'm'"},
    {"x: f32[seq]\ny = reshape(x, [sec, 1])", "2:17", "did you mean 'seq'"},
    {"assume n <= 4", "1:8", "there is no dim 'n'; declare it"},
    {"if = 3", "1:1", "'if' is a word of the grammar"},
    {"dim", "1:4", "found the end of the text where a size was expected"},
    {"dim 3 in 1..4", "1:5", "dim needs a name"},
    {"program 12", "1:9", "the program's name"},
    {"yield x", "1:1", "inside an if"},
    // Shape of the text.
    {"x: f32[n] y", "1:11", "the end of the statement"},
    {"x: f32[n]\ny = relu(x", "2:11", "found the end of the text where ')'"},
    {"x: f32[n]\ny = x +", "2:8", "found the end of the text where a value was expected"},
    {"x: f32[n]\ny = x + \nz = x", "2:9", "found the end of the line where a value"},
    {"x: f24[n]", "1:4", "an element type such as f32"},
    {"x: f32 n", "1:8", "'[' and a shape"},
    {"x: f32[n", "1:9", "end of the text"},
    {"x: f32[n)]", "1:9", "']' at the end of the shape"},
    {"x: f32[n,,m]", "1:10", "a size was expected"},
    {"y = \"abc", "1:5", "a string without its closing quote"},
    {"y = 1 ~ 2", "1:7", "'~'"},
    {"y = \xc3\xa9", "1:5", "the byte 0xc3"},
    {"y = 12ab", "1:5", "'12ab'"},
    {"x: f32[n]\ny = x < x < x", "2:11", "comparisons don't chain"},
    {"x: f32[n]\ny = x[1", "2:8", "']' after the slices"},
    {"x: f32[n]\ny = x[::0]", "2:9", "the step of a slice"},
    {"x: f32[n]\ny = x[:, :]", "2:10", "more than 1 slices"},
    {"x: f32[n]\ny = x[]", "2:7", ""},
    {"x: f32[n]\nz = if n > 3 { yield x }", "2:25", "'else': an if has two sides"},
    {"x: f32[n]\nz = if n > 3 { y = x } else { yield x }", "2:22", "a side of an if ends with"},
    {"x: f32[n]\nz = if n > 3 { dim m; yield x } else { yield x }", "2:16", "can't stand inside"},
    {"x: f32[n]\nz = if n > 3 { a = -x; yield a } else { yield a }", "2:47", "no value 'a'"},
    {"x: f32[n]\nz = if n > 3, n > 4 { yield x }", "2:13", "'{'"},
    {"x: f32[n]\nz = if 1 < n < 3 { yield x } else { yield x }", "2:8", "one claim about sizes"},
    // Calls and attributes.
    {"x: f32[n]\ny = softmax(x)", "2:5", "axis"},
    {"x: f32[n]\ny = softmax(x, axes=0)", "2:16",
     "'softmax' has no attribute 'axes'; it has: axis"},
    {"x: f32[n]\ny = softmax(x, axis=0, axis=0)", "2:24", "'axis' is given twice"},
    {"x: f32[n]\ny = softmax(x, axis=n)", "2:21", "a number was expected"},
    {"x: f32[n]\ny = softmax(x, axis=1.5)", "2:21", "a whole number was expected"},
    {"x: f32[n]\ny = softmax(x, axis=99999999999999999999)", "2:21", "out of the range of i64"},
    {"x: f32[n]\ny = softmax(x, axis=4)", "2:5", "softmax"},
    {"x: f32[n]\ny = relu(x, x)", "2:13", "'relu' has no use for"},
    {"x: f32[n]\ny = add(x)", "2:5", "'add' takes 2 operands, found 1"},
    {"x: f32[n]\ny = sum(x, keep_dims=1)", "2:22", "true or false"},
    {"x: f32[n]\ny = cast(x, dtype=f24)", "2:19", "an element type"},
    {"y = input(3)", "1:5", "an input is written as x: f32[n]"},
    {"y = rand([2], distribution=\"odd\")", "1:5", "'odd'"},
    // Types.
    {"x: f32[n]; k: i32[n]\ny = x + k", "2:7", "add"},
    {"x: f32[3]; y: f32[4]\nz = x * y", "2:7", "mul"},
    {"k: i32[n]\ny = k + 1.5", "2:9", "1.5 is no i32"},
    {"k: i32[n]\ny = k + 3000000000", "2:9", "3000000000 doesn't fit an i32"},
    {"k: u8[n]\ny = k + 256", "2:9", "256 doesn't fit a u8"},
    {"y = constant(u8[2]{255, 256})", "1:25", "256 is out of the range of u8"},
    {"y = constant(u64[1]{-1})", "1:21", "-1 is out of the range of u64"},
    {"y = constant(i8[1]{128})", "1:20", "128 is out of the range of i8"},
    {"y = constant(f16[1]{70000})", "1:21", "70000 is out of the range of f16"},
    {"x: f32[n]; k: u8[n]\ny = gather(x, k, axis=0)", "2:5", "wanted i32 or i64"},
    {"x: f32[n]\ny: f32[4] = relu(x)", "2:1", "'y' is f32[n], but its type says f32[4]"},
    {"x: f32[n]\ny: i32[n] = relu(x)", "2:1", "'y' is f32[n], but its type says i32[n]"},
    {"x: f32[n]\ny: f32[m] = relu(x)", "2:4", "only the shape of an input declares dims"},
    {"x: f32[n]\ny: f32[n<=4] = relu(x)", "2:4", "bounds can stand only in the shape of an input"},
    {"x: f32[2, 3]\ny = relu(x) @ x", "2:13", "matmul"},
    {"x: f32[n]; x: f32[n]", "1:12", "there is an input 'x' already"},
    {"x: f32[n]; output x; output x", "1:29", "there is an output 'x' already"},
    {"dim n\ny = n / 2", "2:7", "sizes divide with //"},
    {"y = 5 // 0", "1:7", ""},
    {"y = 9223372036854775807 + 1", "1:25", ""},
    // Constants.
    {"c = constant(f32[2]{1})", "1:20", "has 2 elements, found 1"},
    {"c = constant(f32[2]{1, 2, 3})", "1:27", "room for 2 elements, found more"},
    {"c = constant(f32[2]{1*3})", "1:21", "room for 2 elements, found more"},
    {"c = constant(f32[2]{1*-1})", "1:21", "room for 2 elements"},
    {"c = constant(i32[1]{1.5})", "1:21", "a whole number"},
    {"c = constant(i32[1]{3000000000})", "1:21", "3000000000 is out of the range of i32"},
    {"c = constant(f32[1]{1e999})", "1:21", "out of the range of f32"},
    {"c = constant(bool[1]{2})", "1:22", "true or false"},
    {"c = constant(f32[1]{nan(0x3f800000)})", "1:25", "the bits of a NaN"},
    {"dim n; c = constant(f32[n]{1})", "1:21", "a constant's sizes are numbers"},
    {"c = constant(f32[1000000, 1000000]{0*1})", "1:14", "bytes that a text may give"},
    {"c = constant(f32[9223372036854775807, 9223372036854775807, 0]{1})", "1:63", "room for 0"},
    // Facts.
    {"dim n in 1..8\nassume n >= 9", "2:8", "can't hold together"},
    {"dim n; x: f32[2, 4 * (n + ]", "1:27", "wanted a size"},
    {"dim n; x: f32[2, 4 * (n + )]", "1:27", "wanted a size"},
    {"dim n; x: f32[(2 *\n  4 * + n)]", "2:7", "wanted a size"},
    {"x: f32[n in 1..8, n >= 9]", "1:21", "can't hold together"},
    {"dim n in 1..2..3", "1:14", "found \"..\""},
};

TEST(TextErrors, NameThePlaceAndTheReason) {
  for (const BadText& bad : kBadTexts) {
    SCOPED_TRACE(bad.text);
    const std::string error = ErrorOf(bad.text);
    EXPECT_THAT(error, StartsWith(absl::StrCat("f.lathe:", bad.place, ": ")));
    EXPECT_THAT(error, HasSubstr(bad.message));
  }
}

TEST(TextErrors, WithoutAFileNameThePlaceComesFirst) {
  EXPECT_THAT(ErrorOf("x = nope", ""), StartsWith("1:5: "));
}

TEST(TextErrors, NestingIsLimited) {
  auto nested = [](int depth, std::string_view open, std::string_view close) {
    std::string text = "dim n; x: f32[n]; y = ";
    for (int i = 0; i < depth; ++i) text += open;
    text += "x";
    for (int i = 0; i < depth; ++i) text += close;
    return text;
  };
  for (auto [open, close] : {std::pair("(", ")"), std::pair("-", ""), std::pair("relu(", ")"),
                             std::pair("(x+", ")"), std::pair("- ", ""), std::pair("(- ", ")")}) {
    EXPECT_TRUE(Parse(nested(60, open, close)).ok()) << open;
    EXPECT_THAT(ErrorOf(nested(100000, open, close)), HasSubstr("nested more than 200 deep"));
  }
  EXPECT_THAT(ErrorOf(nested(100000, "not ", "")), HasSubstr("nested more than 200 deep"));
  std::string size = "x: f32[" + std::string(100000, '(') + "n";
  EXPECT_THAT(ErrorOf(size), HasSubstr("more than 200 brackets"));
  size = "x: f32[" + std::string(150, '(') + "n" + std::string(150, ')') + "]";
  EXPECT_TRUE(Parse(size).ok()) << Parse(size).status();
  ErrorOf("x: f32[" + std::string(1 << 17, '-') + "n]");
  std::string ifs = "x: f32[n]\n", tail;
  for (int i = 0; i < 40; ++i) {
    absl::StrAppend(&ifs, "y = if n == ", i, " {\n");
    tail += "yield x } else { yield x }\n";
  }
  EXPECT_THAT(ErrorOf(ifs + tail), HasSubstr("limit of 32"));
  std::string chain = "x: f32[n]\ny = ";
  for (int i = 0; i < 100000; ++i) absl::StrAppend(&chain, "if n == ", i, " { yield x } else ");
  EXPECT_THAT(ErrorOf(chain + "{ yield x }"), HasSubstr("limit of 32"));
}

TEST(TextErrors, NamesAndRanksAreLimited) {
  const std::string longest(kMaxNameBytes, 'a'), longer(kMaxNameBytes + 1, 'a');
  EXPECT_TRUE(Parse(longest + ": f32[n]").ok());
  EXPECT_THAT(ErrorOf(longer + ": f32[n]"), HasSubstr("a name of more than 1024 bytes"));
  EXPECT_THAT(ErrorOf("dim " + longer), HasSubstr("a name of more than 1024 bytes"));
  EXPECT_THAT(ErrorOf("program \"" + longer + "\""), HasSubstr("more than 1024 bytes"));
  EXPECT_THAT(ErrorOf("x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"), HasSubstr("more than 16"));
}

TEST(TextErrors, AnErrorOfTheBuilderNamesItsPlaceOnce) {
  const std::string error = ErrorOf("x: f32[3]; y: f32[4]\nz = x * y");
  EXPECT_EQ(error.find("2:7"), error.rfind("2:7")) << error;
}

// Texts that the fuzzer starts from: every part of the grammar.
const char* const kSeeds[] = {
    "program p\ndim batch in 1..64; dim seq in 1..8192, seq % 8 == 0\nassume batch*seq <= 65536\n"
    "x: f32[batch, seq, 8]\nw = randn([8, 10], seed=1)\ny = softmax(x @ w, axis=-1)\noutput y\n",
    "x: f32[n>=2, 4]; k: i64[?]\nz = if n > 10 { a = relu(x); yield a } else { yield x * 2 - 1 }\n"
    "s = x[0:2, ::-1]\nt = x[-1]\noutput \"if\" = z\noutput t\n",
    "c = constant(f32[2, 3]{0x1.8p3, -inf, nan(0x7fc00001), 1e-3*2, -0})\n"
    "p = c >= 0 and not (c == 1)\n%7 \"name\": f32[2, 3] = select(p, c, 2.5)\noutput %7\n",
    "dim a, b in {1, 2}; dim c <= 4\nx: f32[a, 2*b, ceildiv(c, 2)]\ny = sum(x, axes=[0, 2], "
    "keep_dims=true)\nz = concat(y, y, axis=0)\nu = reshape(x, [-1]) * cast(size(dim=a*b), f32)\n",
    "x: f32[n, m]; y: f32[m, n]\nz = (x @ y)[0, :]\nv = layer_norm(x, rand([m]), rand([m]), "
    "epsilon=1e-05)\nw = pad(x, low=[0, n], high=[1, 0], value=-1.5)\ng = mean(x, 1) / n\n",
};

// A new seed each time; LATHE_FUZZ_SEED repeats one.
uint64_t Seed() {
  const char* given = std::getenv("LATHE_FUZZ_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

std::string Mutate(std::string text, std::mt19937_64& random) {
  static const char* const kPieces[] = {"(",
                                        ")",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        ";",
                                        "\n",
                                        "=",
                                        "==",
                                        "..",
                                        "%",
                                        "%3",
                                        "\"",
                                        "#",
                                        "?",
                                        "-",
                                        "//",
                                        "@",
                                        ":",
                                        "<=",
                                        "if ",
                                        "else ",
                                        "in",
                                        "n",
                                        "dim",
                                        "yield",
                                        "0",
                                        "1e9",
                                        "nan",
                                        "inf",
                                        "f32",
                                        "output",
                                        "x",
                                        "not ",
                                        "*",
                                        ".",
                                        "1..",
                                        "\xff",
                                        "\x01",
                                        "true",
                                        "relu(",
                                        "assume ",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "99999999999999999999"};
  const int edits = 1 + static_cast<int>(random() % 6);
  for (int i = 0; i < edits; ++i) {
    const size_t at = random() % (text.size() + 1);
    const size_t length = std::min<size_t>(random() % 12, text.size() - at);
    switch (random() % 5) {
      case 0:
        text.insert(at, kPieces[random() % std::size(kPieces)]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(random() % (text.size() + 1), text.substr(at, length));
        break;
      case 3:
        text.replace(at, length, kPieces[random() % std::size(kPieces)]);
        break;
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
    }
  }
  return text;
}

TEST(TextFuzz, SeedsAreGoodTexts) {
  for (const char* seed : kSeeds) EXPECT_TRUE(Parse(seed).ok()) << Parse(seed).status();
}

TEST(TextFuzz, MutatedTextsAreReadOrRefusedButNeverCrash) {
  const uint64_t seed = Seed();
  RecordProperty("seed", absl::StrCat(seed));
  std::mt19937_64 random(seed);
  int accepted = 0;
  constexpr int kTexts = 6000;
  for (int i = 0; i < kTexts; ++i) {
    const std::string text = Mutate(kSeeds[random() % std::size(kSeeds)], random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", text ", i, ":\n", text));
    auto g = Parse(text, "fuzz");
    StatementReader reader(text);
    while (!reader.Next().text.empty()) {
    }
    if (!g.ok()) {
      ASSERT_THAT(std::string(g.status().message()), StartsWith("fuzz:"));
      continue;
    }
    ++accepted;
    const std::string printed = Print(*g);
    auto again = Parse(printed, "printed");
    ASSERT_TRUE(again.ok()) << again.status() << "\n" << printed;
    ASSERT_EQ(Print(*again), printed);
    ASSERT_TRUE(Equal(*g, *again)) << printed;
  }
  EXPECT_GT(accepted, kTexts / 100) << "seed " << seed;
}

TEST(TextFuzz, ASessionSurvivesMutatedStatements) {
  const uint64_t seed = Seed();
  RecordProperty("seed", absl::StrCat(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    Graph g;
    TextSession session(&g, "fuzz");
    for (int i = 0; i < 10; ++i) {
      const std::string text = Mutate(kSeeds[random() % std::size(kSeeds)], random);
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", round ", round, ":\n", text));
      StatementReader reader(text);
      for (StatementText s = reader.Next(); !s.text.empty(); s = reader.Next()) {
        const size_t nodes = g.body.nodes.size(), facts = g.facts().facts().size();
        if (session.Execute(s).ok()) continue;
        ASSERT_EQ(g.body.nodes.size(), nodes) << s.text;
        ASSERT_EQ(g.facts().facts().size(), facts) << s.text;
      }
    }
    const std::string printed = Print(g);
    auto again = Parse(printed, "printed");
    // A fact that was declared after an op required its opposite comes first in the printed text.
    if (!again.ok() && absl::StrContains(again.status().message(), "never holds")) continue;
    ASSERT_TRUE(again.ok()) << again.status() << "\nseed " << seed << "\n" << printed;
    ASSERT_TRUE(Equal(g, *again)) << "seed " << seed << "\n" << printed;
  }
}

}  // namespace
}  // namespace lathe::ir
