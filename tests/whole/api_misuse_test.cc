// What a program may do to the public interface by mistake, or to the thread it calls from: values
// that were moved from, tensors without memory, sizes of symbols that nothing uses, a control word
// of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "ir/compare.h"
#include "ir/graph.h"
#include "tests/whole/case.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace lathe::whole {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr absl::StatusCode kPrecondition = absl::StatusCode::kFailedPrecondition;

absl::StatusOr<Program> TraceRelu() {
  Trace t("f");
  return t.finish({relu(t.input("x", f32, {t.dim("n")}))});
}

TEST(MovedFrom, AProgramIsRefusedAndHasNoText) {
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Program> p = TraceRelu();
  ASSERT_TRUE(engine.compile(std::move(p)).ok());
  const absl::Status again = engine.compile(std::move(p)).status();
  EXPECT_EQ(again.code(), kPrecondition);
  EXPECT_THAT(std::string(again.message()), HasSubstr("program was moved from"));
  EXPECT_EQ(p->to_string(), "");
  absl::StatusOr<Program> released = TraceRelu();
  EXPECT_NE(released->release(), nullptr);
  EXPECT_EQ(engine.compile(std::move(released)).status().code(), kPrecondition);
}

TEST(MovedFrom, AFunctionAnswersFailedPrecondition) {
  Engine engine({.threads = 1, .background_compiles = false});
  Function f = *engine.compile(TraceRelu());
  const Function g = std::move(f);
  ASSERT_TRUE(g.prepare().ok());
  Tensor y(f32, {2});
  Context context;
  const Sizes sizes = {{"n", 2}};
  const absl::Status called = f.call({F32({2}, {1, -1})}).status();
  EXPECT_THAT(std::string(called.message()), HasSubstr("function was moved from"));
  for (const absl::Status& s :
       {called, f.call_into({y}, {y}, context), f.reserve(context, sizes), f.prepare(),
        f.prepare({sizes}), f.output_shapes(sizes).status(), f.peak_bytes(sizes).status(),
        f.largest("n", {}, 100).status(), f.could_exceed(100).status(), f.explain(sizes).status(),
        f.explain_json(sizes).status(), f.pin_version("generic")}) {
    EXPECT_EQ(s.code(), kPrecondition) << s;
  }
  f.wait_for_versions();
  EXPECT_TRUE(f.versions().empty());
  EXPECT_TRUE(g.call({F32({2}, {1, -1})}).ok());
}

TEST(MovedFrom, ATensorIsInvalid) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f = *engine.compile(TraceRelu());
  ASSERT_TRUE(f.prepare().ok());
  Tensor x = F32({2}, {1, -1});
  const Tensor kept = std::move(x);
  const absl::Status called = f.call({x}).status();
  EXPECT_EQ(called.code(), kInvalid);
  EXPECT_THAT(std::string(called.message()), HasSubstr("input x is an invalid tensor"));
  EXPECT_EQ(f.call({kept})->front().ToString(), "f32[2]{1, 0}");
  Trace t("g");
  t.constant(x);
  EXPECT_EQ(t.status().code(), kInvalid);
  EXPECT_THAT(std::string(t.status().message()), HasSubstr("moved from"));
}

TEST(Constants, WithoutMemoryAreRefusedUnlessTheyAreEmpty) {
  for (const Tensor& null : {Tensor::View(nullptr, f32, {4}), Tensor::View(nullptr, f32, {}),
                             Tensor::View(nullptr, f32, {2, 3}, {1, 2})}) {
    Trace t("f");
    t.constant(null);
    EXPECT_EQ(t.status().code(), kInvalid) << t.status();
    EXPECT_THAT(std::string(t.status().message()),
                AllOf(HasSubstr("constant at api_misuse_test.cc"), HasSubstr("null pointer")));
  }
  Trace t("f");
  const Value x = t.input("x", f32, {t.dim("n")});
  const Value none = t.constant(Tensor::View(nullptr, f32, {0}));
  EXPECT_TRUE(t.finish({concat({x, none}, 0)}).ok()) << t.status();
}

