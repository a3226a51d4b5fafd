// Files of arrays by their extension.
#include "compiler/io/array_files.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/temp_path.h"

namespace lathe::io {
namespace {

using testing::HasSubstr;

TEST(ArrayFiles, GoByTheirExtension) {
  const Tensor t = Tensor::FromVector<int32_t>({2}, {7, -1});
  for (const char* name : {"ids.npz", "ids.npy"}) {
    const std::string path = TempPath(name);
    ASSERT_TRUE(WriteArrays(path, {{"ids", t}}).ok());
    const absl::StatusOr<Arrays> read = ReadArrays(path);
    ASSERT_TRUE(read.ok()) << read.status();
    ASSERT_EQ(read->count("ids"), 1u) << name;
    EXPECT_EQ(read->at("ids").data<int32_t>()[1], -1);
  }
  const std::string path = TempPath("ids.safetensors");
  const std::string header = R"({"ids":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})";
  const uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), 8) << header;
  file.write(static_cast<const char*>(t.raw()), 8);
  file.close();
  const absl::StatusOr<Arrays> read = ReadArrays(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at("ids").data<int32_t>()[0], 7);
}

TEST(ArrayFiles, RefuseWhatTheyCannotHold) {
  const Tensor t = Tensor::FromVector<int32_t>({1}, {7});
  EXPECT_THAT(std::string(ReadArrays("arrays.txt").status().message()),
              HasSubstr("arrays.txt: wanted a file .npz, .npy or .safetensors"));
  EXPECT_THAT(std::string(WriteArrays(TempPath("two.npy"), {{"a", t}, {"b", t}}).message()),
              HasSubstr("a file .npy holds one array, found 2"));
  EXPECT_THAT(std::string(WriteArrays(TempPath("x.safetensors"), {{"a", t}}).message()),
              HasSubstr("wanted a file .npz or .npy"));
}

}  // namespace
}  // namespace lathe::io
