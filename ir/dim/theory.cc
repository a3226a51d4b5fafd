#include "ir/dim/theory.h"

#include <algorithm>
#include <utility>

namespace lathe::dim {
namespace {

// A solved symbol's value is at most this large; larger equalities stay constraints.
constexpr uint32_t kSolvedSize = 48;

uint32_t SizeOf(Dim d) { return d.is_constant() ? 1 : d.node()->tree_size; }

// Divides by the content: e >= 0, e == 0 and e != 0 don't depend on a common factor.
// False if a factor makes the constraint decided; then `*holds` is the decision.
bool DivideContent(Constraint* c, bool* holds) {
  if (c->e.is_constant()) {
    int64_t v = c->e.constant();
    *holds = c->sense == Sense::kEq   ? v == 0
             : c->sense == Sense::kNe ? v != 0
             : c->sense == Sense::kGe ? v >= 0
                                      : std::binary_search(c->set.begin(), c->set.end(), v);
    return false;
  }
  if (c->sense == Sense::kIn) return true;
  LinearForm f = FormOf(c->e);
  int64_t content = Content(f.terms);
  if (content <= 1) return true;
  if (c->sense != Sense::kGe && f.constant % content != 0) {
    *holds = c->sense == Sense::kNe;
    return false;
  }
  for (Term& t : f.terms) t.coef /= content;
  FloorDivConst(f.constant, content, &f.constant);
  c->e = ToDim(c->e.node()->context, f);
  return true;
}

}  // namespace

void Append(Why* to, const Why& from) { to->insert(to->end(), from.begin(), from.end()); }

void Canonicalize(Why* why) {
  std::sort(why->begin(), why->end());
  why->erase(std::unique(why->begin(), why->end()), why->end());
}

LinearForm FormOf(Dim d) {
  Poly p = PolyOf(d);
  return {TermList(p.terms.begin(), p.terms.end()), p.constant};
}

Dim ToDim(DimContext* context, const LinearForm& f) {
  return Interner::Sum(context, f.terms, f.constant);
}

int64_t Content(absl::Span<const Term> terms) {
  int64_t g = 0;
  for (const Term& t : terms) {
    if (t.coef == INT64_MIN) return 1;
    g = Gcd(g, t.coef);
  }
  return g;
}

bool Scale(LinearForm* f, int64_t k) {
  bool overflow = __builtin_mul_overflow(f->constant, k, &f->constant);
  for (Term& t : f->terms) overflow |= __builtin_mul_overflow(t.coef, k, &t.coef);
  return !overflow;
}

bool AddScaled(const LinearForm& x, int64_t k, absl::Span<const Term> y, LinearForm* out) {
  out->constant = x.constant;
  out->terms.clear();
  size_t i = 0, j = 0;
  while (i < x.terms.size() || j < y.size()) {
    int order = i == x.terms.size() ? 1
                : j == y.size()     ? -1
                                    : CompareMono(x.terms[i].mono, y[j].mono);
    if (order < 0) {
      out->terms.push_back(x.terms[i++]);
      continue;
    }
    Term t = {0, y[j].mono};
    if (__builtin_mul_overflow(y[j++].coef, k, &t.coef)) return false;
    if (order == 0 && __builtin_add_overflow(t.coef, x.terms[i++].coef, &t.coef)) return false;
    if (t.coef != 0) out->terms.push_back(t);
  }
  return true;
}

Constraint ToConstraint(const Claim& c) {
  switch (c.relation) {
    case Relation::kEq:
      return {Sense::kEq, c.lhs - c.rhs, {}, {}};
    case Relation::kNe:
      return {Sense::kNe, c.lhs - c.rhs, {}, {}};
    case Relation::kLe:
      return {Sense::kGe, c.rhs - c.lhs, {}, {}};
    case Relation::kLt:
      return {Sense::kGe, c.rhs - c.lhs - Dim(1), {}, {}};
    case Relation::kIn:
      break;
  }
  return {Sense::kIn, c.lhs, c.set, {}};
}

const Known& Theory::Of(SymbolId symbol) const {
  while (symbol >= symbols_.size()) {
    Known& k = symbols_.emplace_back();
    if (!MayBeNegative(static_cast<SymbolId>(symbols_.size() - 1))) k.range.min = 0;
  }
  return symbols_[symbol];
}

const Known* Theory::Of(const Node* n) const {
  if (exprs_.empty()) return nullptr;
  auto it = exprs_.find(n);
  return it == exprs_.end() ? nullptr : &it->second;
}

bool Theory::MayBeNegative(SymbolId symbol) const {
  return std::find(negative_.begin(), negative_.end(), symbol) != negative_.end();
}

void Theory::AllowNegative(SymbolId symbol) {
  if (MayBeNegative(symbol)) return;
  negative_.push_back(symbol);
  symbols_.clear();
}

bool Theory::Fail(const Why& why) {
  conflict_ = why;
  return false;
}

Dim Theory::Resolve(Dim d, Why* why) const {
  if (d.is_constant() || (d.node()->symbols & solved_mask_) == 0) return d;
  bool any = false;
  for (SymbolId s : FreeSymbols(d)) {
    auto it = solved_.find(s);
    if (it == solved_.end()) continue;
    any = true;
    if (why != nullptr) Append(why, it->second.why);
  }
  return any ? Substitute(d, solved_values_, context_) : d;
}

void Theory::Enqueue(size_t i) {
  if (queued_[i] != 0) return;
  queued_[i] = 1;
  queue_.push_back(static_cast<int>(i));
}

void Theory::Index(const Constraint& c, size_t i) {
  for (SymbolId s : FreeSymbols(c.e)) {
    if (constraints_of_.size() <= s) constraints_of_.resize(s + 1);
    ItemLists::List& list = constraints_of_[s];
    if (lists_.Last(list) != static_cast<int>(i)) lists_.Append(&list, static_cast<int>(i));
  }
}

void Theory::Push(Constraint c) {
  Canonicalize(&c.why);
  Index(c, constraints_.size());
  queued_.push_back(0);
  Enqueue(constraints_.size());
  constraints_.push_back(std::move(c));
}

// Invariant: the values of solved symbols are free of solved symbols. False, and nothing is
// changed, if that would take values too large.
bool Theory::SetSolved(SymbolId symbol, Dim value, Why why) {
  if (solved_.contains(symbol)) return false;
  for (SymbolId s : FreeSymbols(value)) {
    if (solved_.contains(s)) return false;
  }
  Canonicalize(&why);
  absl::flat_hash_map<SymbolId, Dim> one = {{symbol, value}};
  std::vector<std::pair<SymbolId, Dim>> replaced;
  for (const auto& [other, solved] : solved_) {
    if (!DependsOn(solved.value, symbol)) continue;
    replaced.emplace_back(other, Substitute(solved.value, one, context_));
    Dim d = replaced.back().second;
    if (!d.ok() || SizeOf(d) > 4 * kSolvedSize) return false;
  }
  for (const auto& [other, d] : replaced) {
    Solved& solved = solved_.at(other);
    solved.value = d;
    Append(&solved.why, why);
    Canonicalize(&solved.why);
    solved_values_[other] = d;
  }
  solved_values_[symbol] = value;
  solved_mask_ |= uint64_t{1} << (symbol % 64);
  solved_[symbol] = {value, std::move(why)};
  return true;
}

// Writes the constraints that speak of a symbol which was just solved without it. What they said of
// it before stays true.
bool Theory::SayAgain(SymbolId solved) {
  if (solved >= constraints_of_.size()) return true;
  std::vector<size_t> all;
  lists_.ForEach(constraints_of_[solved], [&](int i) {
    all.push_back(static_cast<size_t>(i));
    return true;
  });
  for (size_t i : all) {
    Constraint c = constraints_[i];
    if (c.defines >= 0) {
      const Solved& definition = solved_.at(static_cast<SymbolId>(c.defines));
      c.e = context_->SymbolDim(static_cast<SymbolId>(c.defines)) - definition.value;
      c.why = definition.why;
    } else {
      c.e = Resolve(c.e, &c.why);
    }
    if (!c.e.ok()) continue;
    Canonicalize(&c.why);
    bool holds = true;
    if (!DivideContent(&c, &holds)) {
      if (!holds) return Fail(c.why);
      continue;
    }
    Index(c, i);
    constraints_[i] = std::move(c);
    Enqueue(i);
  }
  return true;
}

// Solves e == 0 for a symbol with coefficient 1 or -1: the last one made, so that the first is the
// representative. `*ok` is false on a contradiction.
bool Theory::Solve(const Constraint& c, bool* ok) {
  Poly p = PolyOf(c.e);
  const Term* pivot = nullptr;
  for (const Term& t : p.terms) {
    if (t.mono->kind != NodeKind::kSymbol || (t.coef != 1 && t.coef != -1)) continue;
    if (pivot != nullptr && t.mono->symbol < pivot->mono->symbol) continue;
    bool alone = true;
    for (const Term& o : p.terms) {
      alone &= &o == &t || !DependsOn(Dim(o.mono), t.mono->symbol);
    }
    if (alone) pivot = &t;
  }
  if (pivot == nullptr) return false;
  Dim symbol(pivot->mono);
  Dim rest = c.e - Dim(pivot->coef) * symbol;
  Dim value = pivot->coef == 1 ? -rest : rest;
  if (!value.ok() || SizeOf(value) > kSolvedSize) return false;
  SymbolId id = pivot->mono->symbol;
  if (!SetSolved(id, value, c.why)) return false;
  *ok = SayAgain(id);
  Push({Sense::kEq, symbol - value, {}, c.why, static_cast<int32_t>(id)});
  if (!MayBeNegative(id)) Push({Sense::kGe, value, {}, c.why});
  return true;
}

bool Theory::Integrate(const Constraint& base) {
  Constraint c = base;
  c.e = Resolve(c.e, &c.why);
  if (!c.e.ok()) c = base;
  bool holds = true;
  if (!DivideContent(&c, &holds)) return holds || Fail(c.why);
  bool ok = true;
  if (c.sense == Sense::kEq && Solve(c, &ok)) return ok;
  Push(std::move(c));
  return true;
}

bool Theory::Add(FactId id, const Claim& claim, Why* conflict) {
  Constraint c = ToConstraint(claim);
  c.why = {id};
  int index = static_cast<int>(claims_.size());
  for (Dim d : {claim.lhs, claim.rhs}) {
    for (SymbolId s : FreeSymbols(d)) {
      if (claims_of_.size() <= s) claims_of_.resize(s + 1);
      if (claim_lists_.Last(claims_of_[s]) != index) claim_lists_.Append(&claims_of_[s], index);
    }
  }
  claims_.push_back(claim);
  ids_.push_back(id);
  base_.push_back(c);
  bool ok = Integrate(c) && Propagate();
  if (!ok) *conflict = conflict_;
  return ok;
}

bool Theory::Rebuild(Why* conflict) {
  constraints_.clear();
  symbols_.clear();
  exprs_.clear();
  linears_.clear();
  lists_.clear();
  constraints_of_.clear();
  linears_of_.clear();
  linear_by_hash_.clear();
  solved_.clear();
  solved_values_.clear();
  solved_mask_ = 0;
  queue_.clear();
  queued_.clear();
  touched_.clear();
  bool ok = true;
  for (size_t i = 0; ok && i < base_.size(); ++i) ok = Integrate(base_[i]);
  ok = ok && Propagate();
  if (!ok) *conflict = conflict_;
  return ok;
}

bool Theory::Propagate() {
  size_t budget = 100 + 8 * constraints_.size();
  size_t head = 0;
  for (; head < queue_.size() && budget > 0; ++head, --budget) {
    size_t i = static_cast<size_t>(queue_[head]);
    queued_[i] = 0;
    if (!Narrower(this).Run(constraints_[i])) {
      Canonicalize(&conflict_);
      return false;
    }
  }
  for (; head < queue_.size(); ++head) queued_[static_cast<size_t>(queue_[head])] = 0;
  queue_.clear();
  // A symbol with one value left is solved, too.
  std::sort(touched_.begin(), touched_.end());
  touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  for (SymbolId id : touched_) {
    const Known& k = symbols_[id];
    if (!IsExact(k.range) || solved_.contains(id)) continue;
    Why why = k.why_min;
    Append(&why, k.why_max);
    SetSolved(id, Dim(k.range.min), std::move(why));
  }
  touched_.clear();
  return true;
}

}  // namespace lathe::dim
