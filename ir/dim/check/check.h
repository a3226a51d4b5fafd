#pragma once
// The proof checker: replays a certificate step by step. Independent of everything that finds
// proofs: it knows only the plain data of proof.h. Safe on any input, however malformed; time and
// space are bounded by the size of the input and kPointLimit.
#include <vector>

#include "absl/status/status.h"
#include "ir/dim/check/proof.h"

namespace lathe::dim::check {

inline constexpr int kPointLimit = 1 << 16;  // that one kEnumerate may try

// OK if the certificate proves the problem's claim from its facts. Otherwise InvalidArgument that
// names the step and what is wrong with it.
absl::Status Check(const Problem& problem, const Certificate& certificate);

// OK if `values`, by symbol, satisfy all facts and break the claim.
absl::Status CheckWitness(const Problem& problem, const std::vector<int64_t>& values);

}  // namespace lathe::dim::check