// A context of the pool keeps nothing of a size that no call looks at.
TEST(Sizes, OfASymbolThatNothingUsesNeverReachACall) {
  constexpr int64_t kHuge = int64_t{1} << 41;
  for (const std::string facts : {"", ">= 2199023255552", "2199023255552..2199023255552"}) {
    Engine engine({.threads = 1, .background_compiles = false});
    Trace t("f");
    const Dim n = t.dim("n");
    t.dim("u", facts);
    const Function f = *engine.compile(t.finish({relu(t.input("x", f32, {n})) * 2.0}));
    ASSERT_TRUE(f.prepare().ok());
    const Tensor x = F32({3}, {1, -1, 2});
    EXPECT_TRUE(f.call({x}).ok()) << facts;
    const absl::Status prepared = f.prepare({Sizes{{"n", 4}, {"u", kHuge}}});
    EXPECT_TRUE(prepared.ok()) << facts << prepared;
    const auto out = f.call({x});
    ASSERT_TRUE(out.ok()) << facts << out.status();
    EXPECT_EQ(out->front().ToString(), "f32[3]{2, 0, 4}");
  }
}

#if defined(__SSE__)
// Sets the thread's control word, and puts the old one back.
class ControlWord {
 public:
  explicit ControlWord(unsigned word) : before_(_mm_getcsr()) { _mm_setcsr(word); }
  ~ControlWord() { _mm_setcsr(before_); }

 private:
  unsigned before_;
};

constexpr unsigned kFlushToZero = 0x9fc0;  // denormals are zero, going in and coming out
constexpr unsigned kTraps = 0;             // every exception is a signal
constexpr unsigned kRoundUp = 0x5f80;

absl::StatusOr<Program> TraceSmallNumbers() {
  Trace t("small");
  const Value x = t.input("x", f32, {t.dim("n")});
  const Value tiny = t.constant(F32({}, {0x1p-124f})), part = t.constant(F32({}, {0.1875f}));
  return t.finish({x + tiny * part, x + t.scalar(f32, 0x1.8p-130), x * 0.1, x / 3.0});
}

TEST(ControlWord, OfTheThreadThatTracesCompilesOrPreparesChangesNoBit) {
  const auto answer = [](unsigned trace_word, unsigned word) {
    Engine engine({.threads = 2, .background_compiles = false});
    absl::StatusOr<Program> p;
    {
      const ControlWord scope(trace_word);
      p = TraceSmallNumbers();
    }
    absl::StatusOr<Function> f;
    absl::Status prepared;
    {
      const ControlWord scope(word);
      f = engine.compile(std::move(p));
      if (f.ok()) prepared = f->prepare();
      EXPECT_EQ(_mm_getcsr() & ~0x3fu, word);
    }
    EXPECT_TRUE(f.ok() && prepared.ok()) << f.status() << prepared;
    return *f->call({F32({3}, {0, 0x1p-140f, 7})});
  };
  const std::vector<Tensor> wanted = answer(0x1f80, 0x1f80);
  EXPECT_EQ(wanted[0].data<float>()[0], 0.1875f * 0x1p-124f);
  EXPECT_EQ(wanted[1].data<float>()[0], 0x1.8p-130f);
  for (const auto& [trace_word, word] :
       {std::pair{kFlushToZero, kFlushToZero}, {kRoundUp, kRoundUp}, {0x1f80u, kTraps}}) {
    const std::vector<Tensor> found = answer(trace_word, word);
    for (size_t i = 0; i < wanted.size(); ++i) {
      const absl::Status same = ir::SameBits(found[i], wanted[i]);
      EXPECT_TRUE(same.ok()) << std::hex << word << " output " << i << ": " << same;
    }
  }
}

TEST(ControlWord, OfTheThreadThatParsesChangesNoNumber) {
  const std::string text = "x: f32[4]\noutput y = x + 1e-40\noutput z = x * 0.1\n";
  const std::string wanted = Program::parse(text)->to_string();
  for (unsigned word : {kFlushToZero, kRoundUp}) {
    absl::StatusOr<Program> p;
    {
      const ControlWord scope(word);
      p = Program::parse(text);
    }
    ASSERT_TRUE(p.ok()) << p.status();
    EXPECT_EQ(p->to_string(), wanted);
  }
}
#endif

}  // namespace
}  // namespace lathe::whole
