// Substitution: rebuilds a Dim bottom up, each shared part once.
#include <numeric>
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

// Rebuilds a Dim with divisors that can't be 0. The depth is that of the Dim.
class DivisorsWithoutZero {
 public:
  Dim Run(Dim d) {
    if (d.is_constant()) return d;
    if (auto it = memo_.find(d); it != memo_.end()) return it->second;
    const Dim result = Rebuild(d);
    memo_[d] = result;
    return result;
  }

 private:
  Dim Rebuild(Dim d) {
    const Expr e = Decompose(d);
    std::vector<Dim> args;
    for (Dim operand : e.operands) args.push_back(Run(operand));
    const auto divisor = [&] {
      const Dim b = args[1];
      return b.is_constant() ? b : b + 1 - Min(1, Max(b, -b));
    };
    switch (e.kind) {
      case ExprKind::kConstant:
      case ExprKind::kSymbol:
        return d;
      case ExprKind::kAdd:
        return std::accumulate(args.begin(), args.end(), Dim(0));
      case ExprKind::kMul:
        return std::accumulate(args.begin(), args.end(), Dim(1),
                               [](Dim a, Dim b) { return a * b; });
      case ExprKind::kFloorDiv:
        return FloorDiv(args[0], divisor());
      case ExprKind::kMod:
        return Mod(args[0], divisor());
      case ExprKind::kCeilDiv:
        return CeilDiv(args[0], divisor());
      case ExprKind::kMin:
        return Min(args[0], args[1]);
      case ExprKind::kMax:
        return Max(args[0], args[1]);
    }
    return d;
  }

  absl::flat_hash_map<Dim, Dim> memo_;
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

Dim WithoutZeroDivisors(Dim d) { return DivisorsWithoutZero().Run(d); }

}  // namespace lathe::dim
