// Tensors of every element type, from every field that may hold their elements.
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/model_writer.h"

namespace lathe::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

MessageWriter Typed(int32_t type, const std::vector<int64_t>& dims) {
  return MessageWriter().AddPacked(proto::Tensor::dims, dims).Add(proto::Tensor::data_type, type);
}

std::string Error(const Bytes& bytes, const ReadLimits& limits = {}) {
  return std::string(ParseTensorBytes(bytes, limits).status().message());
}

std::string Hex(const TensorData& t) {
  std::string text;
  for (int64_t i = 0; i < t.num_bytes; ++i)
    absl::StrAppend(
        &text, absl::Hex(static_cast<const unsigned char*>(t.bytes.get())[i], absl::kZeroPad2));
  return text;
}

struct Row {
  int32_t type;
  uint32_t field;
  std::vector<int64_t> numbers;
  int64_t elements;
  std::string hex;
};

TEST(ReadTensor, IntegersOfEveryTypeFromTheirField) {
  const std::vector<Row> rows = {
      {kInt32, proto::Tensor::int32_data, {1, -2}, 2, "01000000feffffff"},
      {kInt16, proto::Tensor::int32_data, {1, -2}, 2, "0100feff"},
      {kInt8, proto::Tensor::int32_data, {127, -128}, 2, "7f80"},
      {kUint16, proto::Tensor::int32_data, {65535, 1}, 2, "ffff0100"},
      {kUint8, proto::Tensor::int32_data, {255, 0}, 2, "ff00"},
      {kBool, proto::Tensor::int32_data, {1, 0, 5}, 3, "010001"},
      {kFloat16, proto::Tensor::int32_data, {0x3c00, 0xc000}, 2, "003c00c0"},
      {kBfloat16, proto::Tensor::int32_data, {0x3f80}, 1, "803f"},
      {kFloat8E4M3FN, proto::Tensor::int32_data, {0x38, 0xb8}, 2, "38b8"},
      {kUint4, proto::Tensor::int32_data, {0x21, 0x03}, 3, "2103"},
      {kInt4, proto::Tensor::int32_data, {0xf1}, 2, "f1"},
      {kInt2, proto::Tensor::int32_data, {0xe4, 0x01}, 5, "e401"},
      {kInt64, proto::Tensor::int64_data, {-1}, 1, "ffffffffffffffff"},
      {kUint32, proto::Tensor::uint64_data, {4294967295}, 1, "ffffffff"},
      {kUint64, proto::Tensor::uint64_data, {-1, 2}, 2, "ffffffffffffffff0200000000000000"},
  };
  for (const Row& row : rows)
    for (bool packed : {true, false}) {
      MessageWriter m = Typed(row.type, {row.elements});
      packed ? m.AddPacked(row.field, row.numbers) : m.AddEach(row.field, row.numbers);
      const absl::StatusOr<TensorData> t = ParseTensorBytes(m);
      ASSERT_TRUE(t.ok()) << t.status() << ElementTypeName(row.type);
      EXPECT_EQ(Hex(*t), row.hex) << ElementTypeName(row.type);
      // The data may also come before the type and the shape.
      const Bytes swapped =
          MessageWriter(packed ? MessageWriter().AddPacked(row.field, row.numbers).bytes()
                               : MessageWriter().AddEach(row.field, row.numbers).bytes())
              .bytes() +
          Typed(row.type, {row.elements}).bytes();
      ASSERT_TRUE(ParseTensorBytes(swapped).ok());
      EXPECT_EQ(Hex(*ParseTensorBytes(swapped)), row.hex) << ElementTypeName(row.type);
    }
}

