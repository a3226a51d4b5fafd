#pragma once
// The printer of Kernel IR as a class, for those who print a part of a kernel: error texts of the
// verifier and the evaluator. Names are canonical: by order of appearance in the kernel.
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "codegen/kernel/kernel.h"

namespace lathe::kernel {

class Printer {
 public:
  explicit Printer(const Kernel& k);

  std::string PrintKernel();  // with callees
  std::string PrintHeader();  // sizes, buffers, assumptions, tasks, fail texts
  std::string PrintBody();
  std::string PrintStatement(const Stmt& s);  // one line; of blocks the opening line

 private:
  void NameSymbols();
  void Block(const std::vector<Stmt>& block, int depth);
  void Line(const Stmt& s);
  void Let(const Stmt& s);
  void Call(const Stmt& s);
  void Mask(const Stmt& s, bool with_fill);
  void Address(const Stmt& s);
  void Buffer(const BufferDecl& d, int number);
  const std::string& Text(Dim d);
  std::string Text(const Claim& c);
  // Names of what an ill-formed kernel doesn't define come out as "?".
  std::string RegName(Reg r);
  std::string VarName(uint64_t v);
  std::string SymbolName(dim::SymbolId id);

  const Kernel& kernel_;
  dim::DimContext names_;                              // holds the canonical symbols
  absl::flat_hash_map<dim::SymbolId, Dim> canonical_;  // of each of the kernel's symbols
  absl::node_hash_map<Dim, std::string> texts_;        // a text stays where it is
  std::vector<int> reg_names_;                         // by Reg; -1: none yet
  std::vector<int> var_names_;
  std::string out_;
};

}  // namespace lathe::kernel
