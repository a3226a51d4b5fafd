// Dim's own methods, claims, and taking a Dim apart.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "ir/dim/node.h"

namespace lathe {

bool Dim::ok() const { return !dim::IsPoison(*this); }

absl::Status Dim::status() const {
  if (ok()) return absl::OkStatus();
  return absl::OutOfRangeError(node_->text);
}

Claim Eq(Dim a, Dim b) { return {Relation::kEq, a, b, {}}; }
Claim Ne(Dim a, Dim b) { return {Relation::kNe, a, b, {}}; }
Claim operator<(Dim a, Dim b) { return {Relation::kLt, a, b, {}}; }
Claim operator<=(Dim a, Dim b) { return {Relation::kLe, a, b, {}}; }
Claim operator>(Dim a, Dim b) { return {Relation::kLt, b, a, {}}; }
Claim operator>=(Dim a, Dim b) { return {Relation::kLe, b, a, {}}; }

Claim In(Dim a, std::vector<int64_t> set) {
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return {Relation::kIn, a, Dim(), std::move(set)};
}

Claim Not(const Claim& c) {
  switch (c.relation) {
    case Relation::kEq:
      return Ne(c.lhs, c.rhs);
    case Relation::kNe:
      return Eq(c.lhs, c.rhs);
    case Relation::kLt:
      return c.rhs <= c.lhs;
    case Relation::kLe:
      return c.rhs < c.lhs;
    case Relation::kIn:
      return In(c.lhs, {});
  }
  return In(c.lhs, {});
}

namespace dim {
namespace {

void AppendFactors(const Node* mono, std::vector<Dim>* out) {
  if (mono->kind != NodeKind::kMonomial) {
    out->push_back(Dim(mono));
    return;
  }
  for (const Node* f : mono->factors) out->push_back(Dim(f));
}

class SymbolWalk {
 public:
  explicit SymbolWalk(std::vector<SymbolId>* out) : out_(out) {}

  void Visit(Dim d) {
    if (!d.is_constant()) Visit(d.node());
  }

  void Visit(const Node* n) {
    if (n->symbols == 0 || !seen_.insert(n).second) return;
    if (n->kind == NodeKind::kSymbol) out_->push_back(n->symbol);
    for (const Term& t : n->terms) Visit(t.mono);
    for (const Node* f : n->factors) Visit(f);
    Visit(n->a);
    Visit(n->b);
  }

 private:
  std::vector<SymbolId>* out_;
  absl::flat_hash_set<const Node*> seen_;
};

}  // namespace

Expr Decompose(Dim d) {
  Expr e;
  if (d.is_constant()) {
    e.value = d.constant();
    return e;
  }
  const Node* n = d.node();
  switch (n->kind) {
    case NodeKind::kSymbol:
      e.kind = ExprKind::kSymbol;
      e.symbol = n->symbol;
      return e;
    case NodeKind::kSum:
      if (n->terms.size() == 1 && n->constant == 0) {
        e.kind = ExprKind::kMul;
        e.operands.push_back(n->terms[0].coef);
        AppendFactors(n->terms[0].mono, &e.operands);
        return e;
      }
      e.kind = ExprKind::kAdd;
      for (const Term& t : n->terms) {  // the scaled terms were interned with the sum
        e.operands.push_back(Interner::Sum(n->context, absl::Span<const Term>(&t, 1), 0));
      }
      if (n->constant != 0) e.operands.push_back(n->constant);
      return e;
    case NodeKind::kMonomial:
      e.kind = ExprKind::kMul;
      AppendFactors(n, &e.operands);
      return e;
    case NodeKind::kProduct:
      e.kind = ExprKind::kMul;
      break;
    case NodeKind::kFloorDiv:
      e.kind = ExprKind::kFloorDiv;
      break;
    case NodeKind::kMod:
      e.kind = ExprKind::kMod;
      break;
    case NodeKind::kCeilDiv:
      e.kind = ExprKind::kCeilDiv;
      break;
    case NodeKind::kMin:
      e.kind = ExprKind::kMin;
      break;
    case NodeKind::kMax:
      e.kind = ExprKind::kMax;
      break;
    case NodeKind::kPoison:
      return e;
  }
  e.operands = {n->a, n->b};
  return e;
}

bool IsSymbol(Dim d, SymbolId* id) {
  if (d.is_constant() || d.node()->kind != NodeKind::kSymbol) return false;
  *id = d.node()->symbol;
  return true;
}

DimContext* ContextOf(Dim d) { return d.is_constant() ? nullptr : d.node()->context; }

std::vector<SymbolId> FreeSymbols(Dim d) {
  std::vector<SymbolId> out;
  if (d.is_constant() || d.node()->context == nullptr) return out;
  if (d.node()->context->num_symbols() <= 64) {  // then a bit is a symbol
    for (uint64_t mask = d.node()->symbols; mask != 0; mask &= mask - 1) {
      out.push_back(static_cast<SymbolId>(__builtin_ctzll(mask)));
    }
    return out;
  }
  SymbolWalk(&out).Visit(d);
  std::sort(out.begin(), out.end());
  return out;
}

bool DependsOn(Dim d, SymbolId symbol) {
  if (d.is_constant() || (d.node()->symbols >> (symbol % 64) & 1) == 0) return false;
  if (d.node()->context->num_symbols() <= 64) return true;
  std::vector<SymbolId> all = FreeSymbols(d);
  return std::binary_search(all.begin(), all.end(), symbol);
}

bool SplitAffine(Dim d, SymbolId symbol, Dim* coefficient, Dim* rest) {
  if (!d.ok()) return false;
  if (!DependsOn(d, symbol)) {
    *coefficient = 0;
    *rest = d;
    return true;
  }
  DimContext* context = d.node()->context;
  Poly p = PolyOf(d);
  TermList without;
  Dim factor = 0;
  for (const Term& t : p.terms) {
    if (!DependsOn(Dim(t.mono), symbol)) {
      without.push_back(t);
      continue;
    }
    std::vector<Dim> factors;
    AppendFactors(t.mono, &factors);
    Dim product = t.coef;
    int found = 0;
    for (Dim f : factors) {
      SymbolId id = 0;
      if (IsSymbol(f, &id) && id == symbol) {
        ++found;
      } else if (DependsOn(f, symbol)) {
        return false;
      } else {
        product *= f;
      }
    }
    if (found != 1) return false;
    factor += product;
  }
  if (!factor.ok()) return false;
  *coefficient = factor;
  *rest = Interner::Sum(context, without, p.constant);
  return true;
}

}  // namespace dim
}  // namespace lathe
