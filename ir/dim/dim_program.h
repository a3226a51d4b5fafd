#pragma once
// A dim program evaluates all sizes of a phase: straight-line byte-code over checked int64, a few
// ns a value, no allocation. Slots 0..inputs-1 are given by the caller, the rest are computed.
//
//   DimProgramBuilder b(&ctx);
//   b.Input(batch); b.Input(seq);            // slots 0 and 1
//   int n = b.Slot(batch * seq * 384);       // shares common subexpressions
//   DimProgram p = b.Build();
//   std::vector<int64_t> slots(p.num_slots()); slots[0] = 2; slots[1] = 7;
//   p.Run(slots.data());                     // slots[n] == 5376
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/dim/context.h"

namespace lathe::dim {

enum class DimOp : uint8_t {
  kConst,
  kAdd,
  kSub,
  kMul,
  kFloorDiv,
  kMod,
  kCeilDiv,
  kMin,
  kMax,
  kEq,
  kNe,
  kLt,
  kLe
};  // comparisons give 0 or 1

struct DimInstr {
  DimOp op;
  int32_t out, a, b;  // slots; kConst: `imm`
  int64_t imm = 0;
};

class DimProgram {
 public:
  int num_slots() const { return num_slots_; }
  int num_inputs() const { return num_inputs_; }
  // Runs all instructions. Returns -1, or the index of the instruction that overflowed or divided
  // by zero; `Explain` then tells what it computes.
  int Run(int64_t* slots) const;
  absl::Status Explain(int instruction, const int64_t* slots) const;
  const std::vector<DimInstr>& instructions() const { return code_; }
  std::string ToString() const;

 private:
  friend class DimProgramBuilder;
  std::vector<DimInstr> code_;
  std::vector<std::string> names_;  // per slot: the expression that it holds
  int num_slots_ = 0, num_inputs_ = 0;
};

class DimProgramBuilder {
 public:
  explicit DimProgramBuilder(DimContext* context) : context_(context) {}
  // Declares the next input slot; all inputs come before the first Slot(). `symbol` is a symbol.
  int Input(Dim symbol);
  // The slot that holds `d`. Every free symbol must be an input: otherwise -1.
  int Slot(Dim d);
  // The slot that holds 0 or 1: whether the claim is true.
  int Slot(const Claim& c);
  DimProgram Build();

 private:
  int Emit(DimOp op, int a, int b, int64_t imm, const std::string& name);
  int SumSlot(Dim d);
  DimContext* context_;
  DimProgram program_;
  absl::flat_hash_map<Dim, int> memo_;
  absl::flat_hash_map<std::tuple<DimOp, int, int, int64_t>, int> emitted_;
};

}  // namespace lathe::dim
