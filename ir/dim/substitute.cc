// Substitution: rebuilds a Dim bottom up, each shared part once.
#include <utility>

#include "ir/dim/node.h"

namespace lathe::dim {
namespace {

class Substitution {
 public:
  Substitution(const absl::flat_hash_map<SymbolId, Dim>& map, DimContext* target)
      : map_(map), target_(target) {
    for (const auto& [id, value] : map) mask_ |= uint64_t{1} << (id % 64);
  }

  Dim Run(Dim d) {
    if (d.is_constant()) return d;
    const Node* n = d.node();
    if (n->kind == NodeKind::kPoison) {
      return n->context == nullptr ? d : Interner::Poison(target_, n->text);
    }
    // Within one context, a part without a replaced symbol stays as it is.
    if (n->context == target_ && (n->symbols & mask_) == 0) return d;
    if (n->kind == NodeKind::kSymbol) return Symbol(n);
    if (auto it = memo_.find(n); it != memo_.end()) return it->second;
    Dim result = Rebuild(n);
    memo_[n] = result;
    return result;
  }

 private:
  Dim Symbol(const Node* n) {
    auto it = map_.find(n->symbol);
    if (it != map_.end()) return it->second;
    return n->context == target_ ? Dim(n) : target_->Symbol(n->text);
  }

  Dim Rebuild(const Node* n) {
    switch (n->kind) {
      case NodeKind::kSum: {
        Dim sum = n->constant;
        for (const Term& t : n->terms) sum += Dim(t.coef) * Run(Dim(t.mono));
        return sum;
      }
      case NodeKind::kMonomial: {
        Dim product = 1;
        for (const Node* f : n->factors) product *= Run(Dim(f));
        return product;
      }
      case NodeKind::kProduct:
        return Run(n->a) * Run(n->b);
      case NodeKind::kFloorDiv:
        return FloorDiv(Run(n->a), Run(n->b));
      case NodeKind::kMod:
        return Mod(Run(n->a), Run(n->b));
      case NodeKind::kCeilDiv:
        return CeilDiv(Run(n->a), Run(n->b));
      case NodeKind::kMin:
        return Min(Run(n->a), Run(n->b));
      case NodeKind::kMax:
        return Max(Run(n->a), Run(n->b));
      case NodeKind::kSymbol:
      case NodeKind::kPoison:
        break;
    }
    return Dim(n);
  }

  const absl::flat_hash_map<SymbolId, Dim>& map_;
  DimContext* target_;
  uint64_t mask_ = 0;
  absl::flat_hash_map<const Node*, Dim> memo_;
};

}  // namespace

Dim Substitute(Dim d, const absl::flat_hash_map<SymbolId, Dim>& map, DimContext* target) {
  if (d.is_constant()) return d;
  return Substitution(map, target).Run(d);
}

Claim Substitute(const Claim& c, const absl::flat_hash_map<SymbolId, Dim>& map,
                 DimContext* target) {
  Substitution s(map, target);
  return {c.relation, s.Run(c.lhs), s.Run(c.rhs), c.set};
}

}  // namespace lathe::dim
