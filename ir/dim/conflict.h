#pragma once
// Explains why facts can't hold together. Internal to ir/dim.
#include <vector>

#include "absl/types/span.h"
#include "ir/dim/facts.h"
#include "ir/dim/kept_model.h"
#include "ir/dim/theory.h"

namespace lathe::dim {

// If `claim` makes symbols that may be negative: appends them. That is a lower bound below 0 on a
// symbol alone, or a set with a negative member.
void AppendNegative(const Claim& claim, std::vector<SymbolId>* symbols);

// Whether the claim can't hold together with the theory's claims; `why` gets those that it clashes
// with. Otherwise `model`, a model of the theory's claims, becomes one of this claim as well, or is
// lost. Doesn't change the theory.
bool Clashes(const Theory& theory, const Claim& claim, KeptModel* model, Why* why);

// An irreducible part of `suspects`, a contradictory set among `facts`, by deletion; with an edit.
Conflict Explain(DimContext* context, absl::Span<const Fact> facts, const Why& suspects);

}  // namespace lathe::dim
