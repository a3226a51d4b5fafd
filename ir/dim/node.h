#pragma once
// The interned representation behind Dim. Only ir/dim/*.cc may include this.
//
// A Dim is a polynomial: a sum of terms `coef * mono` and a constant. A mono is an atom (a symbol,
// or an operation that polynomials can't express) or a sorted product of two or more atoms. Nodes
// are interned by structure, so pointers may be compared; their order (CompareMono) is structural
// and doesn't depend on addresses.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ir/dim/context.h"
#include "lathe/dim.h"

namespace lathe::dim {

// Expressions nested deeper are poisoned, which bounds every recursion over a Dim.
inline constexpr int kDepthLimit = 1000;
// Sums of more terms are poisoned.
inline constexpr int kSumLimit = 4096;
// A nest of min or max is flattened, sorted and deduplicated up to this many operands.
inline constexpr int kMinMaxLimit = 16;
// Trees of up to this many nodes are walked without a memo.
inline constexpr uint32_t kSmallTree = 64;

struct Node;

struct Term {
  int64_t coef = 0;
  const Node* mono = nullptr;
};

enum class NodeKind : uint8_t {
  kSymbol,    // symbol
  kFloorDiv,  // a // b; if b is a constant, it is >= 2
  kMod,       // a % b; likewise
  kCeilDiv,   // only with a divisor that isn't constant
  kMin,       // a before b in Compare's order
  kMax,
  kProduct,   // a * b, too large to expand
  kMonomial,  // factors
  kSum,       // terms and constant
  kPoison,    // text: what went wrong
};

struct Node {
  DimContext* context = nullptr;  // null only for poison that has no context
  NodeKind kind = NodeKind::kPoison;
  uint16_t depth = 0;      // nesting of atoms
  uint32_t degree = 1;     // number of factors
  uint32_t tree_size = 1;  // nodes when written as a tree; saturates
  uint64_t hash = 0;
  uint64_t symbols = 0;  // bit id % 64 is set for each symbol inside
  SymbolId symbol = 0;
  int64_t constant = 0;
  Dim a, b;
  std::vector<const Node*> factors;
  std::vector<Term> terms;
  Term self;  // {1, this}
  std::string text;
};

// A Dim seen as a polynomial; valid as long as the Dim's context and, for a constant, forever.
struct Poly {
  absl::Span<const Term> terms;
  int64_t constant = 0;
};

inline Poly PolyOf(const Node* n) {
  if (n->kind == NodeKind::kSum) return {n->terms, n->constant};
  return {absl::Span<const Term>(&n->self, 1), 0};
}

inline Poly PolyOf(Dim d) {
  if (d.is_constant()) return {{}, d.constant()};
  return PolyOf(d.node());
}

inline bool IsPoison(Dim d) { return !d.is_constant() && d.node()->kind == NodeKind::kPoison; }

using TermList = absl::InlinedVector<Term, 8>;

// Order of the terms of a sum: higher degree first, then by the factors.
int CompareMono(const Node* x, const Node* y);

// Builds nodes. All functions give poison instead of failing.
struct Interner {
  static DimContext::Impl* impl(DimContext* c) { return c->impl_.get(); }
  static Dim Poison(DimContext* context, std::string text);
  static Dim Atom(DimContext* context, NodeKind kind, Dim a, Dim b);
  static const Node* Monomial(DimContext* context, absl::Span<const Node* const> sorted_factors);
  // `terms` are sorted by CompareMono, without repeats and zeros.
  static Dim Sum(DimContext* context, absl::Span<const Term> terms, int64_t constant);
};

// If either operand is poisoned, or the two live in different contexts: true and the poison.
// Otherwise `*context` is theirs (null if both are constants).
bool Poisoned(Dim a, Dim b, DimContext** context, Dim* poison);

// The poison for an overflow of `a op b`.
Dim Overflow(DimContext* context, Dim a, const char* op, Dim b);

// Checked floor arithmetic on constants; false on overflow or division by 0.
bool FloorDivConst(int64_t a, int64_t b, int64_t* out);
bool ModConst(int64_t a, int64_t b, int64_t* out);
bool CeilDivConst(int64_t a, int64_t b, int64_t* out);
int64_t Gcd(int64_t a, int64_t b);  // non-negative; of magnitudes below 2^63

// The result of evaluating one operation of the given kind on constants.
bool ApplyConst(NodeKind kind, int64_t a, int64_t b, int64_t* out);

}  // namespace lathe::dim
