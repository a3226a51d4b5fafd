// The call path with hand-written kernels: answers, admission, outputs, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/fakes.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace lathe::rt::fake {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Made Prepared(const std::vector<std::string>& shape = {"n", "4"}, const std::string& facts = "",
              Chain chain = {}, EngineOptions options = OneThread()) {
  Made made = MakeFunction(GraphOf({{"x", shape}}, facts), std::move(chain), {}, options);
  EXPECT_TRUE(made.function.prepare().ok());
  return made;
}

std::string ErrorOf(const Made& made, const std::vector<Tensor>& inputs) {
  const absl::Status status = made.function.call(inputs).status();
  EXPECT_FALSE(status.ok());
  return status.ToString();
}

TEST(Call, EverySizeInTheOrderABA) {
  const Made made = Prepared({"n", "m"}, "", {.kernels = {AddOne, AddOne, AddOne}});
  Context context;
  for (int64_t n : {3, 1, 3, 0, 3, 64, 1, 0, 2, 64}) {
    for (int64_t m : {4, 0, 1, 4}) {
      const Tensor x = Rows(n, m);
      Tensor y(DType::kF32, {n, m});
      ASSERT_TRUE(made.function.call_into({x}, {y}, context).ok());
      EXPECT_TRUE(IsSum(y, x, 3)) << n << " " << m;
      const auto out = made.function.call({x});
      ASSERT_TRUE(out.ok()) << out.status();
      EXPECT_TRUE(IsSum((*out)[0], x, 3));
    }
  }
}

TEST(Call, BeforePrepareIsRefused) {
  const Made made = MakeFunction(GraphOf({{"x", {"n", "4"}}}), {});
  const absl::Status status = made.function.call({Rows(2)}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("prepare"));
  EXPECT_EQ(made.builder->builds, 0);
}

TEST(Call, ErrorsNameInputAxisFoundAndWanted) {
  const Made made = Prepared();
  EXPECT_THAT(ErrorOf(made, {}), HasSubstr("found 0 inputs, wanted 1: x f32[n, 4]"));
  EXPECT_THAT(ErrorOf(made, {Tensor(DType::kF64, {2, 4})}),
              HasSubstr("input x: found f64[2, 4], wanted type f32 (f32[n, 4])"));
  EXPECT_THAT(ErrorOf(made, {Tensor(DType::kF32, {4})}),
              HasSubstr("input x: found rank 1 (f32[4]), wanted rank 2 (f32[n, 4])"));
  EXPECT_THAT(ErrorOf(made, {Rows(2, 5)}),
              HasSubstr("input x: axis 1 has extent 5, wanted 4 (f32[n, 4])"));
  EXPECT_THAT(ErrorOf(made, {Tensor(DType::kF32, {-1, 4})}), HasSubstr("invalid tensor"));
  EXPECT_THAT(ErrorOf(made, {Tensor::View(nullptr, DType::kF32, {2, 4})}), HasSubstr("null"));
  EXPECT_TRUE(made.function.call({Rows(2)}).ok()) << "usable after errors";
}

TEST(Call, ViolatedFactsNameSourceArgumentAndRemainder) {
  const Made made = Prepared({"n", "m"}, "n % 8 == 0, m <= 4, n*m <= 64");
  EXPECT_THAT(ErrorOf(made, {Rows(13, 2)}),
              AllOf(HasSubstr("`n % 8 == 0` is violated: n = 13 (axis 0 of input x), remainder 5"),
                    HasSubstr("declared by the test (test.lathe:1)")));
  EXPECT_THAT(ErrorOf(made, {Rows(8, 5)}), HasSubstr("`m <= 4` is violated: m = 5"));
  EXPECT_THAT(ErrorOf(made, {Rows(32, 4)}), HasSubstr("n*m = 128"));
  EXPECT_TRUE(made.function.call({Rows(16, 4)}).ok());
  EXPECT_TRUE(made.function.call({Rows(0, 0)}).ok());
}

TEST(Call, AxesOfOneSymbolMustAgree) {
  const Made made = MakeFunction(GraphOf({{"x", {"n", "4"}}, {"z", {"n + 1", "2*n"}}}), {});
  ASSERT_TRUE(made.function.prepare().ok());
  EXPECT_TRUE(made.function.call({Rows(3), Rows(4, 6)}).ok());
  EXPECT_THAT(
      ErrorOf(made, {Rows(3), Rows(3, 6)}),
      HasSubstr("input z: axis 0 has extent 3, wanted n + 1 = 4 with n = 3 (axis 0 of input x)"));
  // The sizes of the last call again: the other axes are still looked at.
  EXPECT_TRUE(made.function.call({Rows(3), Rows(4, 6)}).ok());
  EXPECT_THAT(ErrorOf(made, {Rows(3), Rows(4, 5)}),
              HasSubstr("axis 1 has extent 5, wanted 2*n = 6"));
}

