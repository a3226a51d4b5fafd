#pragma once
// Values of expressions at one point, and the rule that tries all points within bounds.
#include <string>
#include <vector>

#include "ir/dim/check/proof.h"

namespace lathe::dim::check {

enum class Truth : uint8_t { kFalse, kTrue, kUndefined, kOverflow };

// All atoms at one point.
class Point {
 public:
  // `needed` marks the atoms that are evaluated; each is followed by those that it is made of.
  Point(const std::vector<const Atom*>& atoms, const std::vector<bool>& needed)
      : atoms_(atoms), needed_(needed), values_(atoms.size()), states_(atoms.size()) {}

  // Symbols beyond `values` are undefined.
  void Set(const std::vector<Int>& values, const std::vector<bool>& known);
  Truth Evaluate(const Poly& e, Int* value) const;  // kTrue, kUndefined or kOverflow
  Truth Evaluate(const Statement& s) const;

 private:
  Truth EvaluateAtom(const Atom& atom, Int* value) const;

  const std::vector<const Atom*>& atoms_;
  const std::vector<bool>& needed_;
  std::vector<Int> values_;
  std::vector<Truth> states_;
};

// Marks the atoms of `e` and all that they are made of.
void MarkAtoms(const std::vector<const Atom*>& atoms, const Poly& e, std::vector<bool>* marked);

// Whether `conclusion` is true at every point at which the premises hold. `is_fact` tells which
// premises are facts, and hence defined in every model. Otherwise `error` says why not.
bool TryAllPoints(const std::vector<const Atom*>& atoms,
                  const std::vector<const Statement*>& premises, const std::vector<bool>& is_fact,
                  const Statement& conclusion, std::string* error);

}  // namespace lathe::dim::check
