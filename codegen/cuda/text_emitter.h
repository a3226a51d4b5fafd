#pragma once
// TextEmitter: prints one kernel. Its parts: cuda_text.cc (signature, task loop), text_dims.cc
// (index arithmetic), text_ops.cc (registers), text_statements.cc (memory and control flow).
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "codegen/cuda/hazards.h"
#include "codegen/kernel/index_facts.h"
#include "codegen/kernel/kernel.h"

namespace lathe::cuda {

// The C type of an element in a register and in memory.
std::string RegisterType(DType t);
std::string MemoryType(DType t);

// Names (s: sizes, b: buffers, r: registers, v: variables, i: loops and bound symbols, d: index
// expressions) are given in order of appearance, so they don't depend on the numbers in the kernel.
class TextEmitter {
 public:
  explicit TextEmitter(const kernel::Kernel& k);

  // The whole text; or why it can't be had.
  absl::StatusOr<std::string> Run(const std::string& name);

 private:
  // cuda_text.cc
  absl::Status Check(const std::vector<kernel::Stmt>& block) const;
  void Tables(const std::string& name);
  void Signature(const std::string& name);
  void ScratchParts();

  // text_dims.cc
  // A name or literal, and whether it is a lathe_i32 (a lathe_i64 otherwise).
  struct Index {
    std::string text;
    bool is_narrow = false;
  };
  Index Value(Dim d);                        // prints what it needs first
  std::string Value(Dim d, bool as_narrow);  // converted, if it is of the other type
  std::string Text(Dim d) { return Value(d).text; }
  std::string Compute(const dim::Expr& e, bool is_narrow);
  std::string Condition(const Claim& c);
  bool IsNarrow(const dim::Expr& e) const;
  bool IsNarrow(Dim index, Dim stride) const;  // index + lane * stride
  bool IsNarrow(const kernel::Stmt& loop) const;
  void Bind(dim::SymbolId symbol, Index index) { symbols_[symbol] = std::move(index); }

  // text_ops.cc
  void Let(const kernel::Stmt& s);
  std::string Expression(const kernel::Stmt& s);
  std::string Call(const std::string& function, const kernel::Stmt& s) const;
  std::string Constant(kernel::KType type, uint64_t bits) const;

  // text_statements.cc
  void Block(const std::vector<kernel::Stmt>& block);
  void Statement(const kernel::Stmt& s);
  void For(const kernel::Stmt& s);
  void Branch(const std::string& condition, const kernel::Stmt& s);
  void Store(const kernel::Stmt& s);
  void Fail(const kernel::Stmt& s);
  std::string Load(const kernel::Stmt& s);
  std::string Element(const kernel::Stmt& s);  // buffer[index], of this thread's lane
  std::string FromMemory(const kernel::BufferDecl& b, const std::string& element) const;

  // Braces, with the names that end there.
  void Open(const std::string& head);
  void Close();
  template <typename... Parts>
  void Line(const Parts&... parts) {
    absl::StrAppend(&out_, std::string(2 * depth_, ' '), parts..., "\n");
  }
  const std::string& reg(kernel::Reg r) const { return regs_[r]; }
  std::string Fresh(char kind) { return absl::StrCat(std::string(1, kind), next_[kind]++); }

  const kernel::Kernel& kernel_;
  Hazards hazards_;
  std::string out_;
  size_t depth_ = 0;
  std::vector<std::string> buffers_, vars_;
  std::vector<std::string> regs_;
  std::vector<kernel::KType> types_;  // of registers
  absl::flat_hash_map<dim::SymbolId, Index> symbols_;
  absl::flat_hash_map<Dim, Index> dims_;       // that are in scope
  std::vector<std::vector<Dim>> opened_dims_;  // by open brace
  kernel::IndexFacts facts_;                   // of the loops around
  absl::flat_hash_map<char, int> next_;        // numbers of names, by kind
};

}  // namespace lathe::cuda
