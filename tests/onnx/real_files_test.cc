// Every model and every value of conformance data on this machine reads without error.
// LATHE_ONNX_ROOTS names more folders, separated by ':'.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "compiler/onnx/reader.h"
#include "gtest/gtest.h"

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

constexpr char kDebianData[] = "/usr/share/libonnx-testdata";
constexpr size_t kDebianCases = 1072;

struct Counts {
  size_t models = 0, values = 0, tensors = 0, mapped = 0, unimplemented = 0;
};

// The values beside a model, test_data_set_0/input_0.pb and so on: each of the type that the graph
// declares at its place.
void ReadValues(const fs::path& set, const std::string& kind, const std::vector<ValueInfo>& infos,
                Counts* counts) {
  for (size_t i = 0;; ++i) {
    const fs::path file = set / absl::StrCat(kind, "_", i, ".pb");
    if (!fs::exists(file)) return;
    ASSERT_LT(i, infos.size()) << file;
    if (infos[i].type.kind == Type::Kind::kMap) continue;
    const absl::StatusOr<std::vector<TensorData>> value =
        ReadValueFile(file.string(), infos[i].type);
    EXPECT_TRUE(value.ok()) << value.status();
    if (!value.ok()) continue;
    ++counts->values;
    for (const TensorData& t : *value) {
      ++counts->tensors;
      const absl::StatusOr<Tensor> tensor = ToTensor(t);
      if (tensor.ok()) {
        EXPECT_EQ(tensor->num_bytes(), t.num_bytes) << file;
        if (tensor->raw() == t.bytes.get()) ++counts->mapped;
      } else {
        EXPECT_EQ(tensor.status().code(), absl::StatusCode::kUnimplemented) << tensor.status();
        ++counts->unimplemented;
      }
    }
  }
}

Counts ReadAll(const fs::path& root) {
  Counts counts;
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::recursive_directory_iterator(root, fs::directory_options::follow_directory_symlink))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const absl::StatusOr<ModelDef> m = ReadModel(file.string());
    EXPECT_TRUE(m.ok()) << m.status();
    if (!m.ok()) continue;
    ++counts.models;
    for (const auto& entry : fs::directory_iterator(file.parent_path())) {
      if (!absl::StartsWith(entry.path().filename().string(), "test_data_set")) continue;
      ReadValues(entry.path(), "input", m->graph.inputs, &counts);
      ReadValues(entry.path(), "output", m->graph.outputs, &counts);
    }
  }
  std::cout << root << ": " << counts.models << " of " << files.size() << " models, "
            << counts.values << " values, " << counts.tensors << " tensors, " << counts.mapped
            << " of them mapped, " << counts.unimplemented << " of other element types\n";
  return counts;
}

TEST(RealFiles, TheDistributionsConformanceDataReads) {
  if (!fs::exists(kDebianData)) {
    GTEST_SKIP() << "NOT CHECKED: install libonnx-testdata to read the conformance data";
  }
  EXPECT_EQ(ReadAll(kDebianData).models, kDebianCases);
}

TEST(RealFiles, NamedFoldersRead) {
  const char* roots = std::getenv("LATHE_ONNX_ROOTS");
  if (roots == nullptr) GTEST_SKIP() << "LATHE_ONNX_ROOTS names no folders";
  for (absl::string_view root : absl::StrSplit(roots, ':'))
    EXPECT_GT(ReadAll(std::string(root)).models, 0u) << root;
}

}  // namespace
}  // namespace lathe::onnx
