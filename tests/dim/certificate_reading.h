#pragma once
// What a certificate's steps mean, by the book: for tests of certificates and of the checker.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ir/dim/check/proof.h"

namespace lathe::dim {

using check::Atom;
using check::AtomKind;
using check::Certificate;
using check::Int;
using check::Problem;
using check::Rule;
using check::Sense;
using check::Statement;
using check::Step;

using Point = std::vector<int64_t>;

constexpr int kRules = static_cast<int>(Rule::kEnumerate) + 1;

// Values by the book, with one of several readings of x // 0. Independent of the checker's.
class Reading {
 public:
  Reading(const Problem& problem, const Certificate& c, const Point& point, int division)
      : defined(problem.atoms.size() + c.atoms.size(), true) {
    for (const std::vector<Atom>* list : {&problem.atoms, &c.atoms}) {
      for (const Atom& a : *list) values_.push_back(Value(a, point, division));
    }
  }

  Int Value(const check::Poly& e) const {
    Int sum = 0;
    for (const auto& [mono, coef] : e) {
      Int product = coef;
      for (int32_t x : mono) product = Times(product, values_[static_cast<size_t>(x)]);
      sum = Plus(sum, product);
    }
    return sum;
  }

  bool Holds(const Statement& s) const {
    if (s.sense == Sense::kFalse) return false;
    Int v = Value(s.e);
    return s.sense == Sense::kGe   ? v >= 0
           : s.sense == Sense::kEq ? v == 0
           : s.sense == Sense::kNe ? v != 0
                                   : std::find(s.set.begin(), s.set.end(), v) != s.set.end();
  }

  bool IsDefined(const check::Poly& e) const {
    for (const auto& [mono, coef] : e) {
      for (int32_t x : mono) {
        if (!defined[static_cast<size_t>(x)]) return false;
      }
    }
    return true;
  }

  std::vector<bool> defined;      // by atom
  mutable bool overflow = false;  // some value passes 128 bits: nothing can be said

 private:
  Int Times(Int a, Int b) const {
    overflow |= __builtin_mul_overflow(a, b, &a);
    return a;
  }
  Int Plus(Int a, Int b) const {
    overflow |= __builtin_add_overflow(a, b, &a);
    return a;
  }

  Int Value(const Atom& atom, const Point& point, int division) {
    size_t self = values_.size();
    if (atom.kind == AtomKind::kSymbol) return point[atom.symbol];
    Int a = Value(atom.a), b = Value(atom.b);
    defined[self] = IsDefined(atom.a) && IsDefined(atom.b);
    auto divide = [&](Int x) {
      if (b != 0) return x / b - (x % b != 0 && (x < 0) != (b < 0));
      defined[self] = false;
      return division == 0 ? Int{0} : division == 1 ? Int{5} : Plus(1, Times(-3, x));
    };
    switch (atom.kind) {
      case AtomKind::kFloorDiv:
        return divide(a);
      case AtomKind::kMod:
        return Plus(a, Times(Times(-1, b), divide(a)));
      case AtomKind::kCeilDiv:
        return Times(-1, divide(Times(-1, a)));
      case AtomKind::kMin:
        return std::min(a, b);
      case AtomKind::kMax:
        return std::max(a, b);
      default:
        return Times(a, b);
    }
  }

  std::vector<Int> values_;
};

// Empty if every step of an accepted certificate holds at the points that are models, under its
// assumptions; otherwise what is wrong.
inline std::string Falsehood(const Problem& problem, const Certificate& c,
                             const std::vector<Point>& points) {
  std::vector<std::set<int32_t>> open(c.steps.size());
  for (size_t i = 0; i < c.steps.size(); ++i) {
    const Step& s = c.steps[i];
    if (s.rule == Rule::kAssume) open[i].insert(static_cast<int32_t>(i));
    bool discharges = s.rule == Rule::kCases || s.rule == Rule::kContradiction;
    size_t first = s.rule == Rule::kCases ? s.premises.size() % 2 : 0;
    for (size_t k = 0; k < s.premises.size(); ++k) {
      bool is_assumption = discharges && k >= first && (k - first) % 2 == 0;
      if (is_assumption) continue;
      for (int32_t a : open[static_cast<size_t>(s.premises[k])]) {
        if (!(discharges && k > first && a == s.premises[k - 1])) open[i].insert(a);
      }
    }
  }
  for (const Point& point : points) {
    for (uint32_t s = 0; s < point.size(); ++s) {
      bool may = std::count(problem.negative.begin(), problem.negative.end(), s) > 0;
      if (point[s] < 0 && !may) goto next;
    }
    for (int division : {0, 1, 2}) {
      Reading reading(problem, c, point, division);
      for (const Statement& f : problem.facts) {
        if (!reading.IsDefined(f.e) || !reading.Holds(f)) goto next;
      }
      for (size_t i = 0; i < c.steps.size(); ++i) {
        bool assumed = std::all_of(open[i].begin(), open[i].end(), [&](int32_t a) {
          return reading.Holds(c.steps[static_cast<size_t>(a)].conclusion);
        });
        if (!assumed || reading.Holds(c.steps[i].conclusion) || reading.overflow) continue;
        return "step " + std::to_string(i) + " doesn't hold at " + testing::PrintToString(point) +
               ":\n" + check::ToString(problem, c);
      }
    }
  next:;
  }
  return "";
}

inline std::vector<Point> Box(int64_t low, int64_t high) {
  std::vector<Point> points;
  for (int64_t a = low; a <= high; ++a) {
    for (int64_t b = low; b <= high; ++b) {
      for (int64_t c = low; c <= high; ++c) points.push_back({a, b, c});
    }
  }
  return points;
}

}  // namespace lathe::dim
