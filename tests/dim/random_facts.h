#pragma once
// Random consistent facts over three symbols, and claims about them of which about half are true.
#include <algorithm>
#include <string>
#include <vector>

#include "ir/dim/facts.h"
#include "random_dims.h"

namespace lathe::dim {

inline Claim RandomClaim(RandomDims* random, DimContext* context, int depth) {
  Dim a, b;
  do {
    a = Build(*random->Expression(depth), context);
    b = random->Chance(50) ? Dim(random->Int(-6, 20))
                           : Build(*random->Expression(depth - 1), context);
  } while (!a.ok() || !b.ok());
  switch (random->Int(0, 9)) {
    case 0:
    case 1:
      return Eq(Mod(a, Dim(random->Int(2, 8))), Dim(random->Int(0, 3)));
    case 2:
      return Eq(a, b);
    case 3:
      return Ne(a, b);
    case 4:
      return In(a, {random->Int(-3, 3), random->Int(-3, 9), random->Int(0, 9), 0, 1, 2});
    case 5:
    case 6:
      return a < b;
    default:
      return a <= b;
  }
}

// Claims that tend to be true: identities, and bounds taken from the models.
inline Claim LikelyClaim(RandomDims* random, DimContext* context,
                         const std::vector<std::vector<int64_t>>& models) {
  Dim a, b;
  do {
    a = Build(*random->Expression(2), context);
    b = Build(*random->Expression(1), context);
  } while (!a.ok() || !b.ok());
  Dim c = random->Int(2, 7);
  switch (random->Int(0, 7)) {
    case 0:
      return Eq(FloorDiv(a, c) * c + Mod(a, c), a);
    case 1:
      return FloorDiv(a, c) * c <= a;
    case 2:
      return Min(a, b) <= Max(a, b);
    case 3:
      return a <= CeilDiv(a, c) * c;
    case 4:
      return Mod(a, c) < c;
    default:
      break;
  }
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (const std::vector<int64_t>& v : models) {
    absl::StatusOr<int64_t> x = Evaluate(a, v);
    if (!x.ok()) continue;
    low = std::min(low, *x);
    high = std::max(high, *x);
  }
  if (low > high) return Eq(a, a);
  return random->Chance(50) ? Dim(low - random->Int(0, 2)) <= a
                            : a <= Dim(high + random->Int(0, 2));
}

// Whether declaring `c` makes a symbol signed, and which.
inline bool MakesSigned(const Claim& c, SymbolId* symbol) {
  int64_t lowest = 0;
  if (c.relation == Relation::kIn && IsSymbol(c.lhs, symbol)) {
    lowest = c.set.front();
  } else if (IsSymbol(c.rhs, symbol) && c.lhs.is_constant()) {
    lowest = c.relation == Relation::kLe   ? c.lhs.constant()
             : c.relation == Relation::kLt ? c.lhs.constant() + 1
                                           : 0;
  }
  return lowest < 0;
}

class RandomFacts {
 public:
  static constexpr int kSymbols = 3;
  static constexpr int64_t kLow = -7, kHigh = 13;  // the box of brute force

  using Values = std::vector<int64_t>;

  RandomFacts(RandomDims* random, DimContext* context)
      : random_(*random), context_(*context), facts_(context) {
    for (const char* name : {"a", "b", "c"}) context->Symbol(name);
    for (SymbolId s = 0; s < kSymbols; ++s) {
      negative_[s] = random_.Chance(40);
      hidden_.push_back(random_.Int(negative_[s] ? kLow : 0, kHigh));
      Dim d = context_.SymbolDim(s);
      if (negative_[s]) Add(Dim(random_.Int(kLow, std::min<int64_t>(hidden_[s], -1))) <= d);
      if (random_.Chance(40)) Add(d <= Dim(random_.Int(hidden_[s], kHigh)));
    }
    int count = static_cast<int>(random_.Int(0, 4));
    for (int i = 0; i < count; ++i) {
      Claim c = RandomClaim();
      if (Truth(c, hidden_) == 1) Add(c);
    }
    Values v(kSymbols);
    for (v[0] = kLow; v[0] <= kHigh; ++v[0]) {
      for (v[1] = kLow; v[1] <= kHigh; ++v[1]) {
        for (v[2] = kLow; v[2] <= kHigh; ++v[2]) {
          if (IsModel(v)) models_.push_back(v);
        }
      }
    }
  }

  // 1 true, 0 false, -1 undefined.
  static int Truth(const Claim& c, const Values& v) {
    absl::StatusOr<bool> t = Evaluate(c, v);
    return t.ok() ? *t : -1;
  }

  bool IsModel(const Values& v) const {
    for (size_t s = 0; s < kSymbols; ++s) {
      if (v[s] < 0 && !negative_[s]) return false;
    }
    return std::all_of(facts_.facts().begin(), facts_.facts().end(),
                       [&](const Fact& f) { return Truth(f.claim, v) == 1; });
  }

  Claim RandomClaim() { return dim::RandomClaim(&random_, &context_, 2); }
  Claim LikelyClaim() { return dim::LikelyClaim(&random_, &context_, models_); }

  std::string Text() const {
    std::string text;
    for (const Fact& f : facts_.facts()) text += f.claim.ToString() + "; ";
    return text;
  }

  const FactSet& facts() const { return facts_; }
  const std::vector<Values>& models() const { return models_; }  // in the box

 private:
  void Add(const Claim& c) {
    if (ContextOf(c.lhs) == nullptr && ContextOf(c.rhs) == nullptr) return;
    SymbolId s = 0;
    if (MakesSigned(c, &s)) negative_[s] = true;
    facts_.Add(c, Standing::kDeclared, {"fuzz", ""}).status().IgnoreError();
  }

  RandomDims& random_;
  DimContext& context_;
  FactSet facts_;
  bool negative_[kSymbols] = {};
  Values hidden_;
  std::vector<Values> models_;
};

}  // namespace lathe::dim
