#include "ir/dim/evaluate.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ir/dim/node.h"

namespace lathe::dim {
namespace {

// The first step that failed.
struct Fault {
  enum { kNone, kMissing, kOverflow, kZero, kPoison } kind = kNone;
  const Node* node = nullptr;
};

class Evaluator {
 public:
  Evaluator(absl::Span<const int64_t> values, bool memoize) : values_(values), memoize_(memoize) {}

  bool Run(Dim d, int64_t* out) {
    if (d.is_constant()) {
      *out = d.constant();
      return true;
    }
    return Run(d.node(), out);
  }

  const Fault& fault() const { return fault_; }

 private:
  bool Fail(decltype(Fault::kind) kind, const Node* n) {
    fault_.kind = kind;
    fault_.node = n;
    return false;
  }

  bool Run(const Node* n, int64_t* out) {
    if (n->kind == NodeKind::kSymbol) {
      if (n->symbol >= values_.size()) return Fail(Fault::kMissing, n);
      *out = values_[n->symbol];
      return true;
    }
    if (memoize_) {
      if (auto it = memo_.find(n); it != memo_.end()) {
        *out = it->second;
        return true;
      }
    }
    bool ok = n->kind == NodeKind::kSum        ? Sum(n, out)
              : n->kind == NodeKind::kMonomial ? Product(n, out)
                                               : Atom(n, out);
    if (ok && memoize_) memo_[n] = *out;
    return ok;
  }

  bool Sum(const Node* n, int64_t* out) {
    int64_t sum = 0;
    bool first = true;
    for (const Term& t : n->terms) {
      int64_t v = 0;
      if (!Run(t.mono, &v)) return false;
      if (__builtin_mul_overflow(v, t.coef, &v)) return Fail(Fault::kOverflow, n);
      if (!first && __builtin_add_overflow(sum, v, &v)) return Fail(Fault::kOverflow, n);
      sum = v;
      first = false;
    }
    if (__builtin_add_overflow(sum, n->constant, out)) return Fail(Fault::kOverflow, n);
    return true;
  }

  bool Product(const Node* n, int64_t* out) {
    int64_t product = 1;
    for (const Node* f : n->factors) {
      int64_t v = 0;
      if (!Run(f, &v)) return false;
      if (__builtin_mul_overflow(product, v, &product)) return Fail(Fault::kOverflow, n);
    }
    *out = product;
    return true;
  }

  bool Atom(const Node* n, int64_t* out) {
    if (n->kind == NodeKind::kPoison) return Fail(Fault::kPoison, n);
    int64_t a = 0, b = 0;
    if (!Run(n->a, &a) || !Run(n->b, &b)) return false;
    if (ApplyConst(n->kind, a, b, out)) return true;
    bool divides = n->kind != NodeKind::kProduct && b == 0;
    return Fail(divides ? Fault::kZero : Fault::kOverflow, n);
  }

  absl::Span<const int64_t> values_;
  bool memoize_;
  Fault fault_;
  absl::flat_hash_map<const Node*, int64_t> memo_;
};

bool IsLarge(Dim d) { return !d.is_constant() && d.node()->tree_size > kSmallTree; }

// ", where a = 3, b = 0".
std::string Where(const Node* n, absl::Span<const int64_t> values) {
  std::string text;
  for (SymbolId id : FreeSymbols(Dim(n))) {
    if (id >= values.size()) continue;
    absl::StrAppend(&text, text.empty() ? ", where " : ", ", n->context->SymbolName(id), " = ",
                    values[id]);
  }
  return text;
}

}  // namespace

bool TryEvaluate(Dim d, absl::Span<const int64_t> values, int64_t* out) {
  return Evaluator(values, IsLarge(d)).Run(d, out);
}

Truth TryEvaluate(const Claim& c, absl::Span<const int64_t> values) {
  int64_t a = 0, b = 0;
  if (!TryEvaluate(c.lhs, values, &a)) return Truth::kUndefined;
  bool truth = false;
  if (c.relation == Relation::kIn) {
    truth = std::binary_search(c.set.begin(), c.set.end(), a);
  } else {
    if (!TryEvaluate(c.rhs, values, &b)) return Truth::kUndefined;
    truth = c.relation == Relation::kEq   ? a == b
            : c.relation == Relation::kNe ? a != b
            : c.relation == Relation::kLt ? a < b
                                          : a <= b;
  }
  return truth ? Truth::kTrue : Truth::kFalse;
}

absl::StatusOr<int64_t> Evaluate(Dim d, absl::Span<const int64_t> values) {
  Evaluator e(values, IsLarge(d));
  int64_t out = 0;
  if (e.Run(d, &out)) return out;
  const Fault& f = e.fault();
  switch (f.kind) {
    case Fault::kMissing:
      return absl::InvalidArgumentError(absl::StrCat("no value is given for ", f.node->text));
    case Fault::kPoison:
      return absl::OutOfRangeError(f.node->text);
    case Fault::kZero:
      return absl::OutOfRangeError(
          absl::StrCat(Dim(f.node).ToString(), " divides by 0", Where(f.node, values)));
    default:
      return absl::OutOfRangeError(
          absl::StrCat(Dim(f.node).ToString(), " overflows int64", Where(f.node, values)));
  }
}

absl::StatusOr<bool> Evaluate(const Claim& c, absl::Span<const int64_t> values) {
  absl::StatusOr<int64_t> a = Evaluate(c.lhs, values);
  if (!a.ok()) return a.status();
  if (c.relation != Relation::kIn) {
    absl::StatusOr<int64_t> b = Evaluate(c.rhs, values);
    if (!b.ok()) return b.status();
  }
  return TryEvaluate(c, values) == Truth::kTrue;
}

}  // namespace lathe::dim
