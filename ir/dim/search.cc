#include "ir/dim/search.h"

#include <algorithm>
#include <numeric>

#include "ir/dim/evaluate.h"

namespace lathe::dim {
namespace {

constexpr int64_t kEnumerationLimit = 4096;
constexpr int kExhaustiveSteps = 2 * static_cast<int>(kEnumerationLimit);
constexpr int kModelSteps = 400;
constexpr int kWitnessSteps = 25;

uint64_t Hash(uint64_t a, uint64_t b) {
  uint64_t h = (a + 1) * 0x9e3779b97f4a7c15ull ^ (b + 1) * 0xc2b2ae3d27d4eb4full;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9ull;
  return h ^ (h >> 32);
}

Truth Check(const Constraint& c, const Values& values) {
  int64_t v = 0;
  if (!TryEvaluate(c.e, values, &v)) return Truth::kUndefined;
  bool holds = c.sense == Sense::kEq   ? v == 0
               : c.sense == Sense::kNe ? v != 0
               : c.sense == Sense::kGe ? v >= 0
                                       : std::binary_search(c.set.begin(), c.set.end(), v);
  return holds ? Truth::kTrue : Truth::kFalse;
}

std::vector<SymbolId> SymbolsOf(const Claim& c) {
  std::vector<SymbolId> all = FreeSymbols(c.lhs), more = FreeSymbols(c.rhs), both;
  std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(both));
  return both;
}

}  // namespace

// One depth-first walk over the values of `order`; the other symbols keep theirs.
struct ModelFinder::Walk {
  std::vector<SymbolId> order;    // unsolved symbols, ascending
  std::vector<SymbolId> symbols;  // these and the solved ones
  Values values;
  const struct Check* goal = nullptr;  // what the model shall satisfy as well, at `goal_symbol`
  SymbolId goal_symbol = 0;
  int strategy = 0;
  bool exhaustive = false;
  int steps = 0;
  bool cut = false;  // something was left untried
};

ModelFinder::ModelFinder(const Theory* theory) : theory_(*theory) {
  for (size_t i = 0; i < theory_.claims().size(); ++i) {
    std::vector<SymbolId> symbols = SymbolsOf(theory_.claims()[i]);
    Connect(symbols);
    if (symbols.empty()) ground_claims_.push_back(i);
    for (SymbolId s : symbols) {
      if (claims_of_.size() <= s) claims_of_.resize(s + 1);
      claims_of_[s].push_back(i);
    }
  }
  for (const Constraint& c : theory_.constraints()) {
    std::vector<SymbolId> symbols = FreeSymbols(c.e);
    Connect(symbols);
    // The equations that define solved symbols hold by construction.
    bool defines = std::any_of(symbols.begin(), symbols.end(),
                               [&](SymbolId s) { return theory_.IsSolved(s); });
    if (defines || symbols.empty()) continue;
    SymbolId last = symbols.back();
    if (checks_.size() <= last) checks_.resize(last + 1);
    checks_[last].push_back(MakeCheck(c, last));
  }
  for (const auto& [symbol, value] : theory_.solved()) {
    std::vector<SymbolId> symbols = FreeSymbols(value);
    symbols.push_back(symbol);
    Connect(symbols);
  }
  components_.resize(parent_.size());
  for (SymbolId s = 0; s < components_.size(); ++s) components_[Root(s)].push_back(s);
}

ModelFinder::Check ModelFinder::MakeCheck(const Constraint& c, SymbolId last) const {
  struct Check check;
  check.constraint = c;
  check.affine = SplitAffine(c.e, last, &check.slope, &check.rest);
  return check;
}

SymbolId ModelFinder::Root(SymbolId s) {
  while (parent_.size() <= s) parent_.push_back(static_cast<SymbolId>(parent_.size()));
  while (parent_[s] != s) s = parent_[s] = parent_[parent_[s]];
  return s;
}

void ModelFinder::Connect(const std::vector<SymbolId>& symbols) {
  for (size_t i = 1; i < symbols.size(); ++i) {
    SymbolId a = Root(symbols[0]), b = Root(symbols[i]);
    parent_[b] = a;
  }
  if (!symbols.empty()) Root(symbols[0]);
}

