#pragma once
// Proofs about sizes as plain data: what a proof certificate is. Written by ir/dim/certificate.cc,
// read by Check (check.h), printed for people by ToString. Knows nothing of Dims and of the prover.
//
// An expression is a polynomial over atoms: symbols, and operations that polynomials can't express,
// whose operands are polynomials over earlier atoms. All values are mathematical integers; `//`
// rounds down, `%` has the sign of the divisor. A model is a value for each symbol for which every
// fact is defined and true and no symbol is below 0 unless the problem says that it may be. A
// conclusion holds in every model, whatever one takes x // 0 to be.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe::dim::check {

__extension__ typedef __int128 Int;

using Mono = std::vector<int32_t>;  // atoms, ascending, with repeats; empty: the constant 1
using Poly = std::map<Mono, Int>;   // without zeros

enum class AtomKind : uint8_t {
  kSymbol,    // symbol
  kFloorDiv,  // a // b
  kMod,       // a % b == a - b * (a // b), also for b == 0
  kCeilDiv,   // -((-a) // b), likewise
  kMin,
  kMax,
  kProduct,  // a * b
};

struct Atom {
  AtomKind kind = AtomKind::kSymbol;
  uint32_t symbol = 0;
  Poly a, b;  // over earlier atoms
};

enum class Sense : uint8_t { kGe, kEq, kNe, kIn, kFalse };  // e >= 0, e == 0, e != 0, e in set

struct Statement {
  Sense sense = Sense::kFalse;
  Poly e;
  std::vector<int64_t> set;  // kIn
};

// What is to be proved from what.
struct Problem {
  std::vector<Atom> atoms;
  std::vector<Statement> facts;
  std::vector<uint32_t> negative;  // symbols that may be below 0
  Statement claim;
  std::vector<std::string> names;  // of symbols, for people
};

// `p` stands for premises, in order. A proof of `goal` under an assumption depends on it until
// kCases or kContradiction discharges it.
enum class Rule : uint8_t {
  kFact,         // facts[index]
  kNonNegative,  // x >= 0 for the symbol atom `index`, unless it may be negative
  kAssume,       // any statement
  kCombine,      // S = sum of multipliers[i] * p[i], for p[i] >= 0 a constant >= 0:
                 //   e >= 0  if divisor * e - S is a constant > -divisor (rounding)
                 //   e == 0  if divisor * e == S and all p[i] are equalities
                 //   false   if S is a constant < 0, or all p[i] are equalities and S is no
                 //           multiple of the divisor for whatever its atoms are
  kEqual,        // e >= 0, -e >= 0  |-  e == 0
  kMultiply,     // e >= 0, f >= 0  |-  e * f >= 0
  kSquare,       // multipliers[0]^2 >= 0
  kQuotient,     // atom `index` is q = a // b; p: b - 1 >= 0 or -b - 1 >= 0, none if b is constant
                 //   b > 0: a - b*q >= 0 or b*q + b - 1 - a >= 0; b < 0 alike with signs changed
  kDefinition,   // atom `index` is m = a % b, c = ceildiv(a, b) or x = a * b, and `other` is the
                 // atom a // b or (-a) // b: m - a + b * other == 0, c + other == 0, x - a*b == 0
  kBound,        // min(a, b) <= a, min(a, b) <= b, a <= max(a, b), b <= max(a, b)
  kSelect,       // p: a <= b or b <= a  |-  min(a, b) == a or b; max alike
  kCases,        // p: [source,] then an assumption and a conclusion that it leads to for each case;
           //   |- the common conclusion. Cases: without source d >= 0 and -d - 1 >= 0, or d == 0
           //   and d != 0; of e != 0: e - 1 >= 0 and -e - 1 >= 0; of e in set: e - v == 0 for each
           //   v
  kContradiction,  // p: an assumption, and false which it leads to  |-  its opposite
  kAbsurd,         // p: false  |-  anything
  kMember,         // p: e - v == 0  |-  e in set, if v is a member
  kDefined,    // p: a fact that has the //, % or ceildiv atom `index` in it  |-  its divisor != 0
  kEnumerate,  // p: bounds of symbols (k*x + c >= 0, x + c in set, x == rest, which binds x, or
               // gives its residue), and other statements. Every point within the bounds at which
               // all p hold was tried, and the conclusion is true there
};

struct Step {
  Rule rule = Rule::kFact;
  std::vector<int32_t> premises;  // earlier steps
  std::vector<Poly> multipliers;
  Int divisor = 1;
  int32_t index = 0;  // a fact or an atom
  int32_t other = 0;  // an atom
  Statement conclusion;
};

struct Certificate {
  std::vector<Atom> atoms;  // more atoms, counted on from the problem's
  std::vector<Step> steps;  // the last one concludes the claim, without assumptions
};

// "s >= 0", "8*(s // 8) - s == 0"; one line a step for a certificate.
std::string ToString(const Problem& problem, const Certificate& c, const Poly& e);
std::string ToString(const Problem& problem, const Certificate& c, const Statement& s);
std::string ToString(const Problem& problem, const Certificate& c);

}  // namespace lathe::dim::check
