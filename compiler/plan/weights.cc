#include "compiler/plan/weights.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "absl/strings/str_cat.h"

namespace lathe::compiler {
namespace {

constexpr size_t kAlignment = 64;

// [ceil(N / nr)][K][nr], columns past N are zero.
void Pack(const float* from, int64_t k, int64_t n, int64_t nr, float* to) {
  for (int64_t column = 0; column < n; column += nr) {
    const int64_t width = std::min(nr, n - column);
    for (int64_t row = 0; row < k; ++row, to += nr) {
      std::memcpy(to, from + row * n + column, static_cast<size_t>(width) * sizeof(float));
      std::fill(to + width, to + nr, 0.0f);
    }
  }
}

}  // namespace

absl::StatusOr<rt::Constant> WeightStore::Panels(const Tensor& weights, int64_t panel_width) {
  const Tensor dense = weights.Contiguous();
  const int64_t k = dense.shape()[0], n = dense.shape()[1];
  const int64_t bytes =
      std::max<int64_t>(1, (n + panel_width - 1) / panel_width * k * panel_width) *
      static_cast<int64_t>(sizeof(float));
  const XXH128_hash_t hash = XXH3_128bits(dense.raw(), static_cast<size_t>(dense.num_bytes()));
  const std::string key = absl::StrCat(absl::Hex(hash.high64), ":", absl::Hex(hash.low64), " ", k,
                                       "x", n, " panels ", panel_width);
  rt::Constant constant;
  constant.bytes = bytes;
  constant.label = absl::StrCat("packed ", k, "x", n);
  std::lock_guard lock(mutex_);
  std::weak_ptr<const void>& slot = packed_[key];
  constant.data = slot.lock();
  if (constant.data != nullptr) return constant;
  void* block =
      ::operator new(static_cast<size_t>(bytes), std::align_val_t(kAlignment), std::nothrow);
  if (block == nullptr)
    return absl::ResourceExhaustedError(absl::StrCat("packing weights needs ", bytes, " bytes"));
  const std::shared_ptr<const void> data(
      block, [](void* p) { ::operator delete(p, std::align_val_t(kAlignment)); });
  Pack(dense.data<float>(), k, n, panel_width, static_cast<float*>(block));
  slot = data;
  constant.data = data;
  return constant;
}

}  // namespace lathe::compiler
