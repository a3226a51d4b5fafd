#include "ir/nearest.h"

#include <vector>

namespace lathe::ir {
namespace {

// The constants beside `size` in a claim, and their neighbours.
void AppendBounds(Dim size, const Claim& claim, std::vector<int64_t>* out) {
  if (claim.relation == Relation::kIn) {
    if (claim.lhs == size) out->insert(out->end(), claim.set.begin(), claim.set.end());
    return;
  }
  for (const auto& [one, other] : {std::pair(claim.lhs, claim.rhs), {claim.rhs, claim.lhs}}) {
    if (one != size || !other.is_constant()) continue;
    for (int64_t step : {-1, 0, 1}) {
      int64_t bound = 0;
      if (!__builtin_add_overflow(other.constant(), step, &bound)) out->push_back(bound);
    }
  }
}

}  // namespace

std::optional<int64_t> NearestPassing(int64_t found, Dim size, absl::Span<const Claim> claims,
                                      absl::FunctionRef<bool(int64_t)> passes) {
  constexpr int64_t kReach = 4096;
  for (int64_t step = 0; step <= kReach; ++step) {
    int64_t up = 0, down = 0;
    if (!__builtin_add_overflow(found, step, &up) && up != 0 && passes(up)) return up;
    if (!__builtin_sub_overflow(found, step, &down) && down != 0 && passes(down)) return down;
  }
  std::vector<int64_t> far;
  for (const Claim& claim : claims) AppendBounds(size, claim, &far);
  for (int64_t half = found / 2; half > 0; half /= 2) far.push_back(half);
  std::optional<int64_t> best;
  const auto distance = [&](int64_t v) {
    return v > found ? static_cast<uint64_t>(v) - static_cast<uint64_t>(found)
                     : static_cast<uint64_t>(found) - static_cast<uint64_t>(v);
  };
  for (int64_t v : far) {
    if ((!best || distance(v) < distance(*best)) && passes(v)) best = v;
  }
  if (!best && passes(0)) return 0;
  return best;
}

}  // namespace lathe::ir
