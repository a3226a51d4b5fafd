// The corpora as a test: what must read reads, what must not doesn't, and changed copies of either
// end in an error or a value, never in a crash. LATHE_FUZZ_SEED repeats a run or starts another;
// LATHE_FULL=1 tries a hundred times as many.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/fuzz/targets.h"

namespace lathe::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int kTries = 2000;  // of each target
constexpr unsigned kSeed = 20261;

struct File {
  std::string name, bytes;
};

std::vector<File> Corpus(const Target& target) {
  std::vector<File> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(LATHE_SOURCE_DIR) / "tests/fuzz/corpus" / target.name)) {
    std::ifstream in(entry.path(), std::ios::binary);
    files.push_back(
        {entry.path().filename().string(), std::string((std::istreambuf_iterator<char>(in)), {})});
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
  return files;
}

// One change of the kinds that find most: bits, bytes, numbers, cuts, repetitions, pieces of
// others.
void Change(std::mt19937& random, const std::vector<File>& corpus, std::string* bytes) {
  if (bytes->empty()) return;
  const size_t at = random() % bytes->size();
  switch (random() % 6) {
    case 0:
      (*bytes)[at] ^= static_cast<char>(1 << random() % 8);
      break;
    case 1:
      (*bytes)[at] = static_cast<char>(random());
      break;
    case 2:
      (*bytes)[at] = std::string("\x00\x01\x7f\x80\xff", 5)[random() % 5];
      break;
    case 3:
      bytes->erase(at, 1 + random() % 8);
      break;
    case 4:
      bytes->insert(at, bytes->substr(random() % bytes->size(), 1 + random() % 16));
      break;
    case 5: {
      const std::string& other = corpus[random() % corpus.size()].bytes;
      if (!other.empty()) bytes->replace(at, 8, other.substr(random() % other.size(), 8));
      break;
    }
  }
}

class FuzzCorpus : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpus, FilesReadOrDoNotAsTheirNamesSay) {
  const std::vector<File> corpus = Corpus(GetParam());
  EXPECT_GE(corpus.size(), 3u);
  for (const File& file : corpus) {
    const bool ok = absl::StartsWith(file.name, "ok_");
    EXPECT_TRUE(ok || absl::StartsWith(file.name, "bad_")) << file.name;
    EXPECT_EQ(GetParam().run(file.bytes), ok) << file.name;
  }
}

TEST_P(FuzzCorpus, ChangedFilesNeverCrash) {
  const std::vector<File> corpus = Corpus(GetParam());
  ASSERT_FALSE(corpus.empty());
  const char* given = std::getenv("LATHE_FUZZ_SEED");
  const unsigned seed = given == nullptr ? kSeed : static_cast<unsigned>(std::atoll(given));
  const int tries = std::getenv("LATHE_FULL") == nullptr ? kTries : 100 * kTries;
  std::cout << "LATHE_FUZZ_SEED=" << seed << std::endl;
  std::mt19937 random(seed);
  int read = 0;
  for (int i = 0; i < tries; ++i) {
    std::string bytes = corpus[random() % corpus.size()].bytes;
    for (size_t changes = 1 + random() % 5; changes > 0; --changes) Change(random, corpus, &bytes);
    read += GetParam().run(bytes);
  }
  std::cout << GetParam().name << ": " << read << " of " << tries << " changed files still read\n";
}

INSTANTIATE_TEST_SUITE_P(Readers, FuzzCorpus, testing::ValuesIn(Targets().begin(), Targets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace lathe::fuzz
