// min and max in canonical form: a nest of the same operation is flattened, operands that differ
// by a constant are merged, the rest is sorted and nested to the right, so that every tail is a
// node. Beyond kMinMaxLimit operands a nest stays as it was built.
#include <algorithm>

#include "ir/dim/node.h"

namespace lathe {
namespace dim {
namespace {

using Operands = absl::InlinedVector<Dim, 8>;

bool SameTerms(const Poly& p, const Poly& q) {
  return std::equal(
      p.terms.begin(), p.terms.end(), q.terms.begin(), q.terms.end(),
      [](const Term& s, const Term& t) { return s.coef == t.coef && s.mono == t.mono; });
}

// Adds `d`, opened if it is a nest of the same kind. False if there would be too many.
bool Flatten(NodeKind kind, Dim d, Operands* out) {
  while (!d.is_constant() && d.node()->kind == kind) {
    if (!Flatten(kind, d.node()->a, out)) return false;
    d = d.node()->b;
  }
  Poly p = PolyOf(d);
  for (Dim& have : *out) {
    Poly q = PolyOf(have);
    if (!SameTerms(p, q)) continue;
    bool better = kind == NodeKind::kMin ? p.constant < q.constant : p.constant > q.constant;
    if (better) have = d;
    return true;
  }
  out->push_back(d);
  return out->size() <= static_cast<size_t>(kMinMaxLimit);
}

Dim MinMax(NodeKind kind, Dim a, Dim b) {
  DimContext* context = nullptr;
  Dim poison;
  if (Poisoned(a, b, &context, &poison)) return poison;
  if (a == b) return a;
  Operands all;
  if (!Flatten(kind, a, &all) || !Flatten(kind, b, &all)) {
    if (Compare(b, a) < 0) std::swap(a, b);
    return Interner::Atom(context, kind, a, b);
  }
  std::sort(all.begin(), all.end(), [](Dim x, Dim y) { return Compare(x, y) < 0; });
  Dim result = all.back();
  for (size_t i = all.size() - 1; i-- > 0;) {
    result = Interner::Atom(context, kind, all[i], result);
    if (!result.ok()) return result;
  }
  return result;
}

}  // namespace
}  // namespace dim

Dim Min(Dim a, Dim b) { return dim::MinMax(dim::NodeKind::kMin, a, b); }
Dim Max(Dim a, Dim b) { return dim::MinMax(dim::NodeKind::kMax, a, b); }

}  // namespace lathe
