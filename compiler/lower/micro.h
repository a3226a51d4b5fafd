#pragma once
// Micro-kernels: C[rows x nr] (+)= A * B for a few rows in registers. They hold no shape and no
// epilogue, so a dozen serve every product of a process; each is compiled once.
//
// B is a packed panel [k][nr]; with `panels` > 1 neighbouring panels are worked on together, for
// products of so few rows that one panel would leave the FMA units waiting. Products ascend in k
// with fused multiply-add, whatever the tile. Products of bytes give exact i32 sums, four bytes of
// K at a time.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "codegen/kernel/builder.h"
#include "compiler/lower/product_schedule.h"

namespace lathe::compiler {

enum class MicroLhs : uint8_t {
  kRowMajor,     // A[m * lda + k]
  kColumnMajor,  // A[k * lda + m]
  kBytes,        // u8 A[m * lda + k]; B is [ceil(k / 4)][nr] words of four i8, zero-padded; C i32
};

// Owned by an engine; thread-safe.
class MicroKernels {
 public:
  // Buffers a, b, c; sizes lda, ldc, k, accumulate (0: c is written, 1: added to), and with panels
  // > 1 the distance between panels.
  std::shared_ptr<const kernel::Kernel> Get(MicroLhs lhs, int rows, int panels,
                                            const TileShape& tile);

 private:
  std::mutex mutex_;
  std::map<std::tuple<MicroLhs, int, int, int>, std::shared_ptr<const kernel::Kernel>> made_;
};

// One call's operands: buffers with offsets, and the strides.
struct MicroCall {
  MicroLhs lhs = MicroLhs::kRowMajor;
  int a = 0, b = 0, c = 0;
  Dim a_offset, b_offset, c_offset;
  Dim lda, ldc, k, accumulate;
  int panels = 1;
  Dim panel_stride = 0;
};
void EmitMicroCall(kernel::KernelBuilder& b, MicroKernels& micro, const TileShape& tile, int rows,
                   const MicroCall& call);
// The same for a number of rows in 1..tile.max_rows that is known at run time.
void EmitMicroSwitch(kernel::KernelBuilder& b, MicroKernels& micro, const TileShape& tile, Dim rows,
                     int max_rows, const MicroCall& call);

// Splits `count` rows into ceil(count / max_rows) tiles whose sizes differ by at most one, so that
// no tile is left with a row or two; calls body(first row, rows).
void ForEachTile(kernel::KernelBuilder& b, Dim count, int max_rows,
                 const std::function<void(Dim begin, Dim rows)>& body);

}  // namespace lathe::compiler
