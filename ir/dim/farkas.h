#pragma once
// Linear refutation: multipliers that turn linear constraints into a contradiction. In floating
// point, hence a suggestion that the caller verifies exactly. Internal to ir/dim.
#include <cstdint>
#include <utility>
#include <vector>

namespace lathe::dim {

struct FarkasRow {
  std::vector<std::pair<int, double>> terms;  // variable and coefficient
  double constant = 0;                        // sum + constant >= 0, or == 0
  bool equality = false;
};

// Integers, >= 0 for inequalities, such that the sum of multiplier * row has no variables and a
// constant < 0. False if none were found; then `point` gets values of the variables at which
// (nearly) all rows hold, or nothing if the search gave up.
bool FindFarkas(const std::vector<FarkasRow>& rows, int num_variables,
                std::vector<int64_t>* multipliers, std::vector<double>* point);

}  // namespace lathe::dim
