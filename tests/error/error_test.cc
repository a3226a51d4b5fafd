// Seeded mistakes: cases/NAME.txt holds a program with one mistake (and the sizes it is called
// with, by :run), the error that it gets, and the program after the edit that the error prints. The
// test applies that edit by machine; the program must then run without a fault. A program that no
// single edit can mend says so in its first line: "# no edit: WHY".
// `error_test --bless`, or LATHE_BLESS in the environment, renews what follows the program.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "repl/driver.h"
#include "repl/output.h"
#include "repl/session.h"
#include "tests/util/golden.h"

namespace lathe::repl {
namespace {

namespace fs = std::filesystem;

constexpr char kError[] = "--- error\n", kMended[] = "--- mended\n";
constexpr char kNoEdit[] = "# no edit: ";

fs::path Folder() { return fs::path(LATHE_SOURCE_DIR) / "tests/error/cases"; }

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const fs::directory_entry& file : fs::directory_iterator(Folder())) {
    names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The faults of a script as jit-repl --json gives them.
std::vector<Json> FaultsOf(const std::string& script) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* file = open_memstream(&text, &size);
  {
    Session session({.file = "demo.lathe", .threads = 1, .memory_bytes = int64_t{1} << 26});
    Output output(file, file, /*json=*/true, "demo.lathe");
    Driver(&session, &output).RunText(script);
  }
  std::fclose(file);
  std::istringstream lines(std::string(text, size));
  std::free(text);
  std::vector<Json> faults;
  for (std::string line; std::getline(lines, line);) {
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.contains("error")) faults.push_back(json["error"]);
  }
  return faults;
}

// As jit-repl writes them for people.
std::string TextOf(const std::vector<Json>& faults) {
  std::string text;
  for (const Json& fault : faults) {
    absl::StrAppend(&text, "demo.lathe:", fault.value("at", ""),
                    ": error: ", fault.value("message", ""), "\n");
  }
  return text;
}

ir::Edit EditOf(const Json& json) {
  ir::Edit edit;
  for (ir::Edit::Kind kind :
       {ir::Edit::Kind::kAdd, ir::Edit::Kind::kChange, ir::Edit::Kind::kDrop}) {
    if (json.value("kind", "") == ir::Name(kind)) edit.kind = kind;
  }
  edit.line = json.value("line", 0);
  edit.column = json.value("column", 0);
  edit.old_text = json.value("old", "");
  edit.new_text = json.value("new", "");
  return edit;
}

class SeededMistake : public ::testing::TestWithParam<std::string> {};

TEST_P(SeededMistake, IsNamedAndMendedByItsEdit) {
  const fs::path path = Folder() / (GetParam() + ".txt");
  const std::string file = ReadFile(path);
  const std::string program = file.substr(0, file.find(kError));
  ASSERT_FALSE(program.empty());
  const std::vector<Json> faults = FaultsOf(program);
  ASSERT_EQ(faults.size(), 1u) << "a case has one mistake\n" << TextOf(faults);
  std::string found = absl::StrCat(program, kError, TextOf(faults));
  const Json& error = faults[0];
  EXPECT_FALSE(error.value("message", "").empty());
  EXPECT_THAT(error.value("at", ""), ::testing::MatchesRegex("[0-9]+:[0-9]+"));
  if (!program.starts_with(kNoEdit)) {
    ASSERT_TRUE(error.contains("edit")) << TextOf(faults);
    const ir::Edit edit = EditOf(error["edit"]);
    // What people read is what programs get.
    EXPECT_THAT(
        error.value("message", ""),
        ::testing::EndsWith(absl::StrCat("\n", std::string(ir::kToMendIt), edit.ToString())));
    EXPECT_EQ(ir::ParseEdit(edit.ToString()), edit) << edit.ToString();
    const absl::StatusOr<std::string> mended = ir::Apply(edit, program);
    ASSERT_TRUE(mended.ok()) << mended.status();
    EXPECT_EQ(TextOf(FaultsOf(*mended)), "") << "the edit doesn't mend it:\n" << *mended;
    absl::StrAppend(&found, kMended, *mended);
  } else {
    EXPECT_FALSE(error.contains("edit")) << "there is an edit after all\n" << TextOf(faults);
  }
  if (Blesses()) {
    std::ofstream(path, std::ios::binary) << found;
  } else {
    EXPECT_EQ(found, file) << path << " differs; error_test --bless renews it";
  }
}

INSTANTIATE_TEST_SUITE_P(All, SeededMistake, ::testing::ValuesIn(Names()),
                         [](const auto& row) { return row.param; });

TEST(SeededMistakes, AreManyAndNearlyAllHaveAnEdit) {
  size_t without = 0;
  for (const std::string& name : Names()) {
    without += ReadFile(Folder() / (name + ".txt")).starts_with(kNoEdit) ? 1 : 0;
  }
  EXPECT_GE(Names().size(), 60u);
  EXPECT_LE(without, 5u);
}

}  // namespace
}  // namespace lathe::repl
