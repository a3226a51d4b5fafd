// A simplex walk over the cone { m : sum m_i * row_i has no variables, m_i >= 0 }, in search of a
// direction in which the constant falls. Every point of the walk is 0; dual to the basis is a point
// of the rows, whose coordinates are the costs of the columns of the identity.
#include "ir/dim/farkas.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace lathe::dim {
namespace {

// 64 bits of mantissa: constants go up to 2^40 and more, and a contradiction may be by 1.
using Real = long double;

constexpr Real kEpsilon = 1e-9L, kCostEpsilon = 1e-15L;
constexpr int kIterations = 600, kGreedy = 60;

// Multiplies by a common denominator; false if there is no small one.
bool ToIntegers(const std::vector<Real>& values, std::vector<int64_t>* out) {
  Real largest = 0, smallest = 0;
  for (Real v : values) {
    Real a = std::abs(v);
    largest = std::max(largest, a);
    if (a > kEpsilon && (smallest == 0 || a < smallest)) smallest = a;
  }
  if (largest == 0) return false;
  int64_t common = 1;
  auto denominator = [](Real x) {
    int64_t q0 = 0, q1 = 1;
    Real rest = x;
    for (int i = 0; i < 20; ++i) {
      Real whole = std::floor(rest);
      if (i > 0) {
        int64_t q2 = static_cast<int64_t>(whole) * q1 + q0;
        if (q2 > 1000000) break;
        q0 = q1;
        q1 = q2;
      }
      if (std::abs(x * static_cast<Real>(q1) - std::round(x * static_cast<Real>(q1))) <
          1e-7 * static_cast<Real>(q1)) {
        break;
      }
      rest = 1 / (rest - whole);
    }
    return q1;
  };
  for (Real v : values) {
    if (std::abs(v) <= kEpsilon * largest) continue;
    int64_t d = denominator(std::abs(v) / smallest);
    common = std::lcm(common, d);
    if (common > 1000000000) return false;
  }
  out->clear();
  for (Real v : values) {
    Real scaled = std::abs(v) <= kEpsilon * largest ? 0 : v / smallest * static_cast<Real>(common);
    if (std::abs(scaled) > 1e17) return false;
    out->push_back(std::llround(scaled));
  }
  return true;
}

class Walk {
 public:
  Walk(const std::vector<FarkasRow>& rows, int num_variables)
      : rows_(rows), n_(rows.size()), m_(static_cast<size_t>(num_variables)), width_(n_ + m_) {
    table_.assign((m_ + 1) * width_, 0);
    for (size_t j = 0; j < n_; ++j) {
      Real scale = 0;
      for (auto [x, c] : rows[j].terms) scale = std::max<Real>(scale, std::abs(c));
      scale_.push_back(scale > 0 ? scale : 1);
      for (auto [x, c] : rows[j].terms) At(static_cast<size_t>(x), j) += c / scale_[j];
      At(m_, j) = rows[j].constant / scale_[j];
    }
    for (size_t i = 0; i < m_; ++i) At(i, n_ + i) = 1;
    basis_.assign(m_, n_);
    row_of_.assign(n_, m_);
  }

  bool Run(std::vector<int64_t>* multipliers, std::vector<double>* point) {
    // Variables leave first, equalities before inequalities; an equality never comes back.
    for (bool equality : {true, false}) {
      for (size_t i = 0; i < m_; ++i) {
        if (basis_[i] != n_) continue;
        size_t best = n_;
        for (size_t j = 0; j < n_; ++j) {
          if (rows_[j].equality != equality || row_of_[j] != m_) continue;
          if (std::abs(At(i, j)) < 1e-7) continue;
          if (best == n_ || std::abs(At(i, j)) > std::abs(At(i, best))) best = j;
        }
        if (best != n_) Pivot(i, best);
      }
    }
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      size_t enter = n_;
      Real sign = 1;
      for (size_t j = 0; j < n_; ++j) {
        if (row_of_[j] != m_) continue;
        Real cost = At(m_, j);
        Real limit = kEpsilon + kCostEpsilon * (std::abs(rows_[j].constant / scale_[j]));
        bool falls = cost < -limit || (rows_[j].equality && cost > limit);
        if (!falls) continue;
        if (enter != n_ && std::abs(cost) <= std::abs(At(m_, enter))) continue;
        enter = j;
        sign = cost < 0 ? 1 : -1;
        if (iteration >= kGreedy) break;
      }
      if (enter == n_) {
        for (size_t i = 0; i < m_; ++i) point->push_back(static_cast<double>(At(m_, n_ + i)));
        return false;
      }
      size_t leave = m_;
      for (size_t i = 0; i < m_; ++i) {
        if (basis_[i] == n_ || rows_[basis_[i]].equality) continue;
        if (sign * At(i, enter) < 1e-7) continue;
        if (leave == m_ ||
            (iteration < kGreedy ? std::abs(At(i, enter)) > std::abs(At(leave, enter))
                                 : basis_[i] < basis_[leave])) {
          leave = i;
        }
      }
      if (leave != m_) {
        Pivot(leave, enter);
        continue;
      }
      std::vector<Real> ray(n_, 0);
      ray[enter] = sign / scale_[enter];
      for (size_t i = 0; i < m_; ++i) {
        if (basis_[i] != n_) ray[basis_[i]] = -sign * At(i, enter) / scale_[basis_[i]];
      }
      return ToIntegers(ray, multipliers);
    }
    return false;
  }

 private:
  Real& At(size_t i, size_t j) { return table_[i * width_ + j]; }

  void Pivot(size_t row, size_t column) {
    Real factor = 1 / At(row, column);
    for (size_t j = 0; j < width_; ++j) At(row, j) *= factor;
    for (size_t i = 0; i <= m_; ++i) {
      Real k = At(i, column);
      if (i == row || k == 0) continue;
      for (size_t j = 0; j < width_; ++j) At(i, j) -= k * At(row, j);
      At(i, column) = 0;
    }
    if (basis_[row] != n_) row_of_[basis_[row]] = m_;
    basis_[row] = column;
    row_of_[column] = row;
  }

  const std::vector<FarkasRow>& rows_;
  size_t n_, m_, width_;
  std::vector<Real> table_;  // a row for each variable, then the constants; identity columns last
  std::vector<Real> scale_;
  std::vector<size_t> basis_;   // by variable; n_: none
  std::vector<size_t> row_of_;  // by constraint; m_: not in the basis
};

}  // namespace

bool FindFarkas(const std::vector<FarkasRow>& rows, int num_variables,
                std::vector<int64_t>* multipliers, std::vector<double>* point) {
  point->clear();
  return Walk(rows, num_variables).Run(multipliers, point);
}

}  // namespace lathe::dim
