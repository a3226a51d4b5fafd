#pragma once
// Random size expressions with a plain evaluation that knows nothing of canonical forms: the oracle
// of the fuzz tests. Seeds are printed by the tests that use it.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ir/dim/context.h"
#include "lathe/dim.h"

namespace lathe::dim {

// An expression as it was written.
struct Tree {
  enum Op { kConst, kSymbol, kAdd, kSub, kMul, kFloorDiv, kMod, kCeilDiv, kMin, kMax };
  Op op = kConst;
  int64_t value = 0;  // the constant, or the symbol's id
  std::shared_ptr<Tree> a, b;
};

inline int64_t PlainFloorDiv(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q * b > a ? (b > 0 ? q - 1 : q) : (q * b < a && b < 0 ? q - 1 : q);
}

// Undefined if something divides by 0; the values of the tests never overflow.
inline std::optional<int64_t> PlainEvaluate(const Tree& t, const std::vector<int64_t>& values) {
  if (t.op == Tree::kConst) return t.value;
  if (t.op == Tree::kSymbol) return values[static_cast<size_t>(t.value)];
  std::optional<int64_t> a = PlainEvaluate(*t.a, values), b = PlainEvaluate(*t.b, values);
  if (!a || !b) return std::nullopt;
  switch (t.op) {
    case Tree::kAdd:
      return *a + *b;
    case Tree::kSub:
      return *a - *b;
    case Tree::kMul:
      return *a * *b;
    case Tree::kMin:
      return *a < *b ? *a : *b;
    case Tree::kMax:
      return *a > *b ? *a : *b;
    default:
      break;
  }
  if (*b == 0) return std::nullopt;
  int64_t q = PlainFloorDiv(*a, *b);
  if (t.op == Tree::kFloorDiv) return q;
  if (t.op == Tree::kMod) return *a - q * *b;
  return q * *b == *a ? q : q + 1;
}

inline Dim Build(const Tree& t, DimContext* context) {
  if (t.op == Tree::kConst) return t.value;
  if (t.op == Tree::kSymbol) return context->SymbolDim(static_cast<SymbolId>(t.value));
  Dim a = Build(*t.a, context), b = Build(*t.b, context);
  switch (t.op) {
    case Tree::kAdd:
      return a + b;
    case Tree::kSub:
      return a - b;
    case Tree::kMul:
      return a * b;
    case Tree::kFloorDiv:
      return FloorDiv(a, b);
    case Tree::kMod:
      return Mod(a, b);
    case Tree::kCeilDiv:
      return CeilDiv(a, b);
    case Tree::kMin:
      return Min(a, b);
    default:
      return Max(a, b);
  }
}

class RandomDims {
 public:
  RandomDims(uint64_t seed, int num_symbols) : random_(seed), num_symbols_(num_symbols) {}

  int64_t Int(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool Chance(int percent) { return Int(0, 99) < percent; }

  std::shared_ptr<Tree> Expression(int depth) {
    auto t = std::make_shared<Tree>();
    if (depth == 0 || Chance(15)) {
      t->op = Chance(30) ? Tree::kConst : Tree::kSymbol;
      t->value = t->op == Tree::kConst ? Int(-5, 12) : Int(0, num_symbols_ - 1);
      return t;
    }
    static constexpr Tree::Op kOps[] = {Tree::kAdd,      Tree::kAdd, Tree::kAdd, Tree::kSub,
                                        Tree::kSub,      Tree::kMul, Tree::kMul, Tree::kFloorDiv,
                                        Tree::kFloorDiv, Tree::kMod, Tree::kMod, Tree::kCeilDiv,
                                        Tree::kMin,      Tree::kMax};
    t->op = kOps[Int(0, 13)];
    t->a = Expression(depth - 1);
    bool divides = t->op == Tree::kFloorDiv || t->op == Tree::kMod || t->op == Tree::kCeilDiv;
    if (divides && Chance(75)) {
      t->b = std::make_shared<Tree>();
      t->b->value = Chance(85) ? Int(1, 9) : Int(-6, -1);
    } else {
      t->b = Expression(depth - 1);
    }
    return t;
  }

 private:
  std::mt19937_64 random_;
  int num_symbols_;
};

// LATHE_FUZZ_SEED repeats a run; LATHE_FUZZ_SCALE multiplies the number of rounds.
inline uint64_t FuzzSeed() {
  const char* given = std::getenv("LATHE_FUZZ_SEED");
  // Without either a run repeats, because some tests bound shares of what random draws give.
  const bool anew = std::getenv("LATHE_FULL") != nullptr;
  uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10)
                  : anew           ? std::random_device{}()
                                   : 20261129;
  std::cout << "LATHE_FUZZ_SEED=" << seed << std::endl;
  return seed;
}

inline int FuzzRounds(int rounds) {
  const char* scale = std::getenv("LATHE_FUZZ_SCALE");
  return scale != nullptr ? rounds * std::atoi(scale) : rounds;
}

}  // namespace lathe::dim
