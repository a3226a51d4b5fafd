#include "ir/dim/check/points.h"

#include <algorithm>
#include <optional>

#include "ir/dim/check/check.h"
#include "ir/dim/check/poly.h"

namespace lathe::dim::check {

void MarkAtoms(const std::vector<const Atom*>& atoms, const Poly& e, std::vector<bool>* marked) {
  std::vector<const Poly*> open = {&e};
  while (!open.empty()) {
    const Poly* p = open.back();
    open.pop_back();
    for (const auto& [mono, coef] : *p) {
      for (int32_t x : mono) {
        if ((*marked)[static_cast<size_t>(x)]) continue;
        (*marked)[static_cast<size_t>(x)] = true;
        open.push_back(&atoms[static_cast<size_t>(x)]->a);
        open.push_back(&atoms[static_cast<size_t>(x)]->b);
      }
    }
  }
}

void Point::Set(const std::vector<Int>& values, const std::vector<bool>& known) {
  for (size_t i = 0; i < atoms_.size(); ++i) {
    if (!needed_[i]) continue;
    const Atom& atom = *atoms_[i];
    if (atom.kind == AtomKind::kSymbol) {
      bool has = atom.symbol < values.size() && known[atom.symbol];
      states_[i] = has ? Truth::kTrue : Truth::kUndefined;
      values_[i] = has ? values[atom.symbol] : 0;
    } else {
      states_[i] = EvaluateAtom(atom, &values_[i]);
    }
  }
}

Truth Point::Evaluate(const Poly& e, Int* value) const {
  *value = 0;
  Truth state = Truth::kTrue;
  for (const auto& [mono, coef] : e) {
    Int product = coef;
    for (int32_t x : mono) {
      size_t i = static_cast<size_t>(x);
      if (states_[i] == Truth::kUndefined) return Truth::kUndefined;
      if (states_[i] == Truth::kOverflow) state = Truth::kOverflow;
      if (__builtin_mul_overflow(product, values_[i], &product)) state = Truth::kOverflow;
    }
    if (__builtin_add_overflow(*value, product, value)) state = Truth::kOverflow;
  }
  return state;
}

Truth Point::EvaluateAtom(const Atom& atom, Int* value) const {
  Int a = 0, b = 0, q = 0;
  for (const auto& [e, out] : {std::pair(&atom.a, &a), std::pair(&atom.b, &b)}) {
    if (Truth t = Evaluate(*e, out); t != Truth::kTrue) return t;
  }
  bool ok = true;
  switch (atom.kind) {
    case AtomKind::kMin:
    case AtomKind::kMax:
      *value = atom.kind == AtomKind::kMin ? std::min(a, b) : std::max(a, b);
      return Truth::kTrue;
    case AtomKind::kProduct:
      ok = !__builtin_mul_overflow(a, b, value);
      break;
    case AtomKind::kCeilDiv:
      if (b == 0) return Truth::kUndefined;
      ok = !__builtin_sub_overflow(Int{0}, a, &a) && FloorDiv(a, b, &q) &&
           !__builtin_sub_overflow(Int{0}, q, value);
      break;
    case AtomKind::kFloorDiv:
    case AtomKind::kMod:
      if (b == 0) return Truth::kUndefined;
      ok = FloorDiv(a, b, &q);
      *value = q;
      if (atom.kind == AtomKind::kMod) {
        ok = ok && !__builtin_mul_overflow(q, b, &q) && !__builtin_sub_overflow(a, q, value);
      }
      break;
    case AtomKind::kSymbol:
      return Truth::kUndefined;
  }
  return ok ? Truth::kTrue : Truth::kOverflow;
}

Truth Point::Evaluate(const Statement& s) const {
  Int v = 0;
  if (s.sense == Sense::kFalse) return Truth::kFalse;
  if (Truth t = Evaluate(s.e, &v); t != Truth::kTrue) return t;
  bool holds = s.sense == Sense::kGe   ? v >= 0
               : s.sense == Sense::kEq ? v == 0
               : s.sense == Sense::kNe ? v != 0
                                       : std::find(s.set.begin(), s.set.end(), v) != s.set.end();
  return holds ? Truth::kTrue : Truth::kFalse;
}

namespace {

// What the premises say of one symbol.
struct Domain {
  bool needed = false;
  std::optional<Int> low, high;
  const std::vector<int64_t>* set = nullptr;
  Int offset = 0;                // of the set: x + offset is a member
  Int modulus = 1, residue = 0;  // x == residue (mod modulus)
  std::optional<Poly> rest;      // x == factor * rest
  Int factor = 0;
};

Int Gcd(Int a, Int b) {
  while (b != 0) {
    Int r = a % b;
    a = b;
    b = r;
  }
  return a < 0 ? -a : a;
}

// Coefficients that the rule reads are below this, so that negating and dividing them is safe.
constexpr Int kLargest = Int{1} << 100;

bool IsSmall(const Poly& e) {
  return std::all_of(e.begin(), e.end(), [](const auto& term) {
    Int coef = term.second;
    return -kLargest < coef && coef < kLargest;
  });
}

class Enumerator {
 public:
  Enumerator(const std::vector<const Atom*>& atoms, const std::vector<const Statement*>& premises,
             const std::vector<bool>& is_fact, const Statement& conclusion)
      : atoms_(atoms), premises_(premises), is_fact_(is_fact), conclusion_(conclusion) {}

