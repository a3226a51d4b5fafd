#pragma once
// ConstraintDatabase: what is demanded of named sizes, and of several together, with one question:
// can all of it hold? For tools that collect demands before a program exists.
//
//   ConstraintDatabase db(&ctx);
//   db.Add("seq", {.min = 5, .max = 7}, {"config", "run.cfg:3"});
//   db.Add("seq", {.divisible_by = 8}, {"kernel", ""});
//   db.Check().ToString()     // "these facts about sizes can't hold together: ..."
//
// Sizes are >= 0 unless a lower end below 0 is set for them (or a set with such a member). What it
// answers is FactSet's: feasible comes with sizes that were tried, infeasible with a conflict of
// which no part can be left out. Copyable; thread-compatible, as DimContext is.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/dim/constraint.h"

namespace lathe::dim {

enum class Feasible : uint8_t { kYes, kNo, kUnknown };

struct Feasibility {
  Feasible answer = Feasible::kUnknown;
  std::vector<std::pair<std::string, int64_t>> witness;  // kYes: a value for each symbol
  std::vector<Fact> conflict;                            // kNo: irreducible, with sources
  std::string edit;                                      // kNo: a change that mends it, if known
  std::string ToString() const;                          // one line a fact or a value
};

class ConstraintDatabase {
 public:
  explicit ConstraintDatabase(DimContext* context) : context_(context) {}

  // Replaces all that was set or added for `symbol`, which is made when new. InvalidArgument for a
  // bad name or an invalid constraint. That it can't hold is told by Check.
  absl::Status Set(std::string_view symbol, const DimConstraint& c, Source source = {});
  // In addition to what is there.
  absl::Status Add(std::string_view symbol, const DimConstraint& c, Source source = {});
  // The conjunction of what was set and added; NotFound if nothing was.
  absl::StatusOr<DimConstraint> Get(std::string_view symbol) const;
  std::vector<std::string> Symbols() const;  // those with constraints, in order of arrival

  // A relation of any sizes; or a list of them: "a + b <= 1024, a % b == 0" of known symbols.
  absl::Status AddClaim(const Claim& claim, Source source = {});
  absl::Status AddClaims(std::string_view text, Source source = {});

  // What all constraints and claims together say of one symbol; FailedPrecondition with the
  // conflict if they can't hold.
  absl::StatusOr<DimConstraint> Derived(std::string_view symbol) const;
  absl::StatusOr<FactSet> Facts() const;
  Feasibility Check() const;

 private:
  struct Row {
    std::string symbol;  // empty: a claim
    DimConstraint constraint;
    Claim claim;
    Source source;
  };

  absl::Status Append(std::string_view symbol, const DimConstraint& c, Source source, bool replace);
  std::vector<Fact> AllFacts() const;

  DimContext* context_;
  std::vector<Row> rows_;
};

}  // namespace lathe::dim
