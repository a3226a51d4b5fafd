#pragma once
// The memory plan: where each value lies in the arena, as a Dim, valid at every size without proof.
//
// Values that live together are put in an order; a value starts where the furthest earlier one of
// them ends. Any order is right; corner sizes choose a good one. Proofs only remove terms of the
// maxima.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ir/dim/facts.h"

namespace lathe::compiler {

struct PlannedValue {
  Dim bytes;                          // a multiple of the arena's alignment
  int first_step = 0, last_step = 0;  // inclusive
};

struct MemoryPlan {
  std::vector<Dim> offsets;
  Dim total = 0;
};

// `corners`: values for all symbols, at which orders are compared.
MemoryPlan PlanMemory(absl::Span<const PlannedValue> values, const dim::FactSet& facts,
                      absl::Span<const std::vector<int64_t>> corners);

// Small, middling and large values of every symbol that the facts admit.
std::vector<std::vector<int64_t>> CornerSizes(const dim::FactSet& facts, int num_symbols);

}  // namespace lathe::compiler
