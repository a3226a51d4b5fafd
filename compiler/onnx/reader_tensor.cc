// TensorProto and SparseTensorProto: where a tensor's elements stand and what must hold for them.
#include <cstring>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/onnx/reader_parts.h"
#include "protozero/varint.hpp"

namespace lathe::onnx {
namespace {

using protozero::data_view;

// The typed field that holds elements of a type.
uint32_t TypedField(int32_t type) {
  switch (type) {
    case kFloat:
    case kComplex64:
      return proto::Tensor::float_data;
    case kDouble:
    case kComplex128:
      return proto::Tensor::double_data;
    case kInt64:
      return proto::Tensor::int64_data;
    case kUint32:
    case kUint64:
      return proto::Tensor::uint64_data;
    case kString:
      return proto::Tensor::string_data;
    default:
      return proto::Tensor::int32_data;
  }
}

const char* FieldName(uint32_t tag) {
  for (const FieldSpec& f : proto::Tensor::kFields)
    if (f.tag == tag) return f.name;
  return "?";
}

struct External {
  std::string location;
  int64_t offset = 0, length = -1;  // -1: to the end of the file
};

// What a first walk over the message finds; typed numbers are only counted.
struct Parts {
  bool is_external = false;
  External external;
  data_view raw{nullptr, 0};
  uint32_t typed = 0;          // the typed field that isn't empty
  int64_t typed_count = 0;     // its numbers
  data_view only{nullptr, 0};  // its bytes, if they are in one piece
  int pieces = 0;
};

void ParseExternalEntry(Input& in, data_view bytes, External* to) {
  std::string key, value;
  Fields f(in, proto::StringStringEntry::kSpec, bytes);
  while (f.Next()) (f.tag() == proto::StringStringEntry::key ? key : value) = f.Name();
  if (key == "location") to->location = value;
  if (key != "offset" && key != "length") return;  // others, as a checksum, change nothing
  int64_t number = 0;
  if (!absl::SimpleAtoi(value, &number) || number < 0)
    f.Fail(absl::StrCat(key, " isn't a number of bytes"));
  (key == "offset" ? to->offset : to->length) = number;
}

void CountTyped(Fields& f, Parts* parts) {
  const data_view view = f.Numbers();
  if (view.empty()) return;
  if (parts->typed != 0 && parts->typed != f.tag())
    f.FailField(absl::StrCat("the tensor has data in ", FieldName(parts->typed), " as well"));
  parts->typed = f.tag();
  parts->only = view;
  ++parts->pieces;
  const auto size = static_cast<int64_t>(view.size());
  parts->typed_count += f.tag() == proto::Tensor::float_data    ? size / 4
                        : f.tag() == proto::Tensor::double_data ? size / 8
                                                                : CountVarints(view);
}

Parts FirstWalk(Input& in, Fields& f, TensorData* to) {
  Parts parts;
  while (f.Next()) {
    switch (f.tag()) {
      case proto::Tensor::dims:
        f.AppendInts(to->dims);
        if (static_cast<int64_t>(to->dims.size()) > in.limits.rank)
          f.FailField(absl::StrCat("the rank limit is ", in.limits.rank),
                      absl::StatusCode::kResourceExhausted);
        break;
      case proto::Tensor::data_type:
        to->element_type = f.Int32();
        break;
      case proto::Tensor::segment:
        f.FailField("tensors in segments aren't supported", absl::StatusCode::kUnimplemented);
      case proto::Tensor::name:
        to->name = f.Name();
        break;
      case proto::Tensor::raw_data:
        parts.raw = f.View();
        break;
      case proto::Tensor::string_data:
        f.Add(to->strings) = f.String(in.limits.string_bytes);
        break;
      case proto::Tensor::external_data:
        ParseExternalEntry(in, f.View(), &parts.external);
        break;
      case proto::Tensor::data_location: {
        const int64_t location = f.Int();
        if (location != 0 && location != 1)
          f.FailField(absl::StrCat("is ", location, ", wanted 0 or 1"));
        parts.is_external = location == 1;
        break;
      }
      default:
        CountTyped(f, &parts);
    }
  }
  return parts;
}

// Bytes of the elements; fails if the extents are no shape.
int64_t BytesOf(Fields& f, const TensorData& t) {
  int64_t elements = 1;
  bool overflow = false, empty = false;
  for (int64_t extent : t.dims) {
    if (extent < 0)
      f.Fail(absl::StrCat("tensor of shape [", absl::StrJoin(t.dims, ", "), "]: negative extent"));
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(elements, extent, &elements);
  }
  if (empty) return 0;
  const int bits = t.element_type == kString ? 1 : BitsOf(t.element_type);
  if (bits == 0) f.Fail(absl::StrCat(ElementTypeName(t.element_type), " isn't an element type"));
  int64_t total = 0;
  overflow |= __builtin_mul_overflow(elements, int64_t{bits}, &total) ||
              total > std::numeric_limits<int64_t>::max() - 7;
  if (overflow)
    f.Fail(absl::StrCat("tensor of shape [", absl::StrJoin(t.dims, ", "), "]: size overflows"));
  return t.element_type == kString ? elements : (total + 7) / 8;
}

std::shared_ptr<void> Share(const Input& in, const char* data) {
  return std::shared_ptr<void>(in.owner, const_cast<char*>(data));
}

void TakeExternal(Input& in, Fields& f, const External& e, TensorData* to) {
  absl::StatusOr<io::MappedFile> file = in.external.Get(e.location);
  if (!file.ok()) f.Fail(std::string(file.status().message()), file.status().code());
  const auto size = static_cast<int64_t>(file->bytes.size());
  const std::string where = absl::StrCat("external data \"", e.location, "\"");
  if (e.offset > size)
    f.Fail(absl::StrCat(where, " has ", size, " bytes, the tensor begins at ", e.offset),
           absl::StatusCode::kOutOfRange);
  const int64_t length = e.length < 0 ? size - e.offset : e.length;
  if (length > size - e.offset)
    f.Fail(absl::StrCat(where, " has ", size, " bytes, the tensor is ", length, " from ", e.offset),
           absl::StatusCode::kOutOfRange);
  if (length != to->num_bytes)
    f.Fail(absl::StrCat(where, ": the tensor's length is ", length, ", ",
                        ElementTypeName(to->element_type), " of shape [",
                        absl::StrJoin(to->dims, ", "), "] has ", to->num_bytes, " bytes"));
  if (length > 0)
    to->bytes =
        std::shared_ptr<void>(file->owner, const_cast<char*>(file->bytes.data() + e.offset));
}

// Writes the low bytes of `value`, which must fit them as a signed or as an unsigned number.
void StoreInteger(Fields& f, const TensorData& t, int64_t value, int bytes, char* to) {
  if (t.element_type == kBool) value = value != 0;
  const int64_t top = bytes == 8 ? 0 : value >> (8 * bytes - 1);
  if (top < -1 || top > 1)
    f.FailField(absl::StrCat(value, " doesn't fit ", ElementTypeName(t.element_type)));
  std::memcpy(to, &value, static_cast<size_t>(bytes));
}

// Typed data whose encoding differs from memory's: a second walk over the message writes it.
void ConvertTyped(Input& in, const Parts& parts, data_view message, TensorData* to) {
  in.Charge(to->num_bytes);
  auto buffer = std::make_shared<std::vector<char>>(static_cast<size_t>(to->num_bytes));
  char* at = buffer->data();
  const int bytes = std::max(1, BitsOf(to->element_type) / 8);
  Fields f(in, proto::Tensor::kSpec, message);
  while (f.Next()) {
    if (f.tag() != parts.typed) {
      f.Skip();
      continue;
    }
    const data_view view = f.Numbers();
    if (parts.typed == proto::Tensor::float_data || parts.typed == proto::Tensor::double_data) {
      std::memcpy(at, view.data(), view.size());
      at += view.size();
      continue;
    }
    for (const char *p = view.data(), *end = p + view.size(); p != end; at += bytes) {
      auto value = static_cast<int64_t>(protozero::decode_varint(&p, end));
      if (parts.typed == proto::Tensor::int32_data) value = static_cast<int32_t>(value);
      StoreInteger(f, *to, value, bytes, at);
    }
  }
  to->bytes = std::shared_ptr<void>(buffer, buffer->data());
}

void TakeTyped(Input& in, Fields& f, const Parts& parts, data_view message, TensorData* to) {
  const int bits = BitsOf(to->element_type);
  const bool complex = to->element_type == kComplex64 || to->element_type == kComplex128;
  // One number is an element, half of a complex one, or a byte of several small ones.
  const int64_t number_bytes = std::max(1, (complex ? bits / 2 : bits) / 8);
  const int64_t want = to->num_bytes / number_bytes;
  if (parts.typed_count != want)
    f.Fail(absl::StrCat(ElementTypeName(to->element_type), " of shape [",
                        absl::StrJoin(to->dims, ", "), "] has ", want, " numbers, ",
                        FieldName(TypedField(to->element_type)), " holds ", parts.typed_count));
  if (want == 0) return;
  if (parts.typed != TypedField(to->element_type))
    f.Fail(absl::StrCat("data of ", ElementTypeName(to->element_type), " stands in ",
                        FieldName(TypedField(to->element_type)), ", found ",
                        FieldName(parts.typed)));
  const bool as_in_memory =
      parts.typed == proto::Tensor::float_data || parts.typed == proto::Tensor::double_data;
  if (as_in_memory && parts.pieces == 1) {
    to->bytes = Share(in, parts.only.data());
  } else {
    ConvertTyped(in, parts, message, to);
  }
}

}  // namespace

void ParseTensorMessage(Input& in, data_view bytes, TensorData* to) {
  Fields f(in, proto::Tensor::kSpec, bytes);
  const Parts parts = FirstWalk(in, f, to);
  const int64_t size = BytesOf(f, *to);
  if (to->element_type == kString) {
    if (static_cast<int64_t>(to->strings.size()) != size || !parts.raw.empty() || parts.typed != 0)
      f.Fail(absl::StrCat("STRING of shape [", absl::StrJoin(to->dims, ", "), "] wants ", size,
                          " elements in string_data alone, found ", to->strings.size()));
    return;
  }
  to->num_bytes = size;
  if (!to->strings.empty())
    f.Fail(absl::StrCat("string_data in a tensor of ", ElementTypeName(to->element_type)));
  if (!parts.raw.empty() && parts.typed != 0)
    f.Fail(absl::StrCat("data in both raw_data and ", FieldName(parts.typed)));
  if (parts.is_external) {
    if (!parts.raw.empty() || parts.typed != 0)
      f.Fail("external data, yet the file holds data too");
    TakeExternal(in, f, parts.external, to);
  } else if (f.Has(proto::Tensor::raw_data) && parts.typed == 0) {
    if (static_cast<int64_t>(parts.raw.size()) != size)
      f.Fail(absl::StrCat(ElementTypeName(to->element_type), " of shape [",
                          absl::StrJoin(to->dims, ", "), "] has ", size, " bytes, raw_data holds ",
                          parts.raw.size()));
    if (size > 0) to->bytes = Share(in, parts.raw.data());
  } else {
    TakeTyped(in, f, parts, bytes, to);
  }
}

void ParseSparseTensor(Input& in, data_view bytes, SparseTensorData* to) {
  Fields f(in, proto::SparseTensor::kSpec, bytes);
  while (f.Next()) {
    switch (f.tag()) {
      case proto::SparseTensor::values:
        ParseTensorMessage(in, f.View(), &to->values);
        break;
      case proto::SparseTensor::indices:
        ParseTensorMessage(in, f.View(), &to->indices);
        break;
      default:
        f.AppendInts(to->dims);
    }
  }
  if (static_cast<int64_t>(to->dims.size()) > in.limits.rank)
    f.Fail(absl::StrCat("the rank limit is ", in.limits.rank),
           absl::StatusCode::kResourceExhausted);
  int64_t elements = 1;
  bool empty = false, overflow = false;
  for (int64_t extent : to->dims) {
    if (extent < 0) f.Fail("negative extent in dims");
    empty |= extent == 0;
    overflow |= __builtin_mul_overflow(elements, extent, &elements);
  }
  if (empty) elements = 0;
  if (overflow && !empty)
    f.Fail(absl::StrCat("shape [", absl::StrJoin(to->dims, ", "), "]: size overflows"));
  const auto rank = static_cast<int64_t>(to->dims.size());
  if (to->values.dims.size() != 1 || to->indices.element_type != kInt64)
    f.Fail("a sparse tensor's values are of rank 1 and its indices are INT64");
  const int64_t count = to->values.dims[0];
  const std::vector<int64_t>& shape = to->indices.dims;
  const bool linear = shape.size() == 1 && shape[0] == count;
  if (!linear && !(shape.size() == 2 && shape[0] == count && shape[1] == rank))
    f.Fail(absl::StrCat("indices of shape [", absl::StrJoin(shape, ", "), "], wanted [", count,
                        "] or [", count, ", ", rank, "]"));
  const int64_t width = linear ? 1 : rank;
  for (int64_t i = 0; i < count * width; ++i) {
    int64_t index;
    std::memcpy(&index, static_cast<const char*>(to->indices.bytes.get()) + 8 * i, 8);
    const int64_t extent = linear ? elements : to->dims[static_cast<size_t>(i % width)];
    if (index < 0 || index >= extent)
      f.Fail(absl::StrCat("index ", index, " at ", i, " is outside [0, ", extent, ")"),
             absl::StatusCode::kOutOfRange);
  }
}

}  // namespace lathe::onnx