TEST(ReadTensor, FloatsOfEveryTypeFromTheirField) {
  const std::vector<float> floats = {1, -2, 0.5f, 8};
  const std::vector<double> doubles = {1, -2, 0.5, 8};
  for (int pieces : {0, 1, 2}) {  // 0: unpacked
    MessageWriter f = Typed(kFloat, {4}), c = Typed(kComplex64, {2});
    MessageWriter d = Typed(kDouble, {4}), z = Typed(kComplex128, {2});
    for (int i = 0; i < std::max(pieces, 1); ++i) {
      const int n = pieces == 2 ? 2 : 4;
      const std::vector<float> fs(floats.begin() + i * n, floats.begin() + (i + 1) * n);
      const std::vector<double> ds(doubles.begin() + i * n, doubles.begin() + (i + 1) * n);
      for (MessageWriter* m : {&f, &c})
        pieces == 0 ? m->AddEach(proto::Tensor::float_data, fs)
                    : m->AddPacked(proto::Tensor::float_data, fs);
      for (MessageWriter* m : {&d, &z})
        pieces == 0 ? m->AddEach(proto::Tensor::double_data, ds)
                    : m->AddPacked(proto::Tensor::double_data, ds);
    }
    for (const MessageWriter& m : {f, c}) {
      const absl::StatusOr<TensorData> t = ParseTensorBytes(m);
      ASSERT_TRUE(t.ok()) << t.status();
      EXPECT_EQ(std::memcmp(t->bytes.get(), floats.data(), 16), 0) << pieces;
    }
    for (const MessageWriter& m : {d, z}) {
      const absl::StatusOr<TensorData> t = ParseTensorBytes(m);
      ASSERT_TRUE(t.ok()) << t.status();
      EXPECT_EQ(std::memcmp(t->bytes.get(), doubles.data(), 32), 0) << pieces;
    }
  }
}

TEST(ReadTensor, StringsArrive) {
  const absl::StatusOr<TensorData> t =
      ParseTensorBytes(Typed(kString, {2, 1})
                           .AddEach(proto::Tensor::string_data, Names{"a", std::string("\0z", 2)}));
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_THAT(t->strings, ElementsAre("a", std::string("\0z", 2)));
  EXPECT_EQ(ToTensor(*t).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Error(Typed(kString, {2}).Add(proto::Tensor::string_data, Bytes("a"))),
              HasSubstr("wants 2 elements in string_data alone, found 1"));
}

TEST(ReadTensor, EmptyTensorsAndScalarsRead) {
  for (const Bytes& bytes : {RawTensorMessage("", kFloat, {0}, ""), Typed(kFloat, {3, 0}).bytes(),
                             Typed(kString, {0}).bytes()}) {
    const absl::StatusOr<TensorData> t = ParseTensorBytes(bytes);
    ASSERT_TRUE(t.ok()) << t.status();
    EXPECT_EQ(t->num_bytes, 0);
    EXPECT_EQ(t->bytes, nullptr);
  }
  EXPECT_EQ(ToTensor(*ParseTensorBytes(Typed(kFloat, {3, 0})))->num_elements(), 0);
  const absl::StatusOr<TensorData> scalar = ParseTensorBytes(TensorMessage<double>("", {}, {2.5}));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_EQ(ToTensor(*scalar)->ToString(), "f64[]{2.5}");
}

TEST(ReadTensor, SizesThatDoNotAgreeSayBoth) {
  EXPECT_EQ(Error(RawTensorMessage("w", kFloat, {2, 3}, std::string(23, 'x'))),
            "byte 0, TensorProto: FLOAT of shape [2, 3] has 24 bytes, raw_data holds 23");
  EXPECT_THAT(Error(RawTensorMessage("w", kInt4, {3}, "x")),
              HasSubstr("INT4 of shape [3] has 2 bytes, raw_data holds 1"));
  EXPECT_THAT(
      Error(Typed(kInt64, {3}).AddPacked(proto::Tensor::int64_data, std::vector<int64_t>{1, 2})),
      HasSubstr("has 3 numbers, int64_data holds 2"));
  EXPECT_THAT(Error(Typed(kFloat, {1})), HasSubstr("has 1 numbers, float_data holds 0"));
  EXPECT_THAT(Error(Typed(kFloat, {-1})), HasSubstr("negative extent"));
  EXPECT_THAT(Error(RawTensorMessage("", kFloat, {int64_t{1} << 32, int64_t{1} << 31}, "")),
              HasSubstr("size overflows"));
  // A shape that promises more than there is room for fails before room is made.
  EXPECT_THAT(Error(Typed(kInt64, {int64_t{1} << 40})
                        .AddPacked(proto::Tensor::int64_data, std::vector<int64_t>{1})),
              HasSubstr("int64_data holds 1"));
}

