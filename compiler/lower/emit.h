#pragma once
// ElementEmitter: the value of an element, or of a vector of neighbouring elements, as Kernel IR.
// It follows views by substitution of coordinates, computes what has no buffer, and loads what has
// one.
//
//   ElementEmitter e(scope, VectorAxis{symbol of j, 32, mask});
//   Reg r = e.Emit(v, {i, j});     // lanes j, j+1, ..; scalar if nothing depends on j
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/lower/scope.h"

namespace lathe::compiler {

// Which symbol of the coordinates runs along the lanes; a coordinate holds the symbol's value at
// lane 0.
struct VectorAxis {
  dim::SymbolId symbol = 0;
  int lanes = 1;                      // 1: everything is scalar and the symbol is not looked at
  kernel::Reg mask = kernel::kNoReg;  // lanes that exist; kNoReg: all do. Lane 0 always exists.
  Dim count = 0;                      // with a mask: how many lanes exist
};

class ElementEmitter {
 public:
  ElementEmitter(KernelScope& scope, VectorAxis axis) : scope_(scope), axis_(axis) { Open(); }

  // The element at `coords` (in the kernel's context); lanes() lanes or scalar.
  kernel::Reg Emit(ir::ValueId v, const Coords& coords);
  // The same, computed even if `v` has a buffer (the group that writes it).
  kernel::Reg Compute(ir::ValueId v, const Coords& coords);
  // Within the current block `v` is this register, whatever the coordinates.
  void Define(ir::ValueId v, kernel::Reg r) { blocks_.back().defined[v] = r; }
  // Within the current block the element of `v` at `coords` is this register.
  void Remember(ir::ValueId v, const Coords& coords, kernel::Reg r) {
    blocks_.back().memo[{v, predicate_, coords}] = r;
  }
  // An element op on registers that are there already.
  kernel::Reg Apply(ir::ValueId v, std::vector<kernel::Reg> operands);

  // Brackets every body of a For or If that is built meanwhile: its registers end with it.
  void Open() { blocks_.emplace_back(); }
  void Close() { blocks_.pop_back(); }

  // Loads buffer element `flat`, along the lanes if it depends on the vector symbol.
  kernel::Reg LoadAt(int buffer, Dim flat);
  // Stores lanes at `flat`, masked; a scalar is splat.
  void StoreAt(int buffer, Dim flat, kernel::Reg value);
  // The value of a Dim along the lanes; scalar if it doesn't depend on the vector symbol. i32 is
  // right where KernelScope::FitsI32 says so.
  kernel::Reg DimValue(Dim d, DType type = DType::kI64);
  // Attention's score of the query at `coords` and a key as the mask and causality leave it: -inf
  // if the key is hidden.
  kernel::Reg VisibleScore(const ir::Node& attention, const Coords& coords, Dim key,
                           kernel::Reg score);

 private:
  struct Key {
    ir::ValueId value;
    kernel::Reg mask;
    Coords coords;
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Key& k) {
      return H::combine(std::move(h), k.value, k.mask, k.coords);
    }
  };
  struct BlockScope {
    absl::flat_hash_map<Key, kernel::Reg> memo;
    absl::flat_hash_map<ir::ValueId, kernel::Reg> defined;
  };

  kernel::Reg EmitScalarConstant(const ir::Node& n);
  kernel::Reg EmitPad(const ir::Node& n, const Coords& coords);
  kernel::Reg EmitWindows(ir::ValueId v, const Coords& coords);
  kernel::Reg EmitConcat(const ir::Node& n, const Coords& coords);
  kernel::Reg EmitGather(ir::ValueId v, const Coords& coords);
  // An index (i64) into `extent` elements, counted from the start; code that fails if it is out of
  // range.
  kernel::Reg EmitCheckedIndex(const std::string& op, ir::ValueId indices,
                               const Coords& index_coords, Dim extent);
  void EmitIndexFailure(const std::string& text, ir::ValueId indices, const Coords& index_coords,
                        Dim extent, kernel::Reg bad, kernel::Reg index);
  kernel::Reg EmitMatMul(const ir::Node& n, const Coords& coords);
  kernel::Reg EmitAttention(const ir::Node& n, const Coords& coords);
  kernel::Reg EmitReduction(ir::ValueId v, const Coords& coords);
  kernel::Reg EmitSegmentReduction(const ir::Node& n, const Coords& coords);
  kernel::Reg EmitToPadded(const ir::Node& n, const Coords& coords);
  kernel::Reg EmitArgExtremum(const ir::Node& n, const Coords& coords);
  // `v` at `coords`, touching memory only where `condition` (bool; kNoReg: everywhere) holds.
  kernel::Reg EmitWhere(kernel::Reg condition, ir::ValueId v, const Coords& coords);
  kernel::Reg And(kernel::Reg a, kernel::Reg b);  // kNoReg: true
  kernel::Reg SomeLane();  // the predicate of a scalar: that of any lane that exists
  kernel::Reg Compare(kernel::KOp op, Dim d, Dim bound);
  // The same with bounds that don't vary; lane numbers are compared instead where that serves.
  kernel::Reg AtLeast(Dim d, Dim bound);
  kernel::Reg Below(Dim d, Dim bound);
  // Whether 0 <= d < extent for all lanes that exist, as a scalar; kNoReg where a mask serves
  // better.
  kernel::Reg AllInside(Dim d, Dim extent, DType dtype);
  bool Varies(Dim d) const { return axis_.lanes > 1 && dim::DependsOn(d, axis_.symbol); }
  bool Varies(const Coords& coords) const;
  // By how much `d` grows from lane to lane, if that is a number above 0; otherwise 0.
  int64_t LaneStep(Dim d) const;
  kernel::KernelBuilder& b() { return scope_.b(); }
  const ir::Graph& graph() const { return scope_.graph(); }

  KernelScope& scope_;
  VectorAxis axis_;
  // A predicate from pad or concat around the current value: loads must not touch memory where it
  // is false. Vector or scalar bool; kNoReg: none.
  kernel::Reg predicate_ = kernel::kNoReg;
  std::vector<BlockScope> blocks_;
};

// What an attention row holds that sees nothing: 0, or with `nan` NaN unless there are no keys.
kernel::Reg EmptyAttentionRow(kernel::KernelBuilder& b, kernel::KType type, bool nan, Dim keys);

}  // namespace lathe::compiler
