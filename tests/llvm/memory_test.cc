// Loads, stores and gathers touch exactly what they name: contiguous, splat, reversed, strided and
// gathered, masked and not, for every size of the tail, next to inaccessible pages.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/llvm/harness.h"

namespace lathe::llvm_target {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::kNoReg;
using kernel::KOp;
using kernel::Reg;

constexpr DType kTypes[] = {DType::kBool, DType::kI32, DType::kI64, DType::kF32,
                            DType::kF64,  DType::kU8,  DType::kF16};
constexpr int64_t kSizes[] = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65};

TestBuffer Numbers(DType t, int64_t n) {
  std::vector<uint64_t> bits;
  const std::vector<uint64_t> special = SpecialValues(t);
  for (int64_t i = 0; i < n; ++i) bits.push_back(special[(i * 5 + 1) % special.size()]);
  return TestBuffer::OfBits(t, bits);
}

uint64_t One(DType t) { return SpecialValues(t)[t == DType::kBool ? 1 : 2]; }

class MemoryTest : public ::testing::TestWithParam<std::tuple<DType, int>> {};

TEST_P(MemoryTest, MaskedTail) {
  const auto [t, lanes] = GetParam();
  KernelBuilder b("tail");
  const Dim n = b.Size("n");
  const int x = b.Buffer("x", t, BufferKind::kInput, n);
  const int y = b.Buffer("y", t, BufferKind::kOutput, n);
  const int filled = b.Buffer("filled", t, BufferKind::kOutput, CeilDiv(n, lanes) * lanes);
  b.Tasks(CeilDiv(n, lanes));
  const Dim at = b.task() * lanes;
  const Reg m = b.Mask(n - at, lanes);
  const Reg v = b.Load(x, at, lanes, 1, m, One(t));
  b.Store(y, at, v, 1, m);
  b.Store(filled, at, v);
  Agreement agreement(b.Finish());
  for (int64_t size : kSizes) {
    const int64_t tasks = (size + lanes - 1) / lanes;
    agreement.Check(
        {Numbers(t, size), TestBuffer::Canaries(t, size), TestBuffer::Canaries(t, tasks * lanes)},
        {size}, tasks, absl::StrCat("n = ", size));
  }
}

// Masks that are no prefix.
TEST_P(MemoryTest, MaskedByData) {
  const auto [t, lanes] = GetParam();
  KernelBuilder b("holes");
  const int m = b.Buffer("m", DType::kBool, BufferKind::kInput, lanes);
  const int x = b.Buffer("x", t, BufferKind::kInput, lanes);
  const int y = b.Buffer("y", t, BufferKind::kOutput, lanes);
  const int z = b.Buffer("z", t, BufferKind::kOutput, lanes);
  const Reg mask = b.Load(m, 0, lanes);
  b.Store(y, 0, b.Load(x, 0, lanes, 1, mask, One(t)));
  b.Store(z, 0, b.Load(x, 0, lanes), 1, mask);
  Agreement agreement(b.Finish());
  for (unsigned pattern : {0u, 1u, 0x80000001u, 0xaaaaaaaau, 0x0ff00ff1u, 0xffffffffu}) {
    std::vector<uint64_t> bits;
    for (int l = 0; l < lanes; ++l) bits.push_back(pattern >> l % 32 & 1);
    agreement.Check({TestBuffer::OfBits(DType::kBool, bits), Numbers(t, lanes),
                     TestBuffer::Canaries(t, lanes), TestBuffer::Canaries(t, lanes)},
                    {}, 1, absl::StrCat("pattern ", pattern));
  }
}

// Strides 1, 0, -1, 2, -3 as constants and as a size, masked and not.
TEST_P(MemoryTest, Strided) {
  const auto [t, lanes] = GetParam();
  for (int64_t stride : {1, 0, -1, 2, -3}) {
    for (bool constant : {true, false}) {
      for (bool masked : {true, false}) {
        KernelBuilder b("strided");
        const Dim n = b.Size("n"), s = b.Size("stride"), first = b.Size("first");
        const Dim used = constant ? Dim(stride) : s;
        const int x = b.Buffer("x", t, BufferKind::kInput, n);
        const int y = b.Buffer("y", t, BufferKind::kOutput, lanes);
        const int z = b.Buffer("z", t, BufferKind::kOutput, n);
        const Dim active = b.Size("active");
        const Reg m = masked ? b.Mask(active, lanes) : kNoReg;
        const Reg v = b.Load(x, first, lanes, used, m, masked ? One(t) : 0);
        b.Store(y, 0, v);
        b.Store(z, first, v, used, m);
        Agreement agreement(b.Finish());
        for (int64_t count : {0, 1, lanes / 2 + 1, lanes}) {
          if (!masked && count != lanes) continue;
          const int64_t extent = count == 0 ? 0 : std::abs(stride) * (count - 1) + 1;
          const int64_t begin = stride < 0 && extent > 0 ? extent - 1 : 0;
          agreement.Check(
              {Numbers(t, extent), TestBuffer::Canaries(t, lanes), TestBuffer::Canaries(t, extent)},
              {extent, stride, begin, count}, 1,
              absl::StrCat("stride ", stride, constant ? " constant" : " dynamic",
                           masked ? " masked " : " ", count));
        }
      }
    }
  }
}

