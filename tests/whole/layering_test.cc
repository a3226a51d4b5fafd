// Who may include whom (docs/architecture.md, "Folders and who may know whom"): the arrows between
// folders, and which headers of others may be seen where.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::whole {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = LATHE_SOURCE_DIR;

struct Include {
  std::string file;  // relative to the root
  int line = 0;
  std::string header;
  bool quoted = false;  // ours, Abseil's and LLVM's
};

std::string Place(const Include& i) { return i.file + ":" + std::to_string(i.line); }

// Every #include of the C and C++ files of a folder and those below it.
std::vector<Include> IncludesOf(const std::string& folder) {
  std::vector<Include> includes;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cc" && extension != ".c" && extension != ".def")
      continue;
    std::ifstream file(entry.path());
    std::string text;
    for (int line = 1; std::getline(file, text); ++line) {
      if (text.rfind("#include ", 0) != 0) continue;
      const size_t begin = text.find_first_of("\"<");
      const size_t end = text.find_first_of("\">", begin + 1);
      if (begin == std::string::npos || end == std::string::npos) continue;
      includes.push_back({fs::relative(entry.path(), kRoot).generic_string(), line,
                          text.substr(begin + 1, end - begin - 1), text[begin] == '"'});
    }
  }
  return includes;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool IsLlvm(std::string_view header) {
  return StartsWith(header, "llvm/") || StartsWith(header, "llvm-c/");
}
bool IsCuda(std::string_view header) {
  return StartsWith(header, "cuda") || StartsWith(header, "nvrtc");
}
bool IsJson(std::string_view header) { return header.find("json") != std::string_view::npos; }

// Of the repository's own headers, a folder's files include only those that start with `allowed`.
void ExpectOnly(const std::string& folder, const std::vector<std::string>& allowed) {
  const std::vector<Include> includes = IncludesOf(folder);
  EXPECT_FALSE(includes.empty()) << folder;
  for (const Include& i : includes) {
    if (!i.quoted || StartsWith(i.header, "absl/") || IsLlvm(i.header)) continue;
    bool known = false;
    for (const std::string& prefix : allowed) known |= StartsWith(i.header, prefix);
    EXPECT_TRUE(known) << Place(i) << " includes " << i.header << ", which " << folder
                       << " must not know";
  }
}

TEST(Layering, DimsKnowOnlyThemselves) { ExpectOnly("ir/dim", {"ir/dim/", "lathe/dim.h"}); }

// So that no mistake of the prover can be one of the checker.
TEST(Layering, TheProofCheckerKnowsNoProver) { ExpectOnly("ir/dim/check", {"ir/dim/check/"}); }

TEST(Layering, TheGraphKnowsNothingAboveIt) {
  ExpectOnly("ir", {"ir/", "lathe/dim.h", "lathe/dtype.h", "lathe/half.h", "lathe/shape.h",
                    "lathe/tensor.h"});
}

TEST(Layering, TheRuntimeKnowsTheGraphAlone) {
  ExpectOnly("runtime", {"runtime/", "ir/", "lathe/"});
}

TEST(Layering, CodeGenerationKnowsNoCompiler) {
  ExpectOnly("codegen", {"codegen/", "runtime/", "ir/", "lathe/"});
  ExpectOnly("codegen/kernel", {"codegen/kernel/", "runtime/", "ir/", "lathe/"});
}

TEST(Layering, TheCompilerKnowsNoTool) {
  ExpectOnly("compiler",
             {"compiler/", "codegen/", "runtime/", "ir/", "lathe/", "protozero/", "nlohmann/"});
}

TEST(Layering, PublicHeadersShowNoLibraryBehindThem) {
  for (const Include& i : IncludesOf("include/lathe")) {
    EXPECT_FALSE(IsLlvm(i.header) || IsCuda(i.header) || IsJson(i.header))
        << Place(i) << " includes " << i.header;
    if (!i.quoted) continue;
    EXPECT_TRUE(StartsWith(i.header, "lathe/") || StartsWith(i.header, "absl/"))
        << Place(i) << " includes " << i.header;
  }
}

TEST(Layering, LlvmIsSeenInOneFolderOnly) {
  for (const char* folder : {"ir", "runtime", "codegen", "compiler", "examples", "tests"}) {
    for (const Include& i : IncludesOf(folder)) {
      if (!IsLlvm(i.header)) continue;
      EXPECT_TRUE(StartsWith(i.file, "codegen/llvm/")) << Place(i) << " includes " << i.header;
    }
  }
}

// The driver and the run-time compiler are opened when the program runs, by our own declarations.
TEST(Layering, NothingNeedsCudaToBuild) {
  for (const char* folder : {"ir", "runtime", "codegen", "compiler", "examples", "tests"}) {
    for (const Include& i : IncludesOf(folder))
      EXPECT_FALSE(!i.quoted && IsCuda(i.header)) << Place(i) << " includes " << i.header;
  }
}

}  // namespace
}  // namespace lathe::whole
