#include "runtime/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lathe::rt {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr int64_t kMaxBlock = int64_t{1} << 39;
constexpr size_t kHugeFrom = size_t{4} << 20;  // blocks from here on ask for huge pages

void* Obtain(size_t bytes) {
  const size_t alignment = bytes >= kHugeFrom ? kHugePage : kAlignment;
  const size_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  void* block = std::aligned_alloc(alignment, rounded);
  if (block != nullptr && bytes >= kHugeFrom) madvise(block, rounded, MADV_HUGEPAGE);
  return block;
}

}  // namespace

absl::StatusOr<std::shared_ptr<void>> Allocator::Allocate(int64_t bytes) {
  if (bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat("can't allocate ", bytes, " bytes"));
  }
  if (bytes > kMaxBlock) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a block of ", bytes, " bytes passes the limit of ", kMaxBlock));
  }
  void* block = Obtain(static_cast<size_t>(bytes));
  if (block == nullptr) {
    return absl::ResourceExhaustedError(absl::StrCat("no memory for ", bytes, " bytes"));
  }
  const int64_t live = counts_->live.fetch_add(bytes) + bytes;
  int64_t peak = counts_->peak.load();
  while (peak < live && !counts_->peak.compare_exchange_weak(peak, live)) {
  }
  return std::shared_ptr<void>(block, [counts = counts_, bytes](void* p) {
    std::free(p);
    counts->live.fetch_sub(bytes);
  });
}

}  // namespace lathe::rt
