// The cases of tests/onnx/cases: operators of com.microsoft and ai.onnx.ml against the outputs of
// ONNX Runtime, with the sizes of the file and with open ones.
#include <cstdlib>
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/onnx/case_runner.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

void RunAll(const CaseOptions& options) {
  const char* only = std::getenv("LATHE_CASES");  // a part of the names, to look at some
  EngineOptions engine_options;
  engine_options.threads = 1;
  engine_options.background_compiles = false;
  Engine engine(engine_options);
  int ran = 0;
  for (const auto& entry :
       fs::directory_iterator(std::string(LATHE_SOURCE_DIR) + "/tests/onnx/cases")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || (only != nullptr && name.find(only) == std::string::npos))
      continue;
    ++ran;
    const CaseResult r = RunCase(engine, entry.path().string(), options);
    EXPECT_TRUE(r.outcome == CaseResult::Outcome::kPass) << name << ": " << r.why;
  }
  EXPECT_GT(ran, 0);
}

TEST(OnnxCases, OtherDomainsGiveTheirNumbers) { RunAll({}); }

TEST(OnnxCases, OtherDomainsGiveTheirNumbersWithOpenDims) { RunAll({.open_dims = true}); }

}  // namespace
}  // namespace lathe::onnx