void CheckGather(DType t, int lanes, DType index_type) {
  KernelBuilder b("gather");
  const Dim n = b.Size("n"), active = b.Size("active");
  const int i = b.Buffer("i", index_type, BufferKind::kInput, lanes);
  const int x = b.Buffer("x", t, BufferKind::kInput, n);
  const int y = b.Buffer("y", t, BufferKind::kOutput, lanes);
  const Reg index = b.Load(i, 0, lanes);
  b.Store(y, 0, b.Gather(x, index, b.Mask(active, lanes), One(t)));
  b.If(Eq(active, Dim(lanes)), [&] { b.Store(y, 0, b.Gather(x, index)); });
  Agreement agreement(b.Finish());
  for (int64_t count : {0, 1, lanes / 2, lanes}) {
    const int64_t extent = count == 0 ? 0 : 17;
    std::vector<uint64_t> indices;
    for (int l = 0; l < lanes; ++l) {
      const int64_t far = index_type == i64 ? int64_t{1} << 60 : int64_t{1} << 30;
      indices.push_back(static_cast<uint64_t>(l < count ? (l * 7 + 3) % 17 : far));
    }
    agreement.Check({TestBuffer::OfBits(index_type, indices), Numbers(t, extent),
                     TestBuffer::Canaries(t, lanes)},
                    {extent, count}, 1, absl::StrCat(count, " lanes"));
  }
}

TEST_P(MemoryTest, Gathered) {
  const auto [t, lanes] = GetParam();
  for (const DType index_type : {i64, i32}) CheckGather(t, lanes, index_type);
}

INSTANTIATE_TEST_SUITE_P(
    All, MemoryTest, ::testing::Combine(::testing::ValuesIn(kTypes), ::testing::Values(1, 8, 32)),
    [](const auto& test) {
      return absl::StrCat(Name(std::get<0>(test.param)), "x", std::get<1>(test.param));
    });

TEST(Memory, InPlaceStoresFollowLoadsOfTheSameBuffer) {
  // Each half is read from where the other has been written: part-by-part order would be wrong.
  KernelBuilder b("shift");
  const int x = b.Buffer("x", f32, BufferKind::kInOut, 96);
  const Reg v = b.Load(x, 0, 32);
  b.Store(x, 16, v);
  const Reg w = b.Load(x, 8, 32);
  b.Store(x, 48, b.Bin(KOp::kAdd, w, v));
  b.Store(x, 56, b.Bin(KOp::kMul, w, v));
  std::vector<float> values(96);
  for (int i = 0; i < 96; ++i) values[i] = static_cast<float>(i + 1);
  Agreement(b.Finish()).Check({TestBuffer::Of(f32, values)}, {}, 1, "shift");
}

TEST(Memory, TablesAndWorkerScratch) {
  KernelBuilder b("table");
  const Dim n = b.Size("n");
  const int t = b.Table("t", f32, {0x3f800000, 0x40000000, 0x40400000, 0x40800000});
  const int s = b.Buffer("s", f32, BufferKind::kWorkerScratch, n);
  const int y = b.Buffer("y", f32, BufferKind::kOutput, n * 2);
  b.Tasks(2);
  const Reg four = b.Load(t, 0, 4);
  b.For("i", 0, FloorDiv(n, 4), 1, [&](Dim i) { b.Store(s, i * 4, four); });
  b.For("i", 0, n, 1, [&](Dim i) {
    const Reg factor = b.Cast(b.Index(b.task() + 1), f32);
    b.Store(y, b.task() * n + i, b.Bin(KOp::kMul, b.Load(s, i), factor));
  });
  Agreement(b.Finish())
      .Check({TestBuffer::Canaries(f32, 8), TestBuffer::Canaries(f32, 16)}, {8}, 2, "table");
}

// Four bytes at every offset, next to inaccessible pages.
TEST(LoadWord, ReadsItsFourBytesAlone) {
  for (DType t : {u8, i8}) {
    KernelBuilder b("word");
    const Dim n = b.Size("n");
    const int x = b.Buffer("x", t, BufferKind::kInput, n);
    const int y = b.Buffer("y", i32, BufferKind::kOutput, n - 3);
    b.Tasks(n - 3);
    b.Store(y, b.task(), b.LoadWord(x, b.task()));
    Agreement agreement(b.Finish());
    for (int64_t size : {4, 5, 6, 7, 8, 33})
      agreement.Check({Numbers(t, size), TestBuffer::Canaries(i32, size - 3)}, {size}, size - 3,
                      absl::StrCat("n = ", size));
  }
}

}  // namespace
}  // namespace lathe::llvm_target
