// The format's own conformance cases, against a list of those that don't pass, with reasons: a case
// that starts or stops passing breaks the test. LATHE_BLESS=1 writes the list anew.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/case_runner.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

std::map<std::string, std::string> ReadList(const std::string& path) {
  std::map<std::string, std::string> list;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    list[line.substr(0, tab)] = tab == std::string::npos ? "" : line.substr(tab + 1);
  }
  return list;
}

// Cases below `root`, by their path from it.
std::vector<std::string> Cases(const fs::path& root) {
  std::vector<std::string> cases;
  for (const auto& entry :
       fs::recursive_directory_iterator(root, fs::directory_options::follow_directory_symlink)) {
    if (entry.path().filename() == "model.onnx")
      cases.push_back(fs::relative(entry.path().parent_path(), root).string());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

void RunAll(const fs::path& root, const std::string& list_name, const CaseOptions& options) {
  const std::string list_path = absl::StrCat(LATHE_SOURCE_DIR, "/tests/onnx/", list_name);
  const std::map<std::string, std::string> expected = ReadList(list_path);
  const char* only = std::getenv("LATHE_CASES");  // a part of the names, to look at some
  const bool bless = std::getenv("LATHE_BLESS") != nullptr;
  std::map<std::string, std::string> failing;
  size_t passed = 0, ran = 0;
  EngineOptions engine_options;
  engine_options.threads = 1;
  engine_options.background_compiles = false;
  Engine engine(engine_options);
  for (const std::string& name : Cases(root)) {
    if (only != nullptr && name.find(only) == std::string::npos) continue;
    ++ran;
    const CaseResult r = RunCase(engine, (root / name).string(), options);
    passed += r.outcome == CaseResult::Outcome::kPass;
    if (only != nullptr) std::cout << name << ": " << (r.why.empty() ? "pass" : r.why) << "\n";
    if (r.outcome == CaseResult::Outcome::kPass) {
      EXPECT_TRUE(bless || !expected.contains(name)) << name << " passes now";
      continue;
    }
    std::string why =
        absl::StrCat(r.outcome == CaseResult::Outcome::kRefused ? "refused: " : "WRONG: ", r.why);
    std::replace(why.begin(), why.end(), '\n', ' ');
    if (why.size() > 160) why.resize(160);
    const auto listed = expected.find(name);
    EXPECT_TRUE(bless || listed != expected.end()) << name << " fails: " << why;
    // What is refused must not begin to give wrong results.
    if (listed != expected.end() && !bless) {
      EXPECT_EQ(listed->second.substr(0, 5), why.substr(0, 5)) << name << ": " << why;
    }
    failing[name] = why;
  }
  std::cout << passed << " of " << ran << " cases pass\n";
  EXPECT_GT(ran, 0u) << root;
  if (only == nullptr && !bless) {
    for (const auto& [name, why] : expected)
      EXPECT_TRUE(failing.contains(name)) << name << " is listed, but doesn't fail";
  }
  if (!bless || only != nullptr) return;
  std::ofstream file(list_path);
  file << "# Cases that don't pass, and why.\n";
  for (const auto& [name, why] : failing) file << name << "\t" << why << "\n";
}

constexpr char kDistribution[] = "/usr/share/libonnx-testdata";

TEST(Conformance, TheDistributionsCases) {
  if (!fs::exists(kDistribution))
    GTEST_SKIP() << "NOT CHECKED: install libonnx-testdata to check the conformance cases";
  RunAll(kDistribution, "conformance_distribution.txt", {});
}

// The newest cases, of the Python package onnx 1.22.0, where scripts/fetch_models puts them.
fs::path Newest() {
  const char* named = std::getenv("LATHE_ONNX_DATA");
  return named != nullptr ? fs::path(named)
                          : fs::path(LATHE_BINARY_DIR) / "models/onnx/backend/test/data";
}

TEST(Conformance, TheNewestCases) {
  if (!fs::exists(Newest()))
    GTEST_SKIP() << "NOT CHECKED: " << Newest() << " is missing; run scripts/fetch_models";
  RunAll(Newest() / "node", "conformance_newest.txt", {});
}

TEST(Conformance, TheNewestCasesWithOpenDims) {
  if (!fs::exists(Newest()))
    GTEST_SKIP() << "NOT CHECKED: " << Newest() << " is missing; run scripts/fetch_models";
  RunAll(Newest() / "node", "conformance_newest_open.txt", {.open_dims = true});
}

TEST(Conformance, TheDistributionsNodesWithOpenDims) {
  const fs::path root = fs::path(kDistribution);
  if (!fs::exists(root))
    GTEST_SKIP() << "NOT CHECKED: install libonnx-testdata to check the conformance cases";
  RunAll(root, "conformance_open.txt", {.open_dims = true});
}

}  // namespace
}  // namespace lathe::onnx
