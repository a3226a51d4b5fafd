#pragma once
// DimConstraint: what may be demanded of one size, as a value: bounds, a residue class, equality
// with other sizes, divisibility by them. Who uses it: ConstraintDatabase, the rules of windows.
//
//   DimConstraint a{.max = 8192, .divisible_by = 64};
//   a.Implies({.divisible_by = 8})             // true: 64 is a multiple of 8
//   a.Implies({.min = 0})                      // false: no lower end was given
//   *a.Merge({.min = 1, .divisible_by = 48})   // 1..8192, % 192 == 0
//
// A field without a value demands nothing, and nothing follows from it; a bound of 0 is a bound.
// Values range over all of int64. Constraints without `equal_to` and `multiple_of` are decided
// exactly: Implies, IsFeasible and Values are right in both directions. With them Implies and
// infeasibility are sound (true is true), decided by a FactSet in which every symbol is >= 0.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/dim/facts.h"

namespace lathe::dim {

struct DimConstraint {
  std::optional<int64_t> min, max;      // inclusive
  std::optional<int64_t> divisible_by;  // >= 1: value % divisible_by == remainder
  std::optional<int64_t> remainder;     // unset: 0; 0 <= remainder < divisible_by
  std::vector<Dim> equal_to;            // the value of each; empty: nothing is demanded
  std::vector<Dim> multiple_of;         // value % d == 0 for each d, which then isn't 0

  // InvalidArgument: divisible_by < 1, a remainder outside of it or without it, a poisoned Dim.
  absl::Status Validate() const;

  // The fewest fields that say the same: numbers in `equal_to` and `multiple_of` have become bounds
  // and divisors, ends are members of the residue class, lists are sorted without repeats. No value
  // at all is 1..0. OutOfRange if the least common multiple of divisors passes int64.
  absl::StatusOr<DimConstraint> Normalized() const;

  // Whether every value that satisfies this satisfies `other`. False for invalid constraints.
  bool Implies(const DimConstraint& other) const;
  // Both at once: the intersection, normalised. It may be infeasible, which is no error.
  // OutOfRange names the divisors if their least common multiple passes int64.
  absl::StatusOr<DimConstraint> Merge(const DimConstraint& other) const;
  // False only if no value satisfies it.
  bool IsFeasible() const;
  // Whether `value` satisfies it where its Dims have the values of `symbols` (by SymbolId).
  bool Admits(int64_t value, absl::Span<const int64_t> symbols = {}) const;
  // All values, ascending, if they are bounded on both sides and at most `limit`; else empty. The
  // relations to other sizes are left out of account.
  std::vector<int64_t> Values(size_t limit = 64) const;

  // The claims about `subject`. None if nothing is demanded.
  std::vector<Claim> Claims(Dim subject) const;
  // What the facts say of `subject`; a finite set becomes its hull and residue class.
  static DimConstraint Of(const FactSet& facts, Dim subject);
  // "1..8192, % 64 == 0, == batch, % heads == 0": what FactSet::AddSpec reads; "?" if empty.
  std::string ToString() const;
  // The conjunction of the items of a spec about one size, in which new names become symbols of
  // `context`. InvalidArgument for an item that no field can say ("in {1, 5, 6}", "!= 3").
  static absl::StatusOr<DimConstraint> Parse(std::string_view spec, DimContext* context);

  friend bool operator==(const DimConstraint& a, const DimConstraint& b) {
    return a.min == b.min && a.max == b.max && a.divisible_by == b.divisible_by &&
           a.remainder == b.remainder && a.equal_to == b.equal_to && a.multiple_of == b.multiple_of;
  }
};

}  // namespace lathe::dim
