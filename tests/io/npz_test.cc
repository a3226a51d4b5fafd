// .npz containers: stored and deflated members, and what containers from anyone may try.
#include "compiler/io/npz.h"

#include <zip.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>

#include "compiler/io/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/temp_path.h"

namespace lathe::io {
namespace {

using testing::HasSubstr;

std::string Slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

// A container of any members, compressed by `method`.
std::string Container(const std::vector<std::pair<std::string, std::string>>& members,
                      zip_int32_t method) {
  const std::string path = TempPath("container.npz");
  std::remove(path.c_str());
  int code = 0;
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  for (const auto& [name, bytes] : members) {
    zip_source_t* source = zip_source_buffer(zip, bytes.data(), bytes.size(), 0);
    const zip_int64_t at = zip_file_add(zip, name.c_str(), source, 0);
    EXPECT_GE(at, 0);
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(at), method, 0);
  }
  EXPECT_EQ(zip_close(zip), 0);
  std::string bytes = Slurp(path);
  std::remove(path.c_str());
  return bytes;
}

TEST(Npz, WhatIsWrittenReadsBack) {
  Arrays arrays;
  arrays["w"] = Tensor::FromVector<float>({2, 2}, {1, 2, 3, 4});
  arrays["layer.0/b"] = Tensor(DType::kI64, {0, 3});
  arrays["flag"] = Tensor::Scalar<bool>(true);
  const std::string path = TempPath("round.npz");
  ASSERT_TRUE(WriteNpz(path, arrays).ok());
  const absl::StatusOr<Arrays> back = ReadNpz(path);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 3u);
  for (const auto& [name, t] : arrays) EXPECT_EQ(back->at(name).ToString(), t.ToString()) << name;
  ASSERT_TRUE(WriteNpz(path, {}).ok());
  ASSERT_TRUE(ReadNpz(path).ok()) << ReadNpz(path).status();
  EXPECT_TRUE(ReadNpz(path)->empty());
  std::remove(path.c_str());
}

TEST(Npz, DeflatedMembersRead) {
  Tensor zeros(DType::kF32, {100, 100});
  zeros.data<float>()[5] = 7;
  for (zip_int32_t method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    const std::string bytes = Container({{"zeros.npy", *FormatNpy(zeros)}}, method);
    const absl::StatusOr<Arrays> arrays = ParseNpz(bytes, "c.npz");
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_EQ(arrays->at("zeros").shape(), zeros.shape());
    EXPECT_EQ(arrays->at("zeros").data<float>()[5], 7);
  }
}

TEST(Npz, ErrorsNameFileArrayAndWhatWasFound) {
  EXPECT_THAT(std::string(ParseNpz("no zip", "x.npz").status().message()),
              HasSubstr("x.npz: not a zip container"));
  const std::string text = Container({{"note.txt", "hello, this is no array"}}, ZIP_CM_STORE);
  EXPECT_EQ(ParseNpz(text, "x.npz").status().message(), "x.npz: array note.txt: no .npy header");
  const std::string image = *FormatNpy(Tensor(DType::kF32, {8}));
  const std::string cut = Container({{"a.npy", image.substr(0, image.size() - 1)}}, ZIP_CM_DEFLATE);
  EXPECT_EQ(ParseNpz(cut, "x.npz").status().message(),
            "x.npz: array a: data has 31 bytes, f32 of shape [8] wants 32");
  const std::string twice = Container({{"a.npy", image}, {"a", image}}, ZIP_CM_STORE);
  EXPECT_THAT(std::string(ParseNpz(twice, "x.npz").status().message()),
              HasSubstr("two of this name"));
  EXPECT_EQ(ReadNpz("/nonexistent.npz").status().code(), absl::StatusCode::kNotFound);
}

TEST(Npz, LimitsHoldForAllMembersTogether) {
  const std::string image = *FormatNpy(Tensor(DType::kF32, {256}));
  const std::string two = Container({{"a.npy", image}, {"b.npy", image}}, ZIP_CM_DEFLATE);
  EXPECT_TRUE(ParseNpz(two, "x.npz", {.bytes = 2300}).ok());
  EXPECT_THAT(std::string(ParseNpz(two, "x.npz", {.bytes = 2000}).status().message()),
              HasSubstr("array b: has 1152 bytes, 1024 with those before, the limit is 2000"));
  EXPECT_THAT(std::string(ParseNpz(two, "x.npz", {.arrays = 1}).status().message()),
              HasSubstr("2 members, the limit is 1"));
}

TEST(Npz, AMemberThatClaimsMoreThanDeflateCanHoldIsRefused) {
  const Tensor zeros(DType::kF32, {1000});
  std::string bytes = Container({{"a.npy", *FormatNpy(zeros)}}, ZIP_CM_DEFLATE);
  // The central directory's uncompressed size stands 24 bytes after its signature.
  const size_t at = bytes.find("PK\x01\x02");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 27] = 0x7f;
  EXPECT_FALSE(ParseNpz(bytes, "x.npz").ok());
  EXPECT_THAT(std::string(ParseNpz(bytes, "x.npz").status().message()),
              HasSubstr("which can't be"));
}

TEST(Npz, AChangedByteOfDataIsNoticed) {
  const Tensor t = Tensor::FromVector<int32_t>({4}, {1111, 2222, 3333, 4444});
  std::string bytes = Container({{"a.npy", *FormatNpy(t)}}, ZIP_CM_STORE);
  const int32_t value = 3333;
  const size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&value), 4));
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  EXPECT_EQ(ParseNpz(bytes, "x.npz").status().code(), absl::StatusCode::kDataLoss);
}

TEST(Npz, CutAndFlippedContainersAreErrorsOrArrays) {
  const Tensor t = Tensor::FromVector<float>({3}, {1, 2, 3});
  const std::string whole =
      Container({{"a.npy", *FormatNpy(t)}, {"b.npy", *FormatNpy(t)}}, ZIP_CM_DEFLATE);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(ParseNpz(whole.substr(0, size), "x.npz").ok()) << size;
  const unsigned seed = 5;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = whole;
    for (size_t flips = 1 + random() % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    read += ParseNpz(bytes, "x.npz").ok();
  }
  std::cout << read << " of 5000 flipped containers still read\n";
}

}  // namespace
}  // namespace lathe::io
