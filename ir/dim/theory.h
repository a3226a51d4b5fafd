#pragma once
// Theory: what follows from a list of claims, kept as interval x congruence x finite set for
// symbols, monos and primitive sums, and as solved equalities. FactSet owns one for the facts that
// may be used. Internal to ir/dim.
//
// Files: theory.cc (adding, the fixed point), theory_probe.cc (forward: from parts to the whole),
// theory_narrow.cc (backward: from the whole to the parts).
//
// Everything here is sound and bounded: running out of steps loses knowledge, never truth. A bound
// on an expression holds wherever the expression is defined.
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ir/dim/congruence.h"
#include "ir/dim/facts.h"
#include "ir/dim/interval.h"
#include "ir/dim/item_lists.h"
#include "ir/dim/node.h"

namespace lathe::dim {

using Why = std::vector<FactId>;  // reasons, in any order and with repeats until Canonicalize

void Append(Why* to, const Why& from);
void Canonicalize(Why* why);

inline constexpr size_t kSetLimit = 64;

// What is known of one symbol, mono or primitive sum.
struct Known {
  Interval range;
  Congruence congruence;
  std::vector<int64_t> set;  // sorted; empty: no finite set is known
  Why why_min, why_max, why_congruence, why_set;
};

// A sum in the making; unlike a Dim it isn't interned.
struct LinearForm {
  TermList terms;
  int64_t constant = 0;
};

LinearForm FormOf(Dim d);
Dim ToDim(DimContext* context, const LinearForm& f);
// x + k * y without y's constant; false on overflow.
bool AddScaled(const LinearForm& x, int64_t k, absl::Span<const Term> y, LinearForm* out);
bool Scale(LinearForm* f, int64_t k);
// gcd of the coefficients; 0 without terms.
int64_t Content(absl::Span<const Term> terms);

// What is known of a primitive sum (content 1, first coefficient > 0) of two or more terms.
struct Linear {
  TermList terms;
  Known known;
};

enum class Sense : uint8_t { kEq, kNe, kGe, kIn };  // e == 0, e != 0, e >= 0, e in set

struct Constraint {
  Sense sense = Sense::kEq;
  Dim e;
  std::vector<int64_t> set;  // kIn
  Why why;
  // The symbol that this equation defines, if it does: it is solved and only here.
  int32_t defines = -1;
};

// The claim as a constraint on one Dim; that Dim is poisoned if the difference overflows.
Constraint ToConstraint(const Claim& c);

struct Solved {
  Dim value;
  Why why;
};

class Theory {
 public:
  explicit Theory(DimContext* context) : context_(context) {}

  // False if the claim contradicts the others (as far as propagation sees); then `conflict` gets
  // reasons, `id` among them, and the theory must be discarded.
  bool Add(FactId id, const Claim& claim, Why* conflict);
  // Lifts the implicit `symbol >= 0`. Before any fact, or followed by Rebuild.
  void AllowNegative(SymbolId symbol);
  bool MayBeNegative(SymbolId symbol) const;
  bool Rebuild(Why* conflict);

