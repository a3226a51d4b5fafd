#include "compiler/lower/micro.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lathe::compiler {
namespace {

using kernel::BufferKind;
using kernel::KernelBuilder;
using kernel::Reg;

// FMAs between two tests of the loop's end, so that tiny tiles are not bound by the loop.
constexpr int kMinFmasPerTrip = 16;

// `count` bytes, 1 to 3, as the lowest of a word.
Reg PartialWord(KernelBuilder& b, int buffer, Dim at, Dim count) {
  Reg word = kernel::kNoReg;
  for (int i = 0; i < 3; ++i) {
    const Reg mask = b.Mask(count - i, 1);
    const Reg byte = b.Cast(b.Load(buffer, at + i, 1, 1, mask), i32);
    const Reg there = i == 0 ? byte : b.Bin(kernel::KOp::kShl, byte, b.Int({i32, 1}, 8 * i));
    word = i == 0 ? there : b.Bin(kernel::KOp::kOr, word, there);
  }
  return word;
}

std::shared_ptr<const kernel::Kernel> Build(MicroLhs lhs, int rows, int panels,
                                            const TileShape& tile) {
  const bool bytes = lhs == MicroLhs::kBytes;
  KernelBuilder b(absl::StrCat("micro_", rows, "x", panels * tile.width,
                               bytes                           ? "_bytes"
                               : lhs == MicroLhs::kColumnMajor ? "_t"
                                                               : ""));
  b.SetMicro();
  const Dim lda = b.Size("lda"), ldc = b.Size("ldc"), depth = b.Size("k");
  const Dim accumulate = b.Size("accumulate");
  const Dim panel_stride = panels > 1 ? b.Size("panel_stride") : Dim(0);
  const bool row_major = lhs != MicroLhs::kColumnMajor;
  const Dim a_extent = Max(row_major ? (rows - 1) * lda + depth : (depth - 1) * lda + rows, 0);
  const int width = tile.width;
  const DType type = bytes ? i32 : f32;
  const Dim panel_size = (bytes ? CeilDiv(depth, 4) : depth) * width;
  const int a = b.Buffer("a", bytes ? u8 : f32, BufferKind::kInput, a_extent);
  const int w = b.Buffer("b", type, BufferKind::kInput, (panels - 1) * panel_stride + panel_size);
  const int c = b.Buffer("c", type, BufferKind::kInOut, (rows - 1) * ldc + panels * width);
  const int vectors = width / tile.lanes;

  const Reg zero = b.Float({type, tile.lanes}, 0);
  std::vector<int> acc;
  for (int i = 0; i < rows * panels * vectors; ++i) acc.push_back(b.Var(zero));
  auto c_index = [&](int r, int v) { return r * ldc + v * tile.lanes; };
  const int per_row = panels * vectors;
  b.If(accumulate >= 1, [&] {
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < per_row; ++v)
        b.Set(acc[r * per_row + v], b.Load(c, c_index(r, v), tile.lanes));
  });
  // Of bytes: k counts words.
  auto left = [&](Dim k, int r) {
    const Reg x =
        bytes ? b.LoadWord(a, r * lda + 4 * k) : b.Load(a, row_major ? r * lda + k : k * lda + r);
    return b.Splat(x, tile.lanes);
  };
  auto right = [&](Dim k, int v) {
    const int panel = v / vectors;
    return b.Load(w, panel * panel_stride + k * width + v % vectors * tile.lanes, tile.lanes);
  };
  auto add = [&](int r, int v, Reg x, Reg y) {
    const int var = acc[r * per_row + v];
    const Reg sum = b.Get(var);
    b.Set(var, bytes ? b.Dot4(x, y, sum) : b.Fma(x, y, sum));
  };
  // The side with fewer registers is loaded as a whole, the other one by one and used at once.
  auto step = [&](Dim k) {
    std::vector<Reg> kept;
    if (rows >= per_row) {
      for (int v = 0; v < per_row; ++v) kept.push_back(right(k, v));
      for (int r = 0; r < rows; ++r) {
        const Reg x = left(k, r);
        for (int v = 0; v < per_row; ++v) add(r, v, x, kept[v]);
      }
    } else {
      for (int r = 0; r < rows; ++r) kept.push_back(left(k, r));
      for (int v = 0; v < per_row; ++v) {
        const Reg y = right(k, v);
        for (int r = 0; r < rows; ++r) add(r, v, kept[r], y);
      }
    }
  };
  const int unroll = std::max(1, kMinFmasPerTrip / (rows * per_row));
  const Dim steps = bytes ? FloorDiv(depth, 4) : depth;
  const Dim whole = steps - Mod(steps, unroll);
  b.For("k", 0, whole, unroll, [&](Dim k) {
    for (int u = 0; u < unroll; ++u) step(k + u);
  });
  if (unroll > 1) b.For("k", whole, steps, 1, step);
  if (bytes) {
    // The last word of a row has one to three bytes; B is zero there.
    const Dim rest = Mod(depth, 4);
    b.If(rest >= 1, [&] {
      for (int r = 0; r < rows; ++r) {
        const Reg x = b.Splat(PartialWord(b, a, r * lda + 4 * steps, rest), tile.lanes);
        for (int v = 0; v < per_row; ++v) add(r, v, x, right(steps, v));
      }
    });
  }
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < per_row; ++v) b.Store(c, c_index(r, v), b.Get(acc[r * per_row + v]));
  return b.Finish();
}

}  // namespace

std::shared_ptr<const kernel::Kernel> MicroKernels::Get(MicroLhs lhs, int rows, int panels,
                                                        const TileShape& tile) {
  std::lock_guard lock(mutex_);
  auto& made = made_[{lhs, rows, panels, tile.width}];
  if (made == nullptr) made = Build(lhs, rows, panels, tile);
  return made;
}

void EmitMicroCall(KernelBuilder& b, MicroKernels& micro, const TileShape& tile, int rows,
                   const MicroCall& call) {
  std::vector<Dim> sizes{call.lda, call.ldc, call.k, call.accumulate};
  if (call.panels > 1) sizes.push_back(call.panel_stride);
  b.Call(micro.Get(call.lhs, rows, call.panels, tile),
         {{call.a, call.a_offset}, {call.b, call.b_offset}, {call.c, call.c_offset}},
         std::move(sizes));
}

void EmitMicroSwitch(KernelBuilder& b, MicroKernels& micro, const TileShape& tile, Dim rows,
                     int max_rows, const MicroCall& call) {
  // Binary decision over low..high; the most frequent full tile is asked for first.
  std::function<void(int, int)> choose = [&](int low, int high) {
    if (low == high) return EmitMicroCall(b, micro, tile, low, call);
    const int middle = (low + high) / 2;
    b.If(
        rows <= middle, [&] { choose(low, middle); }, [&] { choose(middle + 1, high); });
  };
  if (max_rows == 1) return choose(1, 1);
  b.If(
      Eq(rows, max_rows), [&] { choose(max_rows, max_rows); }, [&] { choose(1, max_rows - 1); });
}

void ForEachTile(KernelBuilder& b, Dim count, int max_rows,
                 const std::function<void(Dim begin, Dim rows)>& body) {
  const Dim tiles = CeilDiv(count, max_rows);
  const Dim divisor = Max(tiles, 1);
  b.For("tile", 0, tiles, 1, [&](Dim t) {
    const Dim begin = FloorDiv(count * t, divisor);
    body(begin, FloorDiv(count * (t + 1), divisor) - begin);
  });
}

}  // namespace lathe::compiler
