// Which facts take part in a decision, and which models it accepts.
#include <algorithm>

#include "ir/dim/decide.h"
#include "ir/dim/evaluate.h"

namespace lathe::dim {
namespace {

constexpr int kTruncatedNodes = 2;

// The claims that are tied to some symbols, nearest first, and all their symbols.
class Neighbourhood {
 public:
  Neighbourhood(const Theory& theory, size_t limit) : theory_(theory), limit_(limit) {}

  void Add(const Claim& c) {
    for (Dim d : {c.lhs, c.rhs}) {
      for (SymbolId s : FreeSymbols(d)) {
        if (std::find(symbols_.begin(), symbols_.end(), s) == symbols_.end()) symbols_.push_back(s);
      }
    }
  }

  void Grow() {
    for (size_t next = 0; next < symbols_.size() && claims_.size() < limit_; ++next) {
      theory_.ForEachClaim(symbols_[next], [&](int i) {
        if (std::find(claims_.begin(), claims_.end(), i) != claims_.end()) return true;
        claims_.push_back(i);
        Add(theory_.claims()[static_cast<size_t>(i)]);
        return claims_.size() < limit_;
      });
    }
    std::sort(claims_.begin(), claims_.end());
  }

  // Whether claims that are tied to the symbols were left out.
  bool truncated() const { return claims_.size() >= limit_; }
  const std::vector<int>& claims() const { return claims_; }
  const std::vector<SymbolId>& symbols() const { return symbols_; }

 private:
  const Theory& theory_;
  size_t limit_;
  std::vector<int> claims_;
  std::vector<SymbolId> symbols_;
};

}  // namespace

Decision Decide(const Theory& theory, const Claim& claim, bool deny, int num_symbols,
                const std::vector<int64_t>& base, bool base_is_model, DecideLimits limits,
                Refutation* refutation) {
  Neighbourhood near(theory, limits.facts);
  near.Add(claim);
  near.Grow();
  // A point of some of the facts is seldom a model of all: splitting it further rarely helps.
  if (near.truncated()) limits.nodes = std::min(limits.nodes, kTruncatedNodes);
  Truth wanted = deny ? Truth::kFalse : Truth::kTrue;
  auto accept = [&](const std::vector<int64_t>& values) {
    if (TryEvaluate(claim, values) != wanted) return false;
    if (!base_is_model) {
      for (const Claim& c : theory.claims()) {
        if (TryEvaluate(c, values) != Truth::kTrue) return false;
      }
      for (SymbolId s = 0; s < values.size(); ++s) {
        if (values[s] < 0 && !theory.MayBeNegative(s)) return false;
      }
      return true;
    }
    // The other symbols keep the values of a model: only what these symbols are in can break.
    for (SymbolId s : near.symbols()) {
      if (values[s] < 0 && !theory.MayBeNegative(s)) return false;
      bool holds = true;
      theory.ForEachClaim(s, [&](int i) {
        holds = TryEvaluate(theory.claims()[static_cast<size_t>(i)], values) == Truth::kTrue;
        return holds;
      });
      if (!holds) return false;
    }
    return true;
  };
  Decision decision;
  decision.values = base;
  decision.values.resize(static_cast<size_t>(num_symbols), 0);
  // With the facts named in `only`, or all that are near.
  auto run = [&](const Why* only) {
    Decider decider(theory, limits);
    if (deny) {
      decider.Deny(claim);
    } else {
      decider.Assume(-1, ToConstraint(claim));
    }
    for (int i : near.claims()) {
      size_t index = static_cast<size_t>(i);
      FactId id = theory.ids()[index];
      if (only != nullptr && !std::binary_search(only->begin(), only->end(), id)) continue;
      decider.Assume(id, theory.claim_constraints()[index]);
    }
    Decider::Outcome outcome = decider.Run(&decision.values, accept);
    if (outcome != Decider::Outcome::kRefuted) return outcome;
    decision.used = decider.refutation().used;
    decision.splits = decider.refutation().nodes.size() > 1;
    if (refutation != nullptr) *refutation = decider.refutation();
    return outcome;
  };
  decision.outcome = run(nullptr);
  if (decision.outcome != Decider::Outcome::kRefuted || !decision.splits ||
      decision.used.size() == near.claims().size()) {
    return decision;
  }
  // The facts named shall carry the proof alone, within the same bounds: other splits are tried
  // when others are missing.
  Why named = decision.used;
  if (run(&named) == Decider::Outcome::kRefuted && decision.used == named) return decision;
  decision.used.clear();
  for (int i : near.claims()) decision.used.push_back(theory.ids()[static_cast<size_t>(i)]);
  if (refutation != nullptr) run(nullptr);
  Canonicalize(&decision.used);
  return decision;
}

}  // namespace lathe::dim