  DimContext* context() const { return context_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  const std::vector<Claim>& claims() const { return claims_; }  // as added
  const std::vector<FactId>& ids() const { return ids_; }       // of the claims
  // The claims as constraints, one each.
  const std::vector<Constraint>& claim_constraints() const { return base_; }
  const std::vector<Linear>& linears() const { return linears_; }
  // Calls `f(linear)` for known sums with the mono until it returns false; not for all of very
  // many.
  template <typename F>
  void ForEachLinear(const Node* mono, F f) const {
    auto it = linears_of_.find(mono);
    if (it == linears_of_.end()) return;
    int left = kLinearsOfMono;
    lists_.ForEach(it->second,
                   [&](int i) { return left-- > 0 && f(linears_[static_cast<size_t>(i)]); });
  }
  // Calls `f(index)` for the claims that speak of the symbol until it returns false.
  template <typename F>
  void ForEachClaim(SymbolId symbol, F f) const {
    if (symbol < claims_of_.size()) claim_lists_.ForEach(claims_of_[symbol], f);
  }
  const Known& Of(SymbolId symbol) const;
  const Known* Of(const Node* n) const;  // null if nothing is stored

  // Symbols that equal an expression over other symbols, or one number.
  const absl::flat_hash_map<SymbolId, Dim>& solved() const { return solved_values_; }
  bool IsSolved(SymbolId s) const { return solved_values_.contains(s); }
  // `d` without solved symbols.
  Dim Resolve(Dim d, Why* why) const;

 private:
  friend class Narrower;
  static constexpr int kLinearsOfMono = 48;

  bool Integrate(const Constraint& base);
  bool Solve(const Constraint& c, bool* ok);
  bool SetSolved(SymbolId symbol, Dim value, Why why);
  void Push(Constraint c);
  void Index(const Constraint& c, size_t i);
  void Enqueue(size_t i);
  bool SayAgain(SymbolId solved);
  bool Propagate();
  bool Fail(const Why& why);

  DimContext* context_;
  std::vector<Claim> claims_;
  std::vector<FactId> ids_;
  std::vector<Constraint> base_;         // the claims, as constraints
  std::vector<Constraint> constraints_;  // resolved, and the equations that define solved symbols
  mutable std::vector<Known> symbols_;
  std::vector<SymbolId> negative_;
  absl::flat_hash_map<const Node*, Known> exprs_;
  std::vector<Linear> linears_;
  // By symbol or mono: the constraints and known sums in which it occurs; by symbol: the claims.
  ItemLists lists_, claim_lists_;
  std::vector<ItemLists::List> constraints_of_, claims_of_;
  absl::flat_hash_map<const Node*, ItemLists::List> linears_of_;
  absl::flat_hash_map<uint64_t, int> linear_by_hash_;
  absl::flat_hash_map<SymbolId, Solved> solved_;
  absl::flat_hash_map<SymbolId, Dim> solved_values_;
  uint64_t solved_mask_ = 0;
  std::vector<uint8_t> queued_;
  std::vector<int> queue_;
  std::vector<SymbolId> touched_;  // symbols whose range changed since the last fixed point
  Why conflict_;
};

// Bounds of expressions, bottom up. One object serves one question: it collects the reasons of all
// that it consulted and remembers shared parts.
class Probe {
 public:
  enum Need : uint8_t { kLow = 1, kHigh = 2, kBoth = 3 };

  // A known sum is used on a sum, another one on what then remains, and so on.
  static constexpr int kNesting = 2, kDeepNesting = 4;

  // `why` may be null.
  Probe(const Theory& theory, Why* why, int nesting = kNesting)
      : theory_(theory), why_(why), nesting_(nesting) {}

  Interval Range(Dim d, Need need = kBoth);
  Interval Range(const LinearForm& f, Need need = kBoth);
  Interval Mono(const Node* n, Need need = kBoth);
  Congruence CongruenceOf(Dim d);
  Congruence CongruenceOf(absl::Span<const Term> terms, int64_t constant);
  Congruence MonoCongruence(const Node* n);

 private:
  Interval Structure(const Node* n);
  Interval Remainder(const Node* n);
  Interval Terms(absl::Span<const Term> terms, int64_t constant, Need need);
  void ImproveByLinear(const Linear& linear, const LinearForm& f, Need need, Interval* range,
                       Why* why);
  void Note(const Why& why) {
    if (why_ != nullptr) Append(why_, why);
  }

  const Theory& theory_;
  Why* why_;
  int nesting_;
  int nested_ = 0;          // known sums in use
  int linear_steps_ = 200;  // tries of known sums left
  struct Remembered {
    Interval range;
    Why why;
  };
  struct RememberedCongruence {
    Congruence congruence;
    Why why;
  };
  absl::flat_hash_map<const Node*, Remembered> memo_;
  absl::flat_hash_map<const Node*, RememberedCongruence> congruence_memo_;
};

// Pushes a bound on an expression down to its parts. Returns false on a contradiction, whose
// reasons it leaves in the theory.
class Narrower {
 public:
  explicit Narrower(Theory* theory) : t_(*theory) {}

  bool Run(const Constraint& c);

 private:
  bool Range(Dim d, Interval target, const Why& why);
  bool Residue(Dim d, Congruence target, const Why& why);
  bool Members(const Constraint& c);
  bool Differs(const Constraint& c);
  bool StoreLinear(const LinearForm& f, Interval target, Congruence congruence, const Why& why);
  bool Mono(const Node* n, Interval target, const Why& why);
  bool MonoResidue(const Node* n, Congruence target, const Why& why);
  bool MonoSet(const Node* n, std::vector<int64_t> set, const Why& why);
  bool Store(const Node* n, Known* k);
  bool Into(const Node* n, Interval target, const Why& why);
  bool IntoProduct(absl::Span<const Dim> factors, Interval target, const Why& why);
  bool IntoDivision(const Node* n, Interval target, const Why& why);
  bool IntoMinMax(const Node* n, Interval target, const Why& why);
  Known& Slot(const Node* n);
  void Changed(const Node* n);
  bool Spend() { return steps_-- > 0; }

  Theory& t_;
  int steps_ = 400;
};

}  // namespace lathe::dim