  bool Run(std::string* error) {
    std::vector<bool> marked(atoms_.size());
    MarkAtoms(atoms_, conclusion_.e, &marked);
    for (const Statement* s : premises_) MarkAtoms(atoms_, s->e, &marked);
    for (size_t i = 0; i < atoms_.size(); ++i) {
      if (!marked[i] || atoms_[i]->kind != AtomKind::kSymbol) continue;
      if (atoms_[i]->symbol > (1u << 24)) return Fail("a symbol's number is too large", error);
      if (domains_.size() <= atoms_[i]->symbol) domains_.resize(atoms_[i]->symbol + 1);
      domains_[atoms_[i]->symbol].needed = true;
    }
    for (const Statement* s : premises_) Learn(*s);
    values_.assign(domains_.size(), 0);
    known_.assign(domains_.size(), false);
    Int points = 1;
    for (size_t s = 0; s < domains_.size(); ++s) {
      if (!domains_[s].needed) continue;
      Int count = 0;
      if (!List(domains_[s], &count)) {
        if (!domains_[s].rest) return Fail("a symbol has no bounds", error);
        bound_.push_back(s);
        continue;
      }
      free_.push_back(s);
      points *= count;
      if (points > kPointLimit) return Fail("there are too many points", error);
    }
    Point point(atoms_, marked);
    std::vector<Int> index(free_.size(), 0);
    for (Int n = 0; n < points; ++n) {
      Int rest = n;
      for (size_t k = 0; k < free_.size(); ++k) {
        Int count = 0;
        List(domains_[free_[k]], &count);
        values_[free_[k]] = Member(domains_[free_[k]], rest % count);
        known_[free_[k]] = true;
        rest /= count;
      }
      if (!Try(&point, error)) return false;
    }
    return true;
  }

 private:
  static bool Fail(const char* text, std::string* error) {
    *error = text;
    return false;
  }

