#pragma once
// Facts about sizes: what is known, from where, and what follows (docs/architecture.md).
//
//   FactSet facts(&ctx);
//   facts.Add(seq <= 8192, Standing::kDeclared, {"dim seq", "demo.lathe:1"});
//   facts.Prove(Eq(Mod(8 * seq, 4), 0)).verdict == Verdict::kProved
//
// Theory: interval x congruence x equality (solved both ways) x finite set, in one fixed point of
// bounded effort; what that leaves open is decided by linear arithmetic over the integers with
// splits (decide.h), and small domains by trying them. Every symbol is >= 0 unless it was declared
// or derived with a lower bound below 0 of its own (-5 <= i) or a set with a negative member. What
// is said of an expression holds wherever the expression is defined: no division by 0, no overflow.
// Copyable; a copy is independent of its original. Thread-compatible, and asking builds Dims: what
// DimContext says of building holds for all methods but facts() and context().
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/dim/context.h"
#include "lathe/dim.h"

namespace lathe::dim {

// declared: by the user, checked once at entry. required: an op needs it; usable only after its
// check has passed. derived: follows from others.
enum class Standing : uint8_t { kDeclared, kRequired, kDerived };
const char* Name(Standing s);

struct Source {
  std::string what;   // "dim seq", "reshape %3 needs its count", "then-branch of if %9"
  std::string where;  // "file:line", or empty
  // Of a required fact: what the user would declare to know it, if that is said more simply.
  std::string declare = {};
};

using FactId = int32_t;

struct Fact {
  FactId id = 0;
  Claim claim;
  Standing standing = Standing::kDeclared;
  Source source;
  std::vector<FactId> from;  // derived facts: their reasons
};

inline constexpr int64_t kUnboundedMax = INT64_MAX;  // ends of intervals saturate here
inline constexpr int64_t kUnboundedMin = INT64_MIN;

struct Interval {
  int64_t min = kUnboundedMin, max = kUnboundedMax;  // inclusive; empty if min > max
  bool empty() const { return min > max; }
};

// value == remainder (mod modulus). modulus 1: nothing known; modulus 0: exactly `remainder`.
struct Congruence {
  int64_t modulus = 1, remainder = 0;
};

enum class Verdict : uint8_t { kProved, kRefuted, kUnknown };
const char* Name(Verdict v);  // "proved", "refuted", "unknown"

struct Answer {
  Verdict verdict = Verdict::kUnknown;
  std::vector<FactId> used;      // proved: the facts that it rests on
  std::vector<int64_t> witness;  // refuted: a value for every symbol of the context
  std::string hint;              // unknown: a fact that would decide it, if one is known
};

// An irreducible set of facts that can't hold together, and one edit that mends it.
struct Conflict {
  std::vector<FactId> core;
  std::string edit;
  std::string ToString(const class FactSet& facts) const;
};

class FactSet {
 public:
  explicit FactSet(DimContext* context);
  FactSet(const FactSet&);
  FactSet& operator=(const FactSet&);
  ~FactSet();

  // FailedPrecondition with the conflict's text if `claim` contradicts what is known; the fact is
  // then not added. InvalidArgument for a poisoned Dim or a Dim of another context.
  // `conflict`, if not null, gets the conflict; in its core the refused fact has the id that it
  // would have got, facts().size(). A derived fact that follows from others gets `from`.
  absl::StatusOr<FactId> Add(const Claim& claim, Standing standing, Source source,
                             Conflict* conflict = nullptr);
  // Adds each claim of a spec about `subject`: "1..8192, % 8 == 0", ">= 1", "in {1,2,4}", "?",
  // or of a free constraint list such as "seq % 64 == 0, batch <= 8" when `subject` is null.
  absl::Status AddSpec(const Dim* subject, std::string_view spec, Source source);

  // Takes back all facts but the first `count`.
  void KeepFirst(size_t count);

  const std::vector<Fact>& facts() const;
  DimContext* context() const;

  // Facts of standing kRequired are used only if `use_required`, here as below.
  Interval Range(Dim d, bool use_required = false) const;
  Congruence CongruenceOf(Dim d, bool use_required = false) const;
  // The smallest known finite set of values of `d` (at most 64), or empty if none is known.
  std::vector<int64_t> Values(Dim d, bool use_required = false) const;

  // Bounded effort, hence repeatable.
  Answer Prove(const Claim& claim, bool use_required = false) const;
  // With a tenth of that effort, some 50 microseconds at most: for choices where `unknown` is
  // always a right answer, which are many. What refuses a program otherwise asks Prove.
  Answer ProveQuickly(const Claim& claim) const;
  // The same with small domains left to the theory, too: for tests of the theory.
  Answer ProveWithoutTrying(const Claim& claim, bool use_required = false) const;
  bool Proves(const Claim& claim) const { return Prove(claim).verdict == Verdict::kProved; }
  bool ProvesQuickly(const Claim& claim) const {
    return ProveQuickly(claim).verdict == Verdict::kProved;
  }

  // `d` rewritten under the facts to an equal, not larger expression: 4*n//4 -> n, min(n, 8) -> n
  // if n <= 8, symbols with one value -> that value, equalities -> their representative.
  Dim Simplify(Dim d) const;

  // Human-readable list of what is known of `d`, one line a fact, with source and standing.
  std::string Describe(Dim d) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Parses "batch*seq", "ceildiv(seq, 16)", "min(a, b) // 2" into a Dim; new names become symbols
// if `make_symbols`, otherwise they are NotFound errors. Errors name the column.
absl::StatusOr<Dim> ParseDim(std::string_view text, DimContext* context, bool make_symbols);
// "seq % 8 == 0", "a <= b", "batch in {1,2}", "1 <= seq <= 64" (two claims).
absl::StatusOr<std::vector<Claim>> ParseClaims(std::string_view text, DimContext* context,
                                               bool make_symbols);

}  // namespace lathe::dim
