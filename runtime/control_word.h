#pragma once
// The floating-point control word: answers mean round to nearest even with denormals kept, whatever
// the caller's thread had set, and a call leaves the word as it found it. The sticky exception
// flags are no part of it.
#include <cstdint>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace lathe::rt {

#if defined(__SSE__)

inline constexpr uint32_t kDefaultControlWord = 0x1f80;  // all exceptions masked
inline constexpr uint32_t kControlFlags = 0x3f;          // sticky: not control

inline void SetDefaultControlWord() { _mm_setcsr(kDefaultControlWord); }

class ControlWordScope {
 public:
  ControlWordScope() : before_(_mm_getcsr()) {
    if ((before_ & ~kControlFlags) != kDefaultControlWord) [[unlikely]]
      SetDefaultControlWord();
  }
  ~ControlWordScope() {
    if (((before_ ^ _mm_getcsr()) & ~kControlFlags) != 0) [[unlikely]]
      _mm_setcsr(before_);
  }
  ControlWordScope(const ControlWordScope&) = delete;
  ControlWordScope& operator=(const ControlWordScope&) = delete;

 private:
  uint32_t before_;
};

#else

inline void SetDefaultControlWord() {}
class ControlWordScope {};

#endif

}  // namespace lathe::rt
