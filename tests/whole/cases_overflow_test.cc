// Small cases of sizes that overflow (O), which broke other systems. Reserved, untouched memory
// stands for the big tensors.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "absl/strings/str_cat.h"
#include "ir/compare.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

class Reserved {
 public:
  explicit Reserved(size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserved() {
    if (ok()) munmap(data_, bytes_);
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  bool ok() const { return data_ != MAP_FAILED; }
  void* data() const { return data_; }

 private:
  size_t bytes_;
  void* data_;
};

TEST(Cases, O1_RowsBeyondTwoGigaElements) {
  constexpr int64_t kRows = 262144, kColumns = 8960, kRow = 239674;
  const Reserved memory(kRows * kColumns * sizeof(float));
  if (!memory.ok()) GTEST_SKIP() << "the system doesn't reserve 9 GB";
  float* data = static_cast<float*>(memory.data());
  for (int64_t i = 0; i < kColumns; ++i) data[kRow * kColumns + i] = static_cast<float>(i);
  const Tensor table = Tensor::View(data, f32, {kRows, kColumns});
  Engine engine({.background_compiles = false});
  for (const char* type : {"f32[262144, 8960]", "f32[n, m]"}) {
    const Function f = CompileText(engine, absl::StrCat("dim n, m, k\ntable: ", type,
                                                        "\nids: i64[k]\noutput y = "
                                                        "gather(table, ids, axis=0) + 1\n"));
    const auto out = f.call({table, I64({2}, {kRow, kRow - kRows})});
    ASSERT_TRUE(out.ok()) << out.status();
    for (int64_t i = 0; i < 2 * kColumns; ++i)
      ASSERT_EQ((*out)[0].data<float>()[i], static_cast<float>(i % kColumns + 1)) << i;
  }
}

TEST(Cases, O2_AddressesWithAHugeConstantTerm) {
  Engine engine({.background_compiles = false});
  const Function f = CompileText(engine, R"(
dim n <= 64
x: f32[n]
y = pad(x, low=[2779057358], high=[0], value=0)
output z = y[2779057358:] * 2
)");
  const auto bytes = f.peak_bytes({{"n", 5}});
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  ASSERT_LT(*bytes, 1 << 20) << "the padding is materialised";
  const auto out = f.call({Counted({5})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(ir::SameBits((*out)[0], F32({5}, {0, 2, 4, 6, 8})).ok());
}

TEST(Cases, O3_ProductsBeyondInt32) {
  constexpr int64_t kA = 46342, kB = 46341;
  const Reserved memory(kA * kB * sizeof(float));
  if (!memory.ok()) GTEST_SKIP() << "the system doesn't reserve 9 GB";
  float* data = static_cast<float*>(memory.data());
  for (int64_t i = 0; i < kB; ++i) data[(kA - 1) * kB + i] = 1;
  const Tensor x = Tensor::View(data, f32, {1, kA, kB});
  Engine engine({.background_compiles = false});
  for (const char* type : {"f32[1, 46342, 46341]", "f32[a, b, c]"}) {
    const Function f =
        CompileText(engine, absl::StrCat("dim a, b, c\nx: ", type,
                                         "\noutput y = sum(x[:, 46341:], axes=[1, 2])\n"
                                         "output z = x[0, 46341, 46330:] + 1\n"));
    const auto out = f.call({x});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ((*out)[0].data<float>()[0], static_cast<float>(kB));
    EXPECT_TRUE(ir::SameBits((*out)[1], F32({11}, std::vector<float>(11, 2))).ok());
  }
}

TEST(Cases, O4_TooBigIsRefusedBeforeAnyAllocation) {
  Engine engine({.background_compiles = false});
  for (const char* text : {
           "x: f32[]\noutput y = broadcast(x, shape=[4294967296, 4294967296], axes=[])\n",
           "x: f32[]\noutput y = broadcast(x, shape=[1099511627776], axes=[])\n",
       }) {
    absl::StatusOr<Function> f = engine.compile(Program::parse(text));
    absl::Status s = f.status();
    if (s.ok()) s = f->prepare();
    if (s.ok()) s = f->call({F32({}, {1})}).status();
    EXPECT_FALSE(s.ok()) << text;
  }
  const Function wide = CompileText(
      engine,
      "dim n\nx: f32[n]\noutput y = broadcast(sum(x, axes=[0]), shape=[n*4096, n*4096], "
      "axes=[])\n");
  const int64_t before = engine.counters().live_bytes;
  absl::Status s = wide.call({Tensor(f32, {1 << 20})}).status();
  EXPECT_FALSE(s.ok());
  EXPECT_EQ(s.code(), absl::StatusCode::kOutOfRange) << s;
  const Function huge = CompileText(
      engine,
      "dim n\nx: f32[n]\noutput y = broadcast(sum(x, axes=[0]), shape=[n*1048576], axes=[])\n");
  s = huge.call({Tensor(f32, {1 << 20})}).status();
  EXPECT_EQ(s.code(), absl::StatusCode::kResourceExhausted) << s;
  EXPECT_EQ(engine.counters().live_bytes, before);
  EXPECT_LT(engine.counters().peak_bytes, 1 << 20);
  const auto small = huge.call({Tensor(f32, {1})});
  EXPECT_TRUE(small.ok()) << small.status();
}

TEST(Cases, O4_ASizeAsDataThatOverflows) {
  CheckCase(
      {"n"}, R"(
x: f32[$n]
output y = size(dim=$n*$n*$n*$n*$n + 1) + 0
)",
      {{{3}, {Counted({3})}, {I64({}, {244})}, ""}, {{65536}, {Counted({65536})}, {}, "overflow"}});
}

TEST(Cases, O5_PaddingNearTheEndOfInt64) {
  Engine engine({.background_compiles = false});
  const Function f = CompileText(
      engine,
      "dim n, m\nx: f32[n]\nw: f32[m]\noutput y = sum(pad(x, low=[n*n*n*m], high=[n*n*n*m], "
      "value=0), axes=[0])\n");
  const absl::Status s = f.call({Counted({1 << 20}), Counted({1 << 4})}).status();
  EXPECT_FALSE(s.ok());
  const auto out = f.call({Counted({2}), Counted({1})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)[0].data<float>()[0], 1);
}

// A convolution whose padding is too large to count, or whose positions are in bytes.
TEST(Cases, O5_WindowsNearTheEndOfInt64) {
  for (const char* use : {"v @ constant(f32[3, 1]{1, 1, 1})", "reshape(v, [-1])",
                          "sum(v, axes=[0, 1], keep_dims=true)"}) {
    SCOPED_TRACE(use);
    Engine engine({.background_compiles = false});
    const Function f =
        CompileText(engine, absl::StrCat("dim n, m\nx: f32[n]\nw: f32[m]\n"
                                         "v = windows(x, sizes=[3], steps=[1], dilations=[1], "
                                         "low=[n*n*n*m], high=[n*n*n*m], value=0)\noutput y = ",
                                         use, "\n"));
    const int64_t live = engine.counters().live_bytes;
    // 2^64, 2^62 and 2^60 elements before and behind; the last are summed up without memory.
    for (int64_t m : {16, 4, 1}) {
      if (m == 1 && use[0] == 's') continue;
      EXPECT_FALSE(f.call({Counted({1 << 20}), Counted({m})}).ok()) << m;
    }
    EXPECT_EQ(engine.counters().live_bytes, live);
    const auto out = f.call({Counted({2}, 1), Counted({1})});
    ASSERT_TRUE(out.ok()) << out.status();
    float sum = 0;
    for (int64_t i = 0; i < (*out)[0].num_elements(); ++i) sum += (*out)[0].data<float>()[i];
    EXPECT_EQ(sum, 9);  // three windows hold each element
  }
}

}  // namespace
}  // namespace lathe::whole