TEST(Call, OutputsMustFit) {
  const Made made = Prepared();
  Context context;
  const Tensor x = Rows(2);
  const auto error = [&](const Tensor& y) {
    return made.function.call_into({x}, {y}, context).ToString();
  };
  EXPECT_THAT(error(Tensor(DType::kF32, {3, 4})),
              HasSubstr("output y: found f32[3, 4], wanted f32[2, 4]"));
  EXPECT_THAT(error(Tensor(DType::kI32, {2, 4})), HasSubstr("found i32[2, 4], wanted f32[2, 4]"));
  EXPECT_THAT(error(Tensor(DType::kF32, {8})), HasSubstr("found f32[8], wanted f32[2, 4]"));
  EXPECT_THAT(made.function.call_into({x}, {}, context).ToString(),
              HasSubstr("found 0 outputs, wanted 1"));
  std::vector<float> memory(64);
  EXPECT_THAT(error(Tensor::View(memory.data(), DType::kF32, {2, 4}, {8, 1})),
              HasSubstr("contiguous"));
  EXPECT_THAT(error(Tensor::View(nullptr, DType::kF32, {2, 4})), HasSubstr("null"));
  EXPECT_THAT(error(x), HasSubstr("output y overlaps the memory of input x"));
  EXPECT_THAT(error(Tensor::View(x.data<float>() + 7, DType::kF32, {2, 4})), HasSubstr("overlaps"));
  // Adjacent memory doesn't overlap; odd strides of an extent of 1 are contiguous.
  EXPECT_TRUE(made.function
                  .call_into({Tensor::View(memory.data(), DType::kF32, {2, 4})},
                             {Tensor::View(memory.data() + 8, DType::kF32, {2, 4})}, context)
                  .ok());
  EXPECT_TRUE(made.function
                  .call_into({Tensor::View(memory.data(), DType::kF32, {1, 4}, {77, 1})},
                             {Tensor::View(memory.data() + 8, DType::kF32, {1, 4}, {99, 1})},
                             context)
                  .ok());
}

TEST(Call, ArenaGrowsOnceAndIsCounted) {
  const Made made = Prepared({"n", "4"}, "", {.kernels = {AddOne, AddOne, AddOne}});
  Context context;
  ASSERT_TRUE(made.function.reserve(context, {{"n", 100}}).ok());
  EXPECT_EQ(made.engine->Counters().arena_growths, 0);
  const int64_t reserved = made.engine->Counters().live_bytes;
  EXPECT_EQ(reserved, 2 * 100 * 16);
  for (int64_t n : {100, 1, 57}) {
    Tensor y(DType::kF32, {n, 4});
    ASSERT_TRUE(made.function.call_into({Rows(n)}, {y}, context).ok());
  }
  EXPECT_EQ(made.engine->Counters().arena_growths, 0);
  for (int64_t n : {200, 100, 200}) {
    Tensor y(DType::kF32, {n, 4});
    ASSERT_TRUE(made.function.call_into({Rows(n)}, {y}, context).ok());
  }
  EXPECT_EQ(made.engine->Counters().arena_growths, 1);
  // The old arena went before the new one came: the peak is the new one's size.
  EXPECT_EQ(made.engine->Counters().peak_bytes, 2 * 200 * 16);
}

TEST(Call, MeasuredBytesEqualThePrediction) {
  const Made made = Prepared({"n", "4"}, "", {.kernels = {AddOne, AddOne, AddOne}});
  for (int64_t n : {0, 1, 17, 400}) {
    made.engine->ResetPeak();
    const auto out = made.function.call({Rows(n)});
    ASSERT_TRUE(out.ok());
    EXPECT_EQ(made.engine->Counters().peak_bytes, *made.function.peak_bytes({{"n", n}})) << n;
  }
}

TEST(Call, BeyondTheArenaLimitIsRefusedWithTheByteCount) {
  EngineOptions options = OneThread();
  options.max_arena_bytes = 4096;
  const Made made = Prepared({"n", "4"}, "", {.kernels = {AddOne, AddOne, AddOne}}, options);
  Context context;
  Tensor y(DType::kF32, {1000, 4});
  const absl::Status status = made.function.call_into({Rows(1000)}, {y}, context);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("32000 bytes"), HasSubstr("4096")));
  EXPECT_EQ(y.data<float>()[0], 0) << "refused before anything started";
  EXPECT_EQ(made.function.call({Rows(1000)}).status().code(), absl::StatusCode::kResourceExhausted);
  Tensor small(DType::kF32, {4, 4});
  EXPECT_TRUE(made.function.call_into({Rows(4)}, {small}, context).ok());
}

