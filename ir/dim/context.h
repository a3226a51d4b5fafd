#pragma once
// DimContext: owns and interns the Dims of one program; and what can be done with a Dim that needs
// no facts: take it apart, evaluate, substitute, list its symbols.
//
// Canonical form: a sum of products with int64 coefficients; `//`, `%`, ceildiv, min, max terms are
// atoms; no facts are used ((4*n)//n stays). Terms are ordered, so equal polynomials are the same
// node. A product whose expansion would pass `kTermLimit` terms becomes an opaque atom.
// Thread-compatible: building is for one thread at a time, reading interned Dims for any number.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lathe/dim.h"

namespace lathe::dim {

inline constexpr int kTermLimit = 256;

using SymbolId = uint32_t;  // dense, from 0, in order of creation

class DimContext {
 public:
  DimContext();
  ~DimContext();
  DimContext(const DimContext&) = delete;
  DimContext& operator=(const DimContext&) = delete;

  // The symbol of that name, made when new. Names: [A-Za-z_][A-Za-z0-9_.]*.
  Dim Symbol(std::string_view name);
  // A new symbol; `hint` gets a number appended when it is taken.
  Dim FreshSymbol(std::string_view hint);
  // Null Dim-wise lookup: the symbol's Dim, or NotFound.
  absl::StatusOr<Dim> Find(std::string_view name) const;
  const std::string& SymbolName(SymbolId id) const;
  Dim SymbolDim(SymbolId id) const;
  int num_symbols() const;

 private:
  friend struct Interner;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One level of a Dim, as emitters and printers see it.
enum class ExprKind : uint8_t {
  kConstant,  // value
  kSymbol,    // symbol
  kAdd,       // 2 or more operands (constant last, if any)
  kMul,       // 2 or more operands; a constant coefficient, if not 1, comes first
  kFloorDiv,  // operands[0] // operands[1]
  kMod,
  kCeilDiv,
  kMin,  // 2 operands
  kMax,
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  int64_t value = 0;
  SymbolId symbol = 0;
  std::vector<Dim> operands;
};

Expr Decompose(Dim d);

// If `d` is a single symbol, true and its id.
bool IsSymbol(Dim d, SymbolId* id);

// The context of `d`; null for a constant.
DimContext* ContextOf(Dim d);

// Symbols that occur in `d`, ascending, without repeats.
std::vector<SymbolId> FreeSymbols(Dim d);
bool DependsOn(Dim d, SymbolId symbol);

// Each step is checked: OutOfRange names the operation that overflowed or divided by zero.
// `values` is indexed by SymbolId.
absl::StatusOr<int64_t> Evaluate(Dim d, absl::Span<const int64_t> values);
absl::StatusOr<bool> Evaluate(const Claim& c, absl::Span<const int64_t> values);

// Simultaneous substitution; symbols without an entry stay. The result lives in `target`, which may
// be another context (then every symbol that stays is looked up or made there by name).
Dim Substitute(Dim d, const absl::flat_hash_map<SymbolId, Dim>& map, DimContext* target);
Claim Substitute(const Claim& c, const absl::flat_hash_map<SymbolId, Dim>& map, DimContext* target);

// `d` with 1 in place of every divisor that is 0: it has a value wherever it doesn't overflow.
Dim WithoutZeroDivisors(Dim d);

// If d == coefficient * symbol + rest with neither depending on the symbol: true.
bool SplitAffine(Dim d, SymbolId symbol, Dim* coefficient, Dim* rest);

// Total order that doesn't depend on addresses, for canonical output.
int Compare(Dim a, Dim b);

}  // namespace lathe::dim
