// .npy images: what NumPy writes arrives, what isn't one says so.
#include "compiler/io/npy.h"

#include <cstdio>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/util/temp_path.h"

namespace lathe::io {
namespace {

using testing::HasSubstr;

// An image with any header text and data.
std::string Image(const std::string& header, const std::string& data, char version = 1) {
  std::string bytes = std::string("\x93NUMPY") + version + '\0';
  bytes += static_cast<char>(header.size() & 0xff);
  bytes += static_cast<char>(header.size() >> 8);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

absl::StatusOr<Tensor> Parse(const std::string& bytes, const ArrayLimits& limits = {}) {
  const std::shared_ptr<char[]> copy(new char[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return ParseNpy({copy.get(), bytes.size()}, std::shared_ptr<void>(copy, copy.get()), "a", limits);
}

std::string Error(const std::string& bytes, const ArrayLimits& limits = {}) {
  return std::string(Parse(bytes, limits).status().message());
}

template <typename T>
std::string Data(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

TEST(Npy, WhatIsWrittenReadsBack) {
  const std::string path = TempPath("round.npy");
  for (const Tensor& t :
       {Tensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::Scalar<int64_t>(-7),
        Tensor(DType::kF64, {0, 5}), Tensor::FromVector<int32_t>({1}, {9}),
        Tensor::FromVector<bool>({3}, {true, false, true})}) {
    ASSERT_TRUE(WriteNpy(path, t).ok());
    const absl::StatusOr<Tensor> back = ReadNpy(path);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->ToString(), t.ToString());
    EXPECT_EQ(back->shape(), t.shape());
  }
  std::remove(path.c_str());
}

TEST(Npy, EveryElementTypeReadsBackButThatNumPyLacks) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor t(dtype, {3});
    for (int64_t b = 0; b < t.num_bytes(); ++b)
      t.data<unsigned char>()[b] =
          static_cast<unsigned char>(dtype == DType::kBool ? b % 2 : 7 * b);
    const absl::StatusOr<std::string> image = FormatNpy(t);
    if (dtype == DType::kBF16) {
      EXPECT_EQ(image.status().code(), absl::StatusCode::kUnimplemented);
      EXPECT_THAT(std::string(image.status().message()),
                  HasSubstr("NumPy has no element type for bf16"));
      continue;
    }
    ASSERT_TRUE(image.ok()) << image.status();
    const absl::StatusOr<Tensor> back = Parse(*image);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(back->dtype(), dtype);
    EXPECT_EQ(back->ToString(), t.ToString());
  }
}

TEST(Npy, StridedTensorsAreWrittenDense) {
  float data[] = {1, 2, 3, 4, 5, 6};
  const absl::StatusOr<std::string> image =
      FormatNpy(Tensor::View(data, DType::kF32, {3, 2}, {1, 3}));
  ASSERT_TRUE(image.ok());
  EXPECT_EQ(image->size() % 4, 0u);
  EXPECT_EQ(Parse(*image)->ToString(), "f32[3, 2]{1, 4, 2, 5, 3, 6}");
}

TEST(Npy, HeadersMayBeWrittenInAnyWay) {
  const std::string data = Data<int32_t>({1, 2, 3, 4, 5, 6});
  for (const std::string header :
       {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }      \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<i4\"}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2L, 3L,)}"})
    for (const char version : {'\1', '\2', '\3'}) {
      const absl::StatusOr<Tensor> t = Parse(Image(header, data, version));
      ASSERT_TRUE(t.ok()) << t.status() << header;
      EXPECT_EQ(t->ToString(), "i32[2, 3]{1, 2, 3, 4, 5, 6}");
    }
}

TEST(Npy, FortranOrderArrivesInCOrder) {
  const absl::StatusOr<Tensor> t =
      Parse(Image("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
                  Data<int32_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_TRUE(t->is_contiguous());
  EXPECT_EQ(t->ToString(), "i32[2, 3]{1, 2, 3, 4, 5, 6}");
}

TEST(Npy, BoolsAreZeroOrOne) {
  const absl::StatusOr<Tensor> t = Parse(
      Image("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\7", 3)));
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->data<unsigned char>()[2], 1);
}

TEST(Npy, AnyCutIsAnError) {
  const std::string whole = *FormatNpy(Tensor::FromVector<float>({2}, {1, 2}));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(Parse(whole.substr(0, size)).ok()) << size;
  EXPECT_THAT(Error(whole + "x"), HasSubstr("data has 9 bytes, f32 of shape [2] wants 8"));
}

TEST(Npy, ErrorsNameArrayAndWhatWasFound) {
  const std::string f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  EXPECT_EQ(Error("not an array, but long enough"), "array a: no .npy header");
  EXPECT_THAT(Error(Image(f4 + "(2,)}", "", 4)), HasSubstr("format version 4"));
  EXPECT_THAT(Error(Image("{'descr': '>f4', 'fortran_order': False, 'shape': (0,)}", "")),
              HasSubstr("element type '>f4' isn't supported (big endian)"));
  EXPECT_THAT(Error(Image("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,)}", "")),
              HasSubstr("structured"));
  EXPECT_THAT(Error(Image("{'descr': '<f4', 'shape': (0,)}", "")), HasSubstr("lacks"));
  EXPECT_THAT(Error(Image(f4 + "(0,), 'more': 1}", "")), HasSubstr("unknown or repeated key"));
  EXPECT_THAT(Error(Image(f4 + "(-1,)}", "")), HasSubstr("wants an extent"));
  EXPECT_THAT(Error(Image(f4 + "(1,", "")), HasSubstr("wants an extent"));
  EXPECT_THAT(Error(Image(f4 + "(0,)} {", "")), HasSubstr("goes on"));
}

TEST(Npy, SizesAreCheckedBeforeAnythingIsAllocated) {
  const std::string f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  EXPECT_THAT(Error(Image(f4 + "(1000000000000000,)}", "abcd")), HasSubstr("the limit is"));
  EXPECT_THAT(Error(Image(f4 + "(4611686018427387904, 4)}", "")), HasSubstr("more than 2^63"));
  EXPECT_THAT(Error(Image(f4 + "(99999999999999999999,)}", "")), HasSubstr("wants an extent"));
  EXPECT_THAT(Error(Image(f4 + "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", "abcd")),
              HasSubstr("rank 17, the limit is 16"));
  EXPECT_THAT(Error(Image(f4 + "(3,)}", "123456789012"), {.bytes = 11}),
              HasSubstr("12 bytes, the limit is 11"));
  // An extent of 0 makes an array empty, whatever the others are.
  const absl::StatusOr<Tensor> t = Parse(Image(f4 + "(4611686018427387904, 0)}", ""));
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->num_elements(), 0);
}

TEST(Npy, FilesThatCannotBeReadSayWhy) {
  EXPECT_EQ(ReadNpy("/nonexistent.npy").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadNpy("/dev/zero").status().message()),
              HasSubstr("not a regular file"));
  EXPECT_FALSE(WriteNpy("/nonexistent/a.npy", Tensor::Scalar<float>(1)).ok());
}

}  // namespace
}  // namespace lathe::io
