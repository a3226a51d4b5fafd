#include "tests/runtime/counting_new.h"

#include <cstdlib>
#include <new>

namespace {

thread_local int64_t allocations = 0;

void* Obtain(size_t bytes) noexcept {
  ++allocations;
  return std::malloc(bytes);
}

void* OrThrow(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* Aligned(size_t bytes, std::align_val_t alignment) {
  ++allocations;
  const size_t unit = static_cast<size_t>(alignment);
  return OrThrow(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}

}  // namespace

namespace lathe::rt::fake {

int64_t AllocationsOfThread() { return allocations; }

}  // namespace lathe::rt::fake

void* operator new(size_t bytes) { return OrThrow(Obtain(bytes)); }
void* operator new[](size_t bytes) { return OrThrow(Obtain(bytes)); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Obtain(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Obtain(bytes); }
void* operator new(size_t bytes, std::align_val_t a) { return Aligned(bytes, a); }
void* operator new[](size_t bytes, std::align_val_t a) { return Aligned(bytes, a); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