TEST(Call, OverflowingSizesAreAnError) {
  const Made made = Prepared({"n", "m"});
  const Tensor x = Tensor::View(nullptr, DType::kF32, {int64_t{1} << 62, 0});
  // No element, but the bytes of n*m*4 are computed with n*m = 0: fine or a clear error, no trap.
  (void)made.function.call({x});
  EXPECT_EQ(
      made.function.peak_bytes({{"n", int64_t{1} << 40}, {"m", int64_t{1} << 40}}).status().code(),
      absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(made.function.call({Rows(2, 2)}).ok());
}

TEST(Call, StridedInputsArePackedAndCounted) {
  const Made made = Prepared({"n", "m"});
  std::vector<float> memory(100);
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  const std::vector<Tensor> views = {
      Tensor::View(memory.data(), DType::kF32, {3, 4}, {8, 1}),         // rows apart
      Tensor::View(memory.data(), DType::kF32, {4, 3}, {1, 4}),         // transposed
      Tensor::View(memory.data() + 20, DType::kF32, {3, 4}, {-4, -1}),  // backwards
      Tensor::View(memory.data() + 2, DType::kF32, {5, 6}, {0, 0}),     // one element
      Tensor::View(memory.data(), DType::kF32, {3, 5}, {0, 2}),
      Tensor::View(memory.data(), DType::kF32, {0, 5}, {7, 9}),
  };
  Context context;
  int64_t packed = 0;
  for (const Tensor& x : views) {
    Tensor y(DType::kF32, x.shape());
    ASSERT_TRUE(made.function.call_into({x}, {y}, context).ok());
    EXPECT_TRUE(IsSum(y, x, 1)) << x.ToString();
    packed += x.num_bytes();
    EXPECT_EQ(made.engine->Counters().packed_input_bytes, packed);
  }
  EXPECT_EQ(made.engine->Counters().live_bytes, 128) << "the scratch is the context's, rounded up";
  // An output inside the span of a strided input is refused although the input is copied.
  EXPECT_FALSE(
      made.function
          .call_into({views[0]}, {Tensor::View(memory.data() + 4, DType::kF32, {3, 4})}, context)
          .ok());
}

TEST(Call, MisalignedPointersAreLegal) {
  const Made made = Prepared();
  std::vector<char> in(1 + 8 * 4), out(3 + 8 * 4);
  const Tensor values = Rows(2);
  std::memcpy(in.data() + 1, values.raw(), 32);
  Context context;
  static constexpr KernelFn kCopy = [](void* const* b, const int64_t* s, int64_t begin, int64_t end,
                                       int64_t, KernelError*) -> int64_t {
    std::memcpy(static_cast<char*>(b[1]) + begin * s[0] * 4,
                static_cast<char*>(b[0]) + begin * s[0] * 4,
                static_cast<size_t>((end - begin) * s[0] * 4));
    return 0;
  };
  const Made copy = Prepared({"n", "4"}, "", {.kernels = {kCopy}});
  ASSERT_TRUE(copy.function
                  .call_into({Tensor::View(in.data() + 1, DType::kF32, {2, 4})},
                             {Tensor::View(out.data() + 3, DType::kF32, {2, 4})}, context)
                  .ok());
  EXPECT_EQ(std::memcmp(in.data() + 1, out.data() + 3, 32), 0);
}

TEST(Call, KernelFailuresBecomeOutOfRangeAndTheNextCallWorks) {
  for (int threads : {1, 2, 4}) {
    EngineOptions options;
    options.threads = threads;
    const Made made =
        Prepared({"n", "4"}, "", {.kernels = {RefuseNegative}, .work = 1'000'000}, options);
    Tensor x = Rows(100);
    x.data<float>()[41] = -5;
    x.data<float>()[333] = -7;
    const absl::Status status = made.function.call({x}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_EQ(status.message(),
              "gather ids: index out of range: found -5 at position 41, bound 99 (in kernel 0)");
    EXPECT_TRUE(made.function.call({Rows(100)}).ok());
  }
}

TEST(Call, OneContextServesSeveralFunctions) {
  const Made a = Prepared(), b = Prepared({"n", "m"}, "", {.kernels = {AddTen, AddOne}});
  Context context;
  for (int i = 0; i < 3; ++i) {
    Tensor y(DType::kF32, {2, 4});
    ASSERT_TRUE(a.function.call_into({Rows(2)}, {y}, context).ok());
    EXPECT_TRUE(IsSum(y, Rows(2), 1));
    ASSERT_TRUE(b.function.call_into({Rows(2)}, {y}, context).ok());
    EXPECT_TRUE(IsSum(y, Rows(2), 11));
  }
}

TEST(Call, MovedFromContextIsAnError) {
  const Made made = Prepared();
  Context a;
  Context b = std::move(a);
  Tensor y(DType::kF32, {2, 4});
  EXPECT_FALSE(made.function.call_into({Rows(2)}, {y}, a).ok());
  EXPECT_TRUE(made.function.call_into({Rows(2)}, {y}, b).ok());
}

TEST(Call, KernelsSeeInCallScope) {
  static std::atomic<int> inside;
  inside = 0;
  const KernelFn look = [](void* const*, const int64_t*, int64_t, int64_t, int64_t,
                           KernelError*) -> int64_t {
    inside += InCallScope::Active();
    return 0;
  };
  const Made made = Prepared({"n", "4"}, "", {.kernels = {look}});
  EXPECT_FALSE(InCallScope::Active());
  ASSERT_TRUE(made.function.call({Rows(1)}).ok());
  EXPECT_EQ(inside, 1);
  EXPECT_FALSE(InCallScope::Active());
}

#if defined(__SSE__)
TEST(Call, ControlWordIsDefaultInsideAndUnchangedAfter) {
  static std::atomic<uint32_t> seen;
  const KernelFn meddle = [](void* const*, const int64_t*, int64_t, int64_t, int64_t,
                             KernelError*) -> int64_t {
    seen = _mm_getcsr() & ~0x3fu;
    _mm_setcsr(0x7f80);  // a kernel that leaves another rounding mode behind
    return 0;
  };
  const Made made = Prepared({"n", "4"}, "", {.kernels = {meddle}});
  const uint32_t before = _mm_getcsr();
  for (uint32_t word : {0x1f80u, 0x9fc0u, 0x3f80u}) {  // default; flush to zero; rounding down
    _mm_setcsr(word);
    ASSERT_TRUE(made.function.call({Rows(1)}).ok());
    EXPECT_EQ(_mm_getcsr() & ~0x3fu, word & ~0x3fu);
    EXPECT_EQ(seen, 0x1f80u);
  }
  _mm_setcsr(before);
}
#endif

TEST(Call, JumpsSkipSteps) {
  auto graph = GraphOf({{"x", {"n", "4"}}});
  // n == 0 or not: AddTen runs only where n is 3, else AddOne.
  class JumpBuilder : public FakeBuilder {
   public:
    explicit JumpBuilder(std::shared_ptr<ir::Graph> g) : FakeBuilder(g, {}), graph(g) {}
    absl::StatusOr<std::shared_ptr<const Version>> BuildGeneric() override {
      auto version = std::make_shared<Version>();
      version->name = "generic";
      HostProgram& p = version->program;
      dim::DimProgramBuilder dims(graph->dims());
      const Dim n = *graph->dims()->Find("n");
      dims.Input(n);
      dims.Input(graph->dims()->Symbol("workers"));
      const int is_three = dims.Slot(Eq(n, 3));
      for (KernelFn fn : {AddTen, AddOne}) {
        KernelStep k;
        k.artefact = Code(fn);
        k.buffers = {{BufferSource::kInput, 0}, {BufferSource::kOutput, 0}};
        k.size_slots = {dims.Slot(Dim(4))};
        k.tasks_slot = dims.Slot(n);
        k.work_slot = dims.Slot(Dim(0));
        p.kernels.push_back(k);
      }
      p.outputs.push_back({"y", DType::kF32, {dims.Slot(n), dims.Slot(Dim(4))}});
      p.steps = {{StepKind::kJumpIfZero, 3, is_three},
                 {StepKind::kKernel, 0, 0},
                 {StepKind::kJump, 4, 0},
                 {StepKind::kKernel, 1, 0}};
      p.arena_bytes_slot = dims.Slot(Dim(0));
      p.output_bytes_slot = dims.Slot(16 * n);
      p.dims = dims.Build();
      return std::shared_ptr<const Version>(version);
    }
    std::shared_ptr<ir::Graph> graph;
  };
  auto engine = std::make_shared<EngineState>(OneThread());
  Function f(*FunctionState::Make(engine, graph, std::make_unique<JumpBuilder>(graph), {}));
  ASSERT_TRUE(f.prepare().ok());
  EXPECT_TRUE(IsSum((*f.call({Rows(3)}))[0], Rows(3), 10));
  EXPECT_TRUE(IsSum((*f.call({Rows(2)}))[0], Rows(2), 1));
}

}  // namespace
}  // namespace lathe::rt::fake