std::vector<SymbolId> ModelFinder::Closure(const std::vector<SymbolId>& roots) {
  std::vector<SymbolId> all;
  for (SymbolId s : roots) {
    if (s >= components_.size()) {
      all.push_back(s);  // in no claim
      continue;
    }
    const std::vector<SymbolId>& tied = components_[Root(s)];
    all.insert(all.end(), tied.begin(), tied.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

int64_t ModelFinder::DomainSize(SymbolId s, int64_t limit) const {
  if (theory_.IsSolved(s)) return 1;
  const Known& k = theory_.Of(s);
  if (!k.set.empty()) return static_cast<int64_t>(k.set.size());
  if (k.range.min == kUnboundedMin || k.range.max == kUnboundedMax) return limit + 1;
  __int128 count = static_cast<__int128>(k.range.max) - k.range.min;
  count = count / std::max<int64_t>(1, k.congruence.modulus) + 1;
  return count > limit ? limit + 1 : static_cast<int64_t>(count);
}

bool ModelFinder::DomainProduct(const std::vector<SymbolId>& symbols, int64_t limit) const {
  int64_t product = 1;
  for (SymbolId s : symbols) {
    product *= DomainSize(s, limit);
    if (product > limit) return false;
  }
  return true;
}

// The values to try for `s` when all earlier symbols have theirs. False if there are none.
bool ModelFinder::Candidates(const Walk& walk, SymbolId s, std::vector<int64_t>* out) const {
  out->clear();
  const Known& k = theory_.Of(s);
  Interval r = k.range;
  auto bound = [&](const struct Check& check) {
    int64_t slope = 0, rest = 0;
    if (!check.affine || !TryEvaluate(check.slope, walk.values, &slope) ||
        !TryEvaluate(check.rest, walk.values, &rest) || slope == 0 || rest == INT64_MIN) {
      return;
    }
    Interval target = check.constraint.sense == Sense::kEq   ? Exactly(-rest)
                      : check.constraint.sense == Sense::kGe ? Interval{-rest, kUnboundedMax}
                                                             : Interval{};
    r = Intersect(r, UnscaleInterval(target, slope));
  };
  if (s < checks_.size()) {
    for (const struct Check& check : checks_[s]) bound(check);
  }
  if (walk.goal != nullptr && walk.goal_symbol == s) bound(*walk.goal);
  r = Tighten(r, k.congruence);
  if (r.empty()) return false;
  if (!k.set.empty()) {
    for (int64_t v : k.set) {
      if (Contains(r, v)) out->push_back(v);
    }
    if (!walk.exhaustive && out->size() > 1) {
      std::rotate(out->begin(),
                  out->begin() + static_cast<std::ptrdiff_t>(
                                     walk.strategy == 0 ? 0 : Hash(s, walk.strategy) % out->size()),
                  out->end());
    }
    return !out->empty();
  }
  int64_t step = std::max<int64_t>(1, k.congruence.modulus);
  if (walk.exhaustive) {  // the caller has checked that the domain is small
    for (__int128 v = r.min; v <= r.max; v += step) out->push_back(static_cast<int64_t>(v));
    return true;
  }
  auto add = [&](__int128 v) {
    if (v < r.min || v > r.max) return;
    int64_t value = static_cast<int64_t>(v);
    if (std::find(out->begin(), out->end(), value) == out->end()) out->push_back(value);
  };
  // Unbounded ends are replaced by sizes that products of a few of them survive.
  __int128 low = r.min, high = r.max, wide = step;
  if (r.min == kUnboundedMin) low = r.max == kUnboundedMax ? -wide * 50 : high - wide * 1000;
  if (r.max == kUnboundedMax) high = low + wide * 1000;
  low += ((k.congruence.remainder - low) % step + step) % step;
  __int128 count = (high - low) / step + 1;
  auto pick = [&](uint64_t i) { add(low + static_cast<__int128>(i) % count * step); };
  switch (walk.strategy % 4) {
    case 1:
      pick(static_cast<uint64_t>(count - 1));
      break;
    case 2:
      pick(Hash(s, walk.strategy) % 7);
      break;
    case 3:
      pick(Hash(s, walk.strategy) % (uint64_t{1} << 40));
      break;
    default:
      if (walk.strategy >= 4) pick(1);
  }
  for (uint64_t i = 0; i < 4; ++i) pick(i);
  if (low <= 0 && high >= 0) {
    for (int v : {0, 1, -1}) {
      if (Contains(k.congruence, v)) add(v);
    }
  }
  pick(static_cast<uint64_t>(count - 1));
  if (count > 2) pick(static_cast<uint64_t>(count - 2));
  pick(static_cast<uint64_t>(count / 2));
  for (uint64_t i = 0; i < 4; ++i) pick(Hash(s, i + 17));
  for (uint64_t i = 4; i < 12; ++i) pick(i);
  if (r.max == kUnboundedMax) add(low + wide * 65536);
  return !out->empty();
}

bool ModelFinder::Consistent(const Walk& walk, SymbolId s) const {
  if (s < checks_.size()) {
    for (const struct Check& check : checks_[s]) {
      Truth t = dim::Check(check.constraint, walk.values);
      // Undefined in this form may be defined in the claim's own form: that is seen at the leaf.
      if (t == Truth::kFalse || (t == Truth::kUndefined && !walk.exhaustive)) return false;
    }
  }
  if (walk.goal == nullptr || walk.goal_symbol != s) return true;
  return walk.exhaustive || dim::Check(walk.goal->constraint, walk.values) != Truth::kFalse;
}

bool ModelFinder::FillSolved(const std::vector<SymbolId>& symbols, Values* values) const {
  for (SymbolId s : symbols) {
    auto it = theory_.solved().find(s);
    if (it == theory_.solved().end()) continue;
    int64_t v = 0;
    if (!TryEvaluate(it->second, *values, &v)) return false;
    if (v < 0 && !theory_.MayBeNegative(s)) return false;
    (*values)[s] = v;
  }
  return true;
}

bool ModelFinder::Satisfies(const std::vector<SymbolId>& symbols, const Values& values) const {
  for (SymbolId s : symbols) {
    if (values[s] < 0 && !theory_.MayBeNegative(s)) return false;
    if (s >= claims_of_.size()) continue;
    for (size_t i : claims_of_[s]) {
      if (TryEvaluate(theory_.claims()[i], values) != Truth::kTrue) return false;
    }
  }
  return true;
}

// Calls `leaf` for each model found, until it returns true; true if it did.
template <typename Leaf>
bool ModelFinder::Enumerate(Walk* walk, Leaf leaf) const {
  size_t n = walk->order.size();
  std::vector<std::vector<int64_t>> candidates(n);
  std::vector<size_t> next(n, 0);
  size_t level = 0;
  auto at_leaf = [&] {
    return FillSolved(walk->symbols, &walk->values) && Satisfies(walk->symbols, walk->values) &&
           leaf();
  };
  if (n == 0) return at_leaf();
  if (!Candidates(*walk, walk->order[0], &candidates[0])) return false;
  while (true) {
    if (next[level] == candidates[level].size()) {
      if (level == 0) return false;
      --level;
      continue;
    }
    if (walk->steps-- <= 0) {
      walk->cut = true;
      return false;
    }
    SymbolId s = walk->order[level];
    walk->values[s] = candidates[level][next[level]++];
    if (!Consistent(*walk, s)) continue;
    if (level + 1 == n) {
      if (at_leaf()) return true;
      continue;
    }
    if (Candidates(*walk, walk->order[level + 1], &candidates[level + 1])) next[++level] = 0;
  }
}

bool ModelFinder::MakeModel(int strategy, const Values* fallback, Values* values) {
  for (size_t i : ground_claims_) {
    if (TryEvaluate(theory_.claims()[i], *values) != Truth::kTrue) return false;
  }
  std::vector<uint8_t> done(values->size(), 0);
  Walk walk;
  walk.values = *values;
  walk.strategy = strategy;
  for (SymbolId s = 0; s < values->size(); ++s) {
    if (done[s] != 0) continue;
    walk.symbols = Closure({s});
    walk.order.clear();
    for (SymbolId x : walk.symbols) {
      done[x] = 1;
      if (!theory_.IsSolved(x)) walk.order.push_back(x);
    }
    walk.steps = kModelSteps;
    if (Enumerate(&walk, [] { return true; })) continue;
    if (fallback == nullptr) {
      if (!DomainProduct(walk.order, kEnumerationLimit)) return false;
      walk.exhaustive = true;
      walk.steps = kExhaustiveSteps;
      walk.cut = false;
      const bool found = Enumerate(&walk, [] { return true; });
      walk.exhaustive = false;
      if (found) continue;
      if (!walk.cut) contradiction_ = ClaimsOf(walk.symbols);
      return false;
    }
    for (SymbolId x : walk.symbols) walk.values[x] = (*fallback)[x];
  }
  *values = std::move(walk.values);
  return true;
}

Why ModelFinder::ClaimsOf(const std::vector<SymbolId>& symbols) const {
  Why ids;
  for (SymbolId s : symbols) {
    if (s >= claims_of_.size()) continue;
    for (size_t i : claims_of_[s]) ids.push_back(theory_.ids()[i]);
  }
  return ids;
}

const Values* ModelFinder::Model(int index, int num_symbols) {
  size_t n = static_cast<size_t>(num_symbols);
  auto& model = models_[index];
  if (!model.tried) {
    const Values* fallback = index == 0 ? nullptr : Model(0, num_symbols);
    model.tried = true;
    model.values.assign(n, 0);
    model.found = contradiction_.empty() && MakeModel(index, fallback, &model.values);
  }
  // Symbols made since then are in no claim.
  for (size_t s = model.values.size(); s < n; ++s) {
    model.values.push_back(
        index == 0 ? 0 : static_cast<int64_t>(Hash(s, index) % (index < 3 ? 7 : 1000)));
  }
  return model.found ? &model.values : nullptr;
}

ModelFinder::Outcome ModelFinder::Break(const Claim& claim, int num_symbols, Limits limits,
                                        Values* model, Why* why) {
  const Values* base = nullptr;
  for (int i = 0; i < kModels && base == nullptr; ++i) base = Model(i, num_symbols);
  Walk walk;
  walk.symbols = Closure(SymbolsOf(claim));
  for (SymbolId s : walk.symbols) {
    if (!theory_.IsSolved(s)) walk.order.push_back(s);
  }
  bool covers_all = std::all_of(ground_claims_.begin(), ground_claims_.end(), [&](size_t i) {
    return TryEvaluate(theory_.claims()[i], {}) == Truth::kTrue;
  });
  for (SymbolId s = 0; covers_all && s < claims_of_.size(); ++s) {
    covers_all =
        claims_of_[s].empty() || std::binary_search(walk.symbols.begin(), walk.symbols.end(), s);
  }
  if (base != nullptr) {
    walk.values = *base;
  } else {
    walk.values.assign(static_cast<size_t>(num_symbols), 0);
  }
  bool witness = covers_all || base != nullptr;  // else the other symbols have no model
  if (limits.enumeration > 0 && DomainProduct(walk.order, limits.enumeration)) {
    walk.exhaustive = true;
    walk.steps = 2 * static_cast<int>(limits.enumeration);
    bool undefined = false;
    bool broken = Enumerate(&walk, [&] {
      Truth t = TryEvaluate(claim, walk.values);
      undefined |= t == Truth::kUndefined;
      return t == Truth::kFalse;
    });
    if (broken) {
      *model = walk.values;
      return witness ? Outcome::kFound : Outcome::kGaveUp;
    }
    if (walk.cut || undefined) return Outcome::kGaveUp;
    *why = ClaimsOf(walk.symbols);
    return Outcome::kNone;
  }
  if (base == nullptr) return Outcome::kGaveUp;  // nor would it find one that breaks the claim
  Claim negated = Not(claim);
  struct Check goal;
  if (claim.relation != Relation::kIn) {
    Constraint c = ToConstraint(negated);
    c.e = theory_.Resolve(c.e, nullptr);
    std::vector<SymbolId> symbols = FreeSymbols(c.e);
    if (c.e.ok() && !symbols.empty()) {
      goal = MakeCheck(c, symbols.back());
      walk.goal = &goal;
      walk.goal_symbol = symbols.back();
    }
  }
  for (int strategy = 0; strategy < limits.strategies; ++strategy) {
    walk.strategy = strategy;
    walk.steps = kWitnessSteps;
    if (Enumerate(&walk, [&] { return TryEvaluate(claim, walk.values) == Truth::kFalse; })) {
      *model = walk.values;
      return Outcome::kFound;
    }
  }
  return Outcome::kGaveUp;
}

std::vector<int64_t> ModelFinder::ValuesOf(Dim d, Why* why) {
  Walk walk;
  walk.symbols = Closure(FreeSymbols(d));
  for (SymbolId s : walk.symbols) {
    if (!theory_.IsSolved(s)) walk.order.push_back(s);
  }
  if (!DomainProduct(walk.order, kEnumerationLimit)) return {};
  walk.exhaustive = true;
  walk.steps = kExhaustiveSteps;
  walk.values.assign(walk.symbols.empty() ? 0 : walk.symbols.back() + 1, 0);
  std::vector<int64_t> found;
  bool undefined = false;
  Enumerate(&walk, [&] {
    int64_t v = 0;
    undefined |= !TryEvaluate(d, walk.values, &v);
    auto it = std::lower_bound(found.begin(), found.end(), v);
    if (it == found.end() || *it != v) found.insert(it, v);
    return undefined || found.size() > kSetLimit;
  });
  if (walk.cut || undefined || found.size() > kSetLimit) return {};
  if (why != nullptr) *why = ClaimsOf(walk.symbols);
  return found;
}

}  // namespace lathe::dim
