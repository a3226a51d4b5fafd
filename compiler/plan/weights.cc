#include "compiler/plan/weights.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "ir/status_macros.h"

namespace lathe::compiler {
namespace {

// Slabs double from the first to the last size: few small weights take little, many share few.
constexpr int64_t kFirstSlab = int64_t{64} << 10;
constexpr int64_t kLastSlab = int64_t{16} << 20;
constexpr int64_t kAlignment = 64;  // bytes, of a matrix

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

// [ceil(N / nr)][ceil(K / 4)][nr][4], what lies past N and K is zero.
void PackBytes(const int8_t* from, int64_t k, int64_t n, int64_t nr, int8_t* to) {
  for (int64_t column = 0; column < n; column += nr) {
    const int64_t width = std::min(nr, n - column);
    for (int64_t row = 0; row < k; row += 4, to += 4 * nr) {
      if (width < nr || row + 4 > k) std::fill(to, to + 4 * nr, int8_t{0});
      for (int64_t i = 0; i < std::min<int64_t>(4, k - row); ++i) {
        const int8_t* line = from + (row + i) * n + column;
        for (int64_t j = 0; j < width; ++j) to[4 * j + i] = line[j];
      }
    }
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<void>> WeightStore::Room(int64_t bytes) {
  if (bytes > kLastSlab / 4) return memory_.Allocate(bytes);
  std::shared_ptr<char> slab = slab_.lock();
  if (slab == nullptr || slab_used_ + bytes > slab_size_) {
    const int64_t next = slab == nullptr ? kFirstSlab : std::min(2 * slab_size_, kLastSlab);
    const int64_t size = std::max(next, bytes);
    LATHE_ASSIGN_OR_RETURN(const std::shared_ptr<void> block, memory_.Allocate(size));
    slab = std::shared_ptr<char>(block, static_cast<char*>(block.get()));
    slab_ = slab;
    slab_size_ = size;
    slab_used_ = 0;
  }
  char* const place = slab.get() + slab_used_;
  slab_used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return std::shared_ptr<void>(slab, place);
}

absl::StatusOr<rt::Constant> WeightStore::Panels(const Tensor& weights, Packing packing,
                                                 int64_t panel_width) {
  const Tensor dense = weights.Contiguous();
  const size_t rank = dense.shape().size();
  const int64_t matrices = rank == 3 ? dense.shape()[0] : 1;
  const int64_t k = dense.shape()[rank - 2], n = dense.shape()[rank - 1];
  const bool of_bytes = packing == Packing::kBytePanels;
  const int64_t rows = of_bytes ? (k + 3) / 4 : k;  // of four bytes an element, either way
  const int64_t elements = (n + panel_width - 1) / panel_width * rows * panel_width;  // a matrix
  const int64_t bytes = 4 * std::max<int64_t>(1, matrices * elements);
  const XXH128_hash_t hash = XXH3_128bits(dense.raw(), static_cast<size_t>(dense.num_bytes()));
  const std::string key =
      absl::StrCat(absl::Hex(hash.high64), ":", absl::Hex(hash.low64), " ", matrices, "x", k, "x",
                   n, of_bytes ? " byte" : "", " panels ", panel_width);
  rt::Constant constant;
  constant.bytes = bytes;
  constant.label = absl::StrCat("packed ", rank == 3 ? absl::StrCat(matrices, "x") : "", k, "x", n);
  std::lock_guard lock(mutex_);
  if (const auto it = packed_.find(key); it != packed_.end()) constant.data = it->second.lock();
  if (constant.data != nullptr) return constant;
  LATHE_ASSIGN_OR_RETURN(const std::shared_ptr<void> data, Room(bytes));
  void* const block = data.get();
  for (int64_t i = 0; i < matrices; ++i) {
    if (of_bytes) {
      PackBytes(dense.data<int8_t>() + i * k * n, k, n, panel_width,
                static_cast<int8_t*>(block) + i * elements * 4);
    } else {
      Pack(dense.data<float>() + i * k * n, k, n, panel_width,
           static_cast<float*>(block) + i * elements);
    }
  }
  std::erase_if(packed_, [](const auto& entry) { return entry.second.expired(); });
  packed_[key] = data;
  constant.data = data;
  return constant;
}

}  // namespace lathe::compiler
