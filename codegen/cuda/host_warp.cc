#include "codegen/cuda/host_warp.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>

namespace lathe::cuda {

namespace {

constexpr unsigned kLanes = 32;
constexpr size_t kStackBytes = size_t{256} << 10;

// A place where a fibre stopped. On x86-64 a switch saves the callee-saved registers on the stack;
// elsewhere it is ucontext's.
#if defined(__x86_64__)

struct Place {
  void* stack_pointer = nullptr;
};

extern "C" void lathe_switch_stack(void** save, void* to);
asm(R"(.text
.p2align 4
.type lathe_switch_stack,@function
lathe_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lathe_switch_stack,.-lathe_switch_stack
)");

void Switch(Place* from, Place* to) { lathe_switch_stack(&from->stack_pointer, to->stack_pointer); }

void Prepare(Place* place, std::byte* stack, size_t bytes, void (*entry)()) {
  void** top = reinterpret_cast<void**>(stack + bytes);
  *--top = nullptr;  // where the entry would return to; keeps the stack aligned
  *--top = reinterpret_cast<void*>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
  place->stack_pointer = top;
}

#else

struct Place {
  ucontext_t context;
};

void Switch(Place* from, Place* to) { swapcontext(&from->context, &to->context); }

void Prepare(Place* place, std::byte* stack, size_t bytes, void (*entry)()) {
  getcontext(&place->context);
  place->context.uc_stack.ss_sp = stack;
  place->context.uc_stack.ss_size = bytes;
  place->context.uc_link = nullptr;
  makecontext(&place->context, entry, 0);
}

#endif

}  // namespace

struct WarpRunner::State {
  LatheHostWarp warp;  // first: `wait` gets a pointer to it
  Place lanes[kLanes], caller;
  bool ended[kLanes] = {};
  unsigned live = 0, first_thread = 0;
  bool falling = false;
  const std::function<void()>* body = nullptr;
  std::byte* stacks = nullptr;

  static thread_local State* running;

  // The lane that runs after `lane`: the next one that hasn't ended.
  unsigned Next(unsigned lane) const {
    do {
      lane = (falling ? lane + kLanes - 1 : lane + 1) % kLanes;
    } while (ended[lane]);
    return lane;
  }
  void Resume(Place* from, unsigned lane) {
    warp.lane = lane;
    warp.thread = {first_thread + lane, 0, 0};
    Switch(from, &lanes[lane]);
  }
  static void Wait(LatheHostWarp* w) {
    State* s = reinterpret_cast<State*>(w);
    const unsigned lane = w->lane, next = s->Next(lane);
    if (next != lane) s->Resume(&s->lanes[lane], next);
  }
  static void Entry() {
    State* s = running;
    (*s->body)();
    const unsigned lane = s->warp.lane;
    s->ended[lane] = true;
    if (--s->live == 0) {
      Switch(&s->lanes[lane], &s->caller);
    } else {
      s->Resume(&s->lanes[lane], s->Next(lane));
    }
  }
};

thread_local WarpRunner::State* WarpRunner::State::running = nullptr;

WarpRunner::WarpRunner() : state_(std::make_unique<State>()) {
  void* memory = mmap(nullptr, kLanes * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) state_->stacks = static_cast<std::byte*>(memory);
  state_->warp.wait = &State::Wait;
}

WarpRunner::~WarpRunner() {
  if (state_->stacks == nullptr) return;
#ifdef __SANITIZE_ADDRESS__
  // What ran on these stacks left its marks; whoever gets the pages next would trip over them.
  __asan_unpoison_memory_region(state_->stacks, kLanes * kStackBytes);
#endif
  munmap(state_->stacks, kLanes * kStackBytes);
}

LatheHostWarp& WarpRunner::warp() { return state_->warp; }

bool WarpRunner::Run(unsigned first_thread, bool falling, const std::function<void()>& lane_body) {
  State& s = *state_;
  if (s.stacks == nullptr) return false;
  s.warp.diverged = 0;
  std::fill_n(s.warp.turns, kLanes, 0);
  std::fill_n(s.ended, kLanes, false);
  s.live = kLanes;
  s.first_thread = first_thread;
  s.falling = falling;
  s.body = &lane_body;
  for (unsigned i = 0; i < kLanes; ++i) {
    Prepare(&s.lanes[i], s.stacks + i * kStackBytes, kStackBytes, &State::Entry);
  }
  State::running = &s;
  s.Resume(&s.caller, falling ? kLanes - 1 : 0);
  const unsigned turns = s.warp.turns[0];
  return s.warp.diverged == 0 &&
         std::all_of(s.warp.turns, s.warp.turns + kLanes, [&](unsigned t) { return t == turns; });
}

}  // namespace lathe::cuda