TEST(ReadTensor, DataInTheWrongPlaceIsNamed) {
  EXPECT_THAT(
      Error(Typed(kFloat, {1}).AddPacked(proto::Tensor::int32_data, std::vector<int64_t>{1})),
      HasSubstr("data of FLOAT stands in float_data, found int32_data"));
  EXPECT_THAT(Error(MessageWriter(RawTensorMessage("", kFloat, {1}, "abcd"))
                        .AddPacked(proto::Tensor::float_data, std::vector<float>{1})),
              HasSubstr("both raw_data and float_data"));
  EXPECT_THAT(Error(Typed(kInt64, {2})
                        .AddPacked(proto::Tensor::int64_data, std::vector<int64_t>{1})
                        .AddPacked(proto::Tensor::int32_data, std::vector<int64_t>{1})),
              HasSubstr("has data in int64_data as well"));
  EXPECT_THAT(
      Error(
          Typed(kUint8, {2}).AddPacked(proto::Tensor::int32_data, std::vector<int64_t>{255, 256})),
      HasSubstr("256 doesn't fit UINT8"));
  EXPECT_THAT(Error(RawTensorMessage("", 99, {1}, "a")), HasSubstr("element type 99"));
  EXPECT_THAT(Error(Typed(kFloat, {1}).Add(proto::Tensor::segment, Bytes())),
              HasSubstr("segments aren't supported"));
  EXPECT_THAT(Error(Typed(kFloat, {1}).Add(proto::Tensor::raw_data, 7)),
              HasSubstr("TensorProto.raw_data: is encoded as a varint, wanted a length and bytes"));
}

TEST(ReadTensor, MisalignedDataIsCopiedIntoTheTensor) {
  for (size_t padding = 0; padding < 8; ++padding) {
    const absl::StatusOr<TensorData> t =
        ParseTensorBytes(TensorMessage<double>(std::string(padding, 'n'), {2}, {1.25, -3}));
    ASSERT_TRUE(t.ok()) << t.status();
    const absl::StatusOr<Tensor> tensor = ToTensor(*t);
    ASSERT_TRUE(tensor.ok());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->raw()) % 8, 0u);
    EXPECT_EQ(tensor->ToString(), "f64[2]{1.25, -3}");
  }
}

TEST(ReadTensor, EveryElementTypeOfLatheBecomesATensor) {
  const std::vector<std::pair<int32_t, DType>> types = {
      {kBool, DType::kBool},   {kInt8, DType::kI8},       {kInt16, DType::kI16},
      {kInt32, DType::kI32},   {kInt64, DType::kI64},     {kUint8, DType::kU8},
      {kUint16, DType::kU16},  {kUint32, DType::kU32},    {kUint64, DType::kU64},
      {kFloat16, DType::kF16}, {kBfloat16, DType::kBF16}, {kFloat, DType::kF32},
      {kDouble, DType::kF64}};
  EXPECT_EQ(types.size(), static_cast<size_t>(kNumDTypes));
  for (const auto& [type, dtype] : types) {
    const std::string raw(static_cast<size_t>(3 * SizeOf(dtype)), '\1');
    const absl::StatusOr<TensorData> t = ParseTensorBytes(RawTensorMessage("w", type, {3}, raw));
    ASSERT_TRUE(t.ok()) << t.status();
    const absl::StatusOr<Tensor> tensor = ToTensor(*t);
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->dtype(), dtype);
    EXPECT_EQ(std::memcmp(tensor->raw(), raw.data(), raw.size()), 0);
  }
}

