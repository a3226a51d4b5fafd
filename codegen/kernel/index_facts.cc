#include "codegen/kernel/index_facts.h"

#include <algorithm>

namespace lathe::kernel {

void IndexFacts::AddNumber(Dim symbol) {
  dim::SymbolId id = 0;
  if (dim::IsSymbol(symbol, &id)) known_.push_back(id);
}

// Facts that clash belong to loops without turns: without them less is known.
void IndexFacts::Add(const Claim& c) { facts_.Add(c, dim::Standing::kDerived, {}).IgnoreError(); }

void IndexFacts::AddBounds(absl::Span<const Claim> claims) {
  for (const Claim& c : claims)
    if (c.relation == Relation::kLe && c.lhs == Dim(0)) AddNumber(c.rhs);
  for (const Claim& c : claims) Add(c);
}

void IndexFacts::AddLoop(Dim variable, Dim begin, Dim end) {
  if (!Knows(begin) || !facts_.ProvesQuickly(begin >= 0)) return;
  AddNumber(variable);
  Add(begin <= variable);
  Add(variable < end);
}

bool IndexFacts::Knows(Dim d) const {
  const std::vector<dim::SymbolId> symbols = dim::FreeSymbols(d);
  return std::all_of(symbols.begin(), symbols.end(), [this](dim::SymbolId s) {
    return std::find(known_.begin(), known_.end(), s) != known_.end();
  });
}

dim::Interval IndexFacts::Range(Dim d) const {
  return Knows(d) ? facts_.Range(d) : dim::Interval();
}

bool FitsI32(const dim::Interval& r) {
  return !r.empty() && r.min >= -INT32_MAX && r.max <= INT32_MAX;
}

}  // namespace lathe::kernel
