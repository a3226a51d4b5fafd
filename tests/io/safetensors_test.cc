// .safetensors files: what the format allows arrives mapped, what it forbids is named.
#include "compiler/io/safetensors.h"

#include <cstdio>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/temp_path.h"

namespace lathe::io {
namespace {

using testing::HasSubstr;

std::string File(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + data;
}

absl::StatusOr<Safetensors> Parse(const std::string& bytes, const ArrayLimits& limits = {}) {
  const std::shared_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return ParseSafetensors({copy.get(), bytes.size()}, std::shared_ptr<void>(copy, copy.get()),
                          "m.safetensors", limits);
}

std::string Error(const std::string& header, const std::string& data,
                  const ArrayLimits& limits = {}) {
  return std::string(Parse(File(header, data), limits).status().message());
}

constexpr char kTwo[] =
    R"({"__metadata__":{"format":"pt"},
        "b":{"dtype":"I64","shape":[],"data_offsets":[8,16]},
        "a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},
        "none":{"dtype":"BOOL","shape":[0,7],"data_offsets":[16,16]}})";

std::string TwoData() {
  const float a[] = {1, 2};
  const int64_t b = -5;
  return std::string(reinterpret_cast<const char*>(a), 8) +
         std::string(reinterpret_cast<const char*>(&b), 8);
}

TEST(Safetensors, EveryArrayArrives) {
  const absl::StatusOr<Safetensors> s = Parse(File(kTwo, TwoData()));
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->metadata.at("format"), "pt");
  ASSERT_EQ(s->arrays.size(), 3u);
  EXPECT_EQ(s->arrays.at("a").ToString(), "f32[2, 1]{1, 2}");
  EXPECT_EQ(s->arrays.at("b").ToString(), "i64[]{-5}");
  EXPECT_EQ(s->arrays.at("none").num_elements(), 0);
}

TEST(Safetensors, EveryElementTypeOfLatheHasItsName) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    ASSERT_NE(SafetensorsName(dtype), nullptr);
    const int64_t bytes = 2 * SizeOf(dtype);
    const std::string header = absl::StrCat("{\"a\":{\"dtype\":\"", SafetensorsName(dtype),
                                            "\",\"shape\":[2],\"data_offsets\":[0,", bytes, "]}}");
    const absl::StatusOr<Safetensors> s =
        Parse(File(header, std::string(static_cast<size_t>(bytes), '\1')));
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_EQ(s->arrays.at("a").dtype(), dtype);
    EXPECT_EQ(s->arrays.at("a").num_bytes(), bytes);
  }
}

TEST(Safetensors, AlignedDataIsMappedNotCopied) {
  std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  while (header.size() % 8 != 0) header += ' ';
  const std::string path = TempPath("mapped.safetensors");
  std::ofstream(path, std::ios::binary) << File(header, std::string(8, '\0'));
  const absl::StatusOr<Safetensors> s = ReadSafetensors(path);
  ASSERT_TRUE(s.ok()) << s.status();
  const Tensor t = s->arrays.at("a");
  // The map begins a page; data follows the length and the header.
  EXPECT_EQ(reinterpret_cast<uintptr_t>(t.raw()) % 4096, 8 + header.size());
  t.data<float>()[0] = 3;  // a page of our own: the file stays as it is
  EXPECT_EQ(ReadSafetensors(path)->arrays.at("a").data<float>()[0], 0);
  std::remove(path.c_str());
}

TEST(Safetensors, ErrorsNameFileArrayAndWhatWasFound) {
  EXPECT_EQ(Parse("").status().message(), "m.safetensors: is cut short");
  EXPECT_THAT(Error("[]", ""), HasSubstr("header is no JSON object"));
  EXPECT_THAT(Error("{\"a\":", ""), HasSubstr("header is no JSON object"));
  EXPECT_THAT(Error(R"({"a":1})", ""), HasSubstr("array \"a\": is no JSON object"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[0,0]}})", ""),
              HasSubstr("array \"a\": element type F8_E4M3 isn't supported"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", TwoData()),
              HasSubstr("data has 8 bytes, F32 of shape [3] wants 12"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", TwoData()),
              HasSubstr("shape holds what is no size"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", TwoData()),
              HasSubstr("shape holds what is no size"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", TwoData()),
              HasSubstr("data_offsets are [8, 0]"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", "short"),
              HasSubstr("data ends at 16, the file has 5 bytes of it"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", TwoData()),
              HasSubstr("data begins at 4, the one before ends at 0"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", TwoData()),
              HasSubstr("arrays end at 8, the file has 16"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
                        "a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
                    TwoData()),
              HasSubstr("array \"a\" comes twice"));
  EXPECT_THAT(Error(R"({"__metadata__":{"x":1}})", ""), HasSubstr("\"x\" is no string"));
}

TEST(Safetensors, SizesAreCheckedBeforeAnythingIsAllocated) {
  std::string huge = File("{}", "");
  huge[7] = 0x7f;
  EXPECT_THAT(std::string(Parse(huge).status().message()), HasSubstr("the limit is 100000000"));
  EXPECT_THAT(
      Error(R"({"a":{"dtype":"F64","shape":[4611686018427387904,8],"data_offsets":[0,0]}})", ""),
      HasSubstr("more than 2^63"));
  EXPECT_THAT(
      Error(R"({"a":{"dtype":"F32","shape":[36893488147419103232],"data_offsets":[0,0]}})", ""),
      HasSubstr("no size"));
  EXPECT_THAT(Error(R"({"a":{},"b":{}})", "", {.arrays = 1}), HasSubstr("the limit of 1"));
  EXPECT_THAT(Error(std::string(1 << 20, '['), ""), HasSubstr("deeper"));
  EXPECT_THAT(Error(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", "abcd"),
              HasSubstr("deeper"));
}

TEST(Safetensors, CutAndFlippedFilesAreErrorsOrArrays) {
  const std::string whole = File(kTwo, TwoData());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(Parse(whole.substr(0, size)).ok()) << size;
  const unsigned seed = 6;
  std::cout << "seed " << seed << "\n";
  std::mt19937 random(seed);
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = whole;
    for (size_t flips = 1 + random() % 3; flips > 0; --flips)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    read += Parse(bytes).ok();
  }
  std::cout << read << " of 20000 flipped files still read\n";
}

}  // namespace
}  // namespace lathe::io
