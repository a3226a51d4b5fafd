#pragma once
// The two ways to a proof of a claim that Prove has proved. Both write into a ProofWriter of the
// problem, and return the step that concludes its claim, or -1. Internal to ir/dim.
#include <vector>

#include "ir/dim/certificate.h"
#include "ir/dim/node.h"

namespace lathe::dim {

// The refutation that the Decider (decide.h) finds, step by step (certificate_refutation.cc).
// The problem is that of the facts `ids`; `effort` multiplies the limits.
int ProofByRefutation(const FactSet& facts, const std::vector<FactId>& ids, const Claim& claim,
                      int effort, const check::Problem& problem, ProofWriter* writer);

// A search of its own (certificate_search.cc): slower, and it also tries small domains point by
// point.
int SearchForProof(const check::Problem& problem, ProofWriter* writer);

check::AtomKind AtomKindOf(NodeKind kind);

}  // namespace lathe::dim