  // Reads off what `s` says of single symbols.
  void Learn(const Statement& s) {
    if (!IsSmall(s.e)) return;
    for (const auto& [mono, coef] : s.e) {
      if (mono.size() != 1) continue;
      const Atom& atom = *atoms_[static_cast<size_t>(mono[0])];
      if (atom.kind != AtomKind::kSymbol) continue;
      Domain& d = domains_[atom.symbol];
      bool alone = s.e.size() == 1 || (s.e.size() == 2 && s.e.begin()->first.empty());
      Int constant = ConstantOf(s.e), q = 0;
      if (s.sense == Sense::kGe && alone) {  // coef * x >= -constant
        if (coef > 0) {
          FloorDiv(constant, coef, &q);
          d.low = std::max(d.low.value_or(-q), -q);
        } else {
          FloorDiv(constant, -coef, &q);
          d.high = std::min(d.high.value_or(q), q);
        }
      } else if (s.sense == Sense::kIn && alone && coef == 1 && s.set.size() < 4096) {
        d.set = &s.set;
        d.offset = constant;
      } else if (s.sense == Sense::kEq && (coef == 1 || coef == -1)) {
        Int g = 0;
        for (const auto& [other, k] : s.e) {
          if (!other.empty() && other != mono) g = Gcd(g, k);
        }
        if (g == 0) {
          d.low = d.high = -coef * constant;
          continue;
        }
        if (g > 1 && d.modulus == 1) {
          d.modulus = g;
          d.residue = -coef * constant;
        }
        if (!d.rest) {
          d.rest = s.e;
          d.rest->erase(mono);
          d.factor = -coef;
        }
      }
    }
  }

  // The number of members; false if that isn't bounded.
  static bool List(const Domain& d, Int* count) {
    if (d.set != nullptr) {
      *count = static_cast<Int>(d.set->size());
      return true;
    }
    if (!d.low || !d.high) return false;
    Int first = First(d);
    *count = first > *d.high ? 0 : (*d.high - first) / d.modulus + 1;
    return true;
  }
  static Int First(const Domain& d) {
    Int q = 0;
    FloorDiv(d.residue - *d.low, d.modulus, &q);
    return d.residue - q * d.modulus;
  }
  static Int Member(const Domain& d, Int i) {
    if (d.set != nullptr) return (*d.set)[static_cast<size_t>(i)] - d.offset;
    return First(d) + i * d.modulus;
  }

  // The symbols that equations bind, then the premises, then the conclusion.
  bool Try(Point* point, std::string* error) {
    for (size_t s : bound_) known_[s] = false;
    point->Set(values_, known_);
    for (size_t left = bound_.size(); left > 0;) {
      size_t before = left;
      for (size_t s : bound_) {
        if (known_[s]) continue;
        const Domain& d = domains_[s];
        Int v = 0;
        Truth t = point->Evaluate(*d.rest, &v);
        if (t == Truth::kOverflow) return Fail("a value overflows", error);
        if (t != Truth::kTrue) continue;
        if (v >= kLargest || v <= -kLargest) return Fail("a value overflows", error);
        values_[s] = d.factor * v;
        known_[s] = true;
        --left;
      }
      if (left == before) return Fail("a symbol's equation is undefined at some point", error);
      point->Set(values_, known_);
    }
    for (size_t i = 0; i < premises_.size(); ++i) {
      Truth t = point->Evaluate(*premises_[i]);
      if (t == Truth::kOverflow) return Fail("a value overflows", error);
      if (t == Truth::kFalse || (t == Truth::kUndefined && is_fact_[i])) return true;
    }
    if (point->Evaluate(conclusion_) == Truth::kTrue) return true;
    return Fail("the conclusion isn't true at some point", error);
  }

  const std::vector<const Atom*>& atoms_;
  const std::vector<const Statement*>& premises_;
  const std::vector<bool>& is_fact_;
  const Statement& conclusion_;
  std::vector<Domain> domains_;  // by symbol
  std::vector<size_t> free_, bound_;
  std::vector<Int> values_;
  std::vector<bool> known_;
};

}  // namespace

bool TryAllPoints(const std::vector<const Atom*>& atoms,
                  const std::vector<const Statement*>& premises, const std::vector<bool>& is_fact,
                  const Statement& conclusion, std::string* error) {
  return Enumerator(atoms, premises, is_fact, conclusion).Run(error);
}

}  // namespace lathe::dim::check
