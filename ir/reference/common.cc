#include "ir/reference/common.h"

#include <cstring>

#include "absl/strings/str_join.h"

namespace lathe::ir::reference {

absl::Status Error(const EvalContext& c, absl::StatusCode code, std::string_view message) {
  const std::string_view op = Name(c.node->op);
  std::string text(op);
  if (!c.node->name.empty()) absl::StrAppend(&text, " '", c.node->name, "'");
  const std::string where = c.node->location.ToString();
  if (!where.empty()) absl::StrAppend(&text, " at ", where);
  absl::StrAppend(&text, ": ", absl::string_view(message.data(), message.size()));
  return absl::Status(code, text);
}

absl::Status InvalidArgument(const EvalContext& c, std::string_view message) {
  return Error(c, absl::StatusCode::kInvalidArgument, message);
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::StatusOr<Tensor> MakeResult(const EvalContext& c) {
  absl::StatusOr<Tensor> made = Tensor::Make(c.result_dtype, c.result_shape);
  if (!made.ok()) return Error(c, made.status().code(), std::string(made.status().message()));
  return made;
}

absl::Status CheckSameShape(const EvalContext& c) {
  for (size_t i = 0; i < c.operands.size(); ++i) {
    if (c.operands[i].shape() == c.result_shape) continue;
    return InvalidArgument(
        c, absl::StrCat("operand ", i, " has shape ", ShapeText(c.operands[i].shape()), ", wanted ",
                        ShapeText(c.result_shape)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int64_t>> EvaluateDims(const EvalContext& c, const Shape& dims) {
  std::vector<int64_t> values;
  for (Dim d : dims) {
    absl::StatusOr<int64_t> value = dim::Evaluate(d, c.symbols);
    if (!value.ok()) return Error(c, value.status().code(), std::string(value.status().message()));
    values.push_back(*value);
  }
  return values;
}

std::vector<int64_t> Offsets(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides,
                             int64_t base) {
  std::vector<int64_t> offsets;
  ForEachOffset(shape, strides, base, [&](int64_t offset) { offsets.push_back(offset); });
  return offsets;
}

absl::StatusOr<std::vector<int64_t>> BroadcastStrides(const EvalContext& c, const Tensor& t,
                                                      absl::Span<const int64_t> shape,
                                                      size_t skip) {
  const size_t rank = t.shape().size() - skip;
  std::vector<int64_t> strides(shape.size(), 0);
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = shape.size() - rank + i;
    if (rank > shape.size() || (t.shape()[i] != 1 && t.shape()[i] != shape[axis])) {
      return InvalidArgument(c, absl::StrCat("shape ", ShapeText(t.shape()),
                                             " doesn't broadcast to ", ShapeText(shape)));
    }
    strides[axis] = t.shape()[i] == 1 ? 0 : t.strides()[i];
  }
  return strides;
}

void CopyStrided(const Tensor& src, absl::Span<const int64_t> strides, int64_t base, Tensor* dst) {
  const size_t size = static_cast<size_t>(SizeOf(dst->dtype()));
  const char* from = src.data<char>();
  char* to = dst->data<char>();
  ForEachOffset(dst->shape(), strides, base, [&](int64_t offset) {
    std::memcpy(to, from + offset * static_cast<int64_t>(size), size);
    to += size;
  });
}

std::vector<int64_t> IndexOf(int64_t linear, absl::Span<const int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    index[i] = linear % shape[i];
    linear /= shape[i];
  }
  return index;
}

}  // namespace lathe::ir::reference