TEST(ReadTensor, TypesThatLatheLacksAreNamed) {
  const absl::StatusOr<TensorData> t =
      ParseTensorBytes(RawTensorMessage("w", kFloat8E5M2, {1}, "x"));
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(ToTensor(*t).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(ToTensor(*t).status().message()),
              HasSubstr("\"w\" is of FLOAT8E5M2, a type that Lathe doesn't have"));
  EXPECT_EQ(ElementTypeName(kUint8), "UINT8");
}

TEST(ReadTensor, SparseIndicesStayInside) {
  auto model = [](std::vector<int64_t> shape, std::vector<int64_t> indices,
                  std::vector<int64_t> dims) {
    GraphWriter g;
    g.SparseInitializer(TensorMessage<float>("s", {2}, {5, 6}),
                        TensorMessage<int64_t>("", shape, indices), dims);
    return std::string(ParseBytes(ModelMessage(g)).status().message());
  };
  EXPECT_EQ(model({2}, {0, 5}, {2, 3}), "");
  EXPECT_EQ(model({2, 2}, {0, 0, 1, 2}, {2, 3}), "");
  EXPECT_THAT(model({2}, {0, 6}, {2, 3}), HasSubstr("index 6 at 1 is outside [0, 6)"));
  EXPECT_THAT(model({2}, {-1, 5}, {2, 3}), HasSubstr("index -1 at 0"));
  EXPECT_THAT(model({2, 2}, {0, 0, 2, 0}, {2, 3}), HasSubstr("index 2 at 2 is outside [0, 2)"));
  EXPECT_THAT(model({1, 2}, {0, 0}, {2, 3}), HasSubstr("indices of shape [1, 2]"));
  EXPECT_THAT(model({2}, {0, 1}, {int64_t{1} << 62, 8}), HasSubstr("size overflows"));
}

TEST(ReadValue, SequencesAndOptionalsArrive) {
  Type tensor, sequence, optional, optional_sequence;
  tensor.kind = Type::Kind::kTensor;
  sequence.kind = Type::Kind::kSequence;
  optional.kind = optional_sequence.kind = Type::Kind::kOptional;
  auto parse = [](const Bytes& bytes, const Type& type, bool* present = nullptr) {
    const std::shared_ptr<void> owner = OwnedCopy(bytes);
    return ParseValue({static_cast<const char*>(owner.get()), bytes.size()}, owner, "", type, {},
                      present);
  };
  const Bytes one = TensorMessage<float>("a", {1}, {1});
  EXPECT_EQ(parse(one, tensor)->size(), 1u);
  const Bytes two = MessageWriter()
                        .Add(proto::Sequence::elem_type, 1)
                        .Add(proto::Sequence::tensor_values, one)
                        .Add(proto::Sequence::tensor_values, one);
  EXPECT_EQ(parse(two, sequence)->size(), 2u);
  EXPECT_EQ(parse("", sequence)->size(), 0u);
  bool present = true;
  EXPECT_EQ(parse("", optional, &present)->size(), 0u);
  EXPECT_FALSE(present);
  EXPECT_EQ(
      parse(MessageWriter().Add(proto::Optional::tensor_value, one), optional, &present)->size(),
      1u);
  EXPECT_TRUE(present);
  EXPECT_EQ(parse(MessageWriter().Add(proto::Optional::sequence_value, two), optional)->size(), 2u);
  EXPECT_EQ(parse(MessageWriter().Add(proto::Optional::sequence_value, Bytes()), optional, &present)
                ->size(),
            0u);
  EXPECT_TRUE(present);
  EXPECT_EQ(
      parse(MessageWriter().Add(proto::Sequence::sequence_values, two), sequence).status().code(),
      absl::StatusCode::kUnimplemented);
  EXPECT_EQ(parse(one, Type()).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace lathe::onnx
