#pragma once
// A small case: a program in the text form, with `$n` where a size stands, and what calls of it
// give. It is run with every dim symbolic, one function for all calls in the order A, B, .., A, and
// with the sizes of each call as constants; as machine code, by the Kernel IR evaluator, by the
// interpreter and as CUDA text on the host, bit for bit.
#include <string>
#include <utility>
#include <vector>

#include "lathe/lathe.h"

namespace lathe::whole {

struct CaseCall {
  std::vector<int64_t> sizes;  // in the order of the case's dims
  std::vector<Tensor> inputs;
  std::vector<Tensor> wanted;
  // If not empty the call is refused, and with symbolic dims the message holds this text.
  std::string error;
};

// Lines that start with "assume" are left out where the sizes are constants.
void CheckCase(const std::vector<std::string>& dims, const std::string& text,
               const std::vector<CaseCall>& calls);

// A prepared function of the text with `$` taken away; a failure is a test failure.
Function CompileText(Engine& engine, const std::string& text, CompileOptions options = {});

inline Tensor F32(std::vector<int64_t> shape, const std::vector<float>& values) {
  return Tensor::FromVector<float>(std::move(shape), values);
}
inline Tensor I64(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  return Tensor::FromVector<int64_t>(std::move(shape), values);
}
inline Tensor I32(std::vector<int64_t> shape, const std::vector<int32_t>& values) {
  return Tensor::FromVector<int32_t>(std::move(shape), values);
}
inline Tensor Bool(std::vector<int64_t> shape, const std::vector<bool>& values) {
  return Tensor::FromVector<bool>(std::move(shape), values);
}
// Of any element type but bool: the numbers converted.
template <typename T>
Tensor Of(std::vector<int64_t> shape, const std::vector<double>& values) {
  Tensor t(DTypeOf<T>(), std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) t.data<T>()[i] = static_cast<T>(values[i]);
  return t;
}
// start, start + 1, ..
Tensor Counted(std::vector<int64_t> shape, float start = 0);

}  // namespace lathe::whole
