// Sessions with their answers, as text and as JSON: golden/NAME.lathe, NAME.txt, NAME.jsonl.
// `repl_test --bless`, or LATHE_BLESS in the environment, renews them.
#include "tests/util/golden.h"

#include <filesystem>
#include <fstream>
#include <regex>

#include "gmock/gmock.h"
#include "tests/repl/repl_util.h"

namespace lathe::repl {
namespace {

namespace fs = std::filesystem;

// How many kernels a first call compiles is for the compiler to choose.
std::string Masked(const std::string& text) {
  const std::regex as_text("[1-9][0-9]* compiles?"), as_json("\"compiles\":[1-9][0-9]*");
  return std::regex_replace(std::regex_replace(text, as_text, "some compiles"), as_json,
                            "\"compiles\":\"some\"");
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, AnswersAreThoseOfTheFile) {
  const fs::path folder = fs::path(LATHE_SOURCE_DIR) / "tests/repl/golden";
  const std::string script = ReadFile(folder / (GetParam() + ".lathe"));
  ASSERT_FALSE(script.empty());
  for (const bool json : {false, true}) {
    const fs::path path = folder / (GetParam() + (json ? ".jsonl" : ".txt"));
    const std::string found = Masked(Console(json).Run(script));
    if (Blesses()) {
      std::ofstream(path, std::ios::binary) << found;
    } else {
      EXPECT_EQ(found, ReadFile(path)) << path << " differs; repl_test --bless renews it";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Golden,
                         ::testing::Values("statements", "facts", "run", "memory", "errors",
                                           "data"),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace lathe::repl
