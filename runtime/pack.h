#pragma once
// Strided inputs: how far they reach, and their contiguous copies.
#include "lathe/tensor.h"
#include "runtime/context_state.h"

namespace lathe::rt {

// The bytes that the tensor's elements lie in; both null if it has none.
AddressRange RangeOf(const Tensor& t);

// Copies the elements to `to`, row-major. Any strides, any alignment.
void Pack(const Tensor& t, void* to);

}  // namespace lathe::rt
