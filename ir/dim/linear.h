#pragma once
// LinearSystem: integer solutions of linear inequalities, or a derivation that there are none.
// Internal to ir/dim; Decider (decide.h) is the caller and gives the variables their meaning.
//
// Equalities are eliminated with integer steps (a change of variables where no coefficient is 1),
// inequalities by Fourier-Motzkin elimination in which every result is divided by the common factor
// of its coefficients and its constant rounded down (W. Pugh, "The Omega test", 1991). Where a
// point of the rationals has no integer beside it, the caller is asked to split. Arithmetic is
// checked (64-bit coefficients, 128-bit constants); an overflow, or too many steps, gives up.
//
// Every inequality that is derived is (f * first + g * second) / divisor of two earlier ones with
// f, g >= 0 and the constant rounded down: the log of these steps is the proof.
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"

namespace lathe::dim {

using Wide = __int128;

struct LinearTerm {
  int variable = 0;
  int64_t coef = 0;  // below 2^62 in magnitude
};
using LinearTerms = absl::InlinedVector<LinearTerm, 4>;  // by variable, without zeros

// terms + constant >= 0, which `step` states; or == 0, then `opposite` states that the negated sum
// is >= 0.
struct LinearRow {
  LinearTerms terms;
  Wide constant = 0;
  bool equal = false;
  int step = -1, opposite = -1;
  uint64_t direction = 0;  // of terms, up to their sign; set by LinearSystem
};

// One line of a derivation. A premise has a number; otherwise first and second are earlier steps
// (second may be -1), and this line is (first_factor * first + second_factor * second) / divisor,
// where the divisor divides each coefficient and the constant is rounded down.
struct DerivationStep {
  int premise = -1;
  int first = -1, second = -1;
  Wide first_factor = 1, second_factor = 0, divisor = 1;
};
using Derivation = std::vector<DerivationStep>;

inline bool FitsInt64(Wide x) { return x >= INT64_MIN && x <= INT64_MAX; }
Wide FloorDivWide(Wide a, Wide b);  // b >= 1
void Negate(LinearRow* row);
// *out = f * x + g * y; false on overflow. `out` may be x or y.
bool Combine(const LinearTerms& x, Wide f, const LinearTerms& y, Wide g, LinearTerms* out);
// *out += k * x; false on overflow.
inline bool AddTerms(LinearTerms* out, const LinearTerms& x, Wide k) {
  return Combine(*out, 1, x, k, out);
}

class LinearSystem {
 public:
  // New steps are appended to `log`; each takes one of `steps_left`.
  LinearSystem(int num_variables, Derivation* log, int* steps_left)
      : num_variables_(num_variables), log_(*log), steps_left_(*steps_left) {}

  enum class Outcome : uint8_t {
    kContradiction,  // contradiction() is a step that states: a number below 0 is >= 0
    kPoint,          // point() satisfies all rows
    kSplit,          // either split_form() <= split_bound(), or >= split_bound() + 1
    kGaveUp,
  };
  Outcome Solve(const std::vector<LinearRow>& rows);

  int contradiction() const { return contradiction_; }
  const std::vector<Wide>& point() const { return point_; }
  const LinearTerms& split_form() const { return split_form_; }
  Wide split_bound() const { return split_bound_; }

 private:
  using Rows = absl::InlinedVector<int, 8>;  // by index into pool_

  // What happened to a variable, for the way back to a point.
  struct Event {
    enum Kind : uint8_t { kSubstituted, kEliminated, kChanged } kind = kSubstituted;
    int variable = 0;
    Rows rows;           // those with the variable
    LinearTerms change;  // kChanged: the new variable is the old one plus these
    LinearTerms form;    // the variable in terms of the original ones
  };

  LinearRow& At(int row) { return pool_[static_cast<size_t>(row)]; }
  const LinearRow& At(int row) const { return pool_[static_cast<size_t>(row)]; }
  bool Insert(int row);
  bool Normalize(LinearRow* row);
  int Log(int first, Wide f, int second, Wide g, Wide divisor);
  bool Contradiction(int step);
  bool Fail();
  Event& Record(decltype(Event::kind) kind, int variable);
  bool EliminateEqualities();
  LinearTerm Pivot(const LinearRow& equality) const;
  bool SubstituteBy(int equality);
  bool ChangeVariable(LinearRow* equality);
  int ChooseVariable();
  bool Eliminate(int variable);
  bool PointFromEvents(int strategy);
  Outcome Finish();

  int num_variables_;
  Derivation& log_;
  int& steps_left_;
  std::vector<LinearRow> pool_;         // all rows that were made
  std::vector<int> rows_, equalities_;  // those that count
  std::vector<LinearTerms> forms_;
  std::vector<Event> events_;
  bool gave_up_ = false;
  int contradiction_ = -1;
  std::vector<Wide> point_;
  LinearTerms split_form_;
  Wide split_bound_ = 0;
};

}  // namespace lathe::dim
