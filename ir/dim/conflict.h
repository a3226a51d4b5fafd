#pragma once
// Explains why facts can't hold together. Internal to ir/dim.
#include <vector>

#include "absl/types/span.h"
#include "ir/dim/facts.h"
#include "ir/dim/theory.h"

namespace lathe::dim {

// If `claim` makes symbols that may be negative: appends them. That is a lower bound below 0 on a
// symbol alone, or a set with a negative member.
void AppendNegative(const Claim& claim, std::vector<SymbolId>* symbols);

// Whether the claim contradicts the theory; `why` gets the reasons. Doesn't change the theory.
bool Contradicts(const Theory& theory, const Claim& claim, Why* why);

// An irreducible part of `suspects`, a contradictory set among `facts`, by deletion; with an edit.
Conflict Explain(DimContext* context, absl::Span<const Fact> facts, const Why& suspects);

}  // namespace lathe::dim
