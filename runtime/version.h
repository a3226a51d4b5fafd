#pragma once
// Versions of a function and the table that picks one. A version = facts over expressions of the
// function's symbols (its guard) + one host program. The generic version has no guard and serves
// every admitted size.
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/entry_plan.h"
#include "runtime/host_program.h"

namespace lathe::rt {

// What one fused group became, for people: `explain`, `:why`, `:kernels`.
struct GroupReport {
  std::string label;                 // "matmul + add + gelu -> %12"
  std::string kind;                  // "gemm", "row", "pointwise", "attention", ...
  std::string family;                // stable name of the fused group over versions
  std::string kernel_key;            // artefact key
  std::string schedule;              // for people: "strips of up to 4 panels, 32 wide"
  std::vector<std::string> answers;  // "batch*seq <= 4: proved" or ": not known"
  std::string kernel_text;           // canonical Kernel IR
  int divisions = 0;                 // that addresses and bounds need, in all
  int inner_divisions = 0;           // in innermost loops, those of registers included
};

struct Version {
  std::string name;          // "generic", "batch*seq <= 4"
  std::string why;           // "no guard: serves every admitted size"
  std::vector<Claim> guard;  // conjunction; empty for the generic version
  HostProgram program;
  Dim peak;   // bytes of arena and outputs, over the function's symbols and the worker count
  Dim arena;  // of the arena alone
  std::vector<GroupReport> groups;
  int64_t code_bytes = 0;
  double build_seconds = 0;  // of which compiling is a part
  int order = 0;             // higher wins where guards overlap; generic is 0
  mutable std::atomic<int64_t> calls{0};
};

struct VersionRequest {
  std::vector<Claim> guard;
  std::string why;
  int order = 1;
};

// What runtime needs from above: facts in, version out. Implemented by compiler/specializer.
// Called from one thread at a time.
class VersionBuilder {
 public:
  virtual ~VersionBuilder() = default;
  virtual absl::StatusOr<std::shared_ptr<const Version>> BuildGeneric() = 0;
  // Versions worth having beside the generic one, best first; empty when the strategy has none.
  virtual std::vector<VersionRequest> Propose() = 0;
  virtual absl::StatusOr<std::shared_ptr<const Version>> Build(const VersionRequest& request) = 0;
  // Strategies that fix sizes as seen: true, and then the versions worth having for these sizes (a
  // value a symbol), asked once for each sizes that a call of the generic version or `prepare`
  // shows.
  virtual bool ObservesSizes() const { return false; }
  virtual std::vector<VersionRequest> ProposeFor(absl::Span<const int64_t> /*symbols*/) {
    return {};
  }
  // Whether ProposeFor looks at the symbol: sizes that differ in others alone give the same.
  virtual bool Observes(size_t /*symbol*/) const { return true; }
};

// Immutable; a new one replaces it when a version is added.
class VersionTable {
 public:
  // Checks: one generic version (coverage: the union is the declared domain), no dead version (its
  // guard contradicts the facts, or a version before it always wins), distinct orders.
  static absl::StatusOr<std::shared_ptr<const VersionTable>> Make(
      const EntryPlan& plan, const dim::FactSet& facts,
      std::vector<std::shared_ptr<const Version>> versions);

  // By order, best first; the last one is generic.
  const std::vector<std::shared_ptr<const Version>>& versions() const { return versions_; }
  // Evaluates axes, checks and guards: slots hold symbols first.
  const dim::DimProgram& program() const { return program_; }
  const std::vector<int32_t>& axis_slots() const { return axis_slots_; }  // of plan.dim_axes
  // The guard of version `v`, claim by claim; texts are made with the table, so that printing needs
  // no lock.
  struct GuardClaim {
    std::string text;
    int32_t slot = 0;       // in program()
    dim::DimProgram alone;  // inputs: the symbols; for people, and where another guard overflows
    int32_t alone_slot = 0, alone_lhs_slot = 0;
  };
  const std::vector<GuardClaim>& guard(size_t v) const { return guards_[v]; }

  // Runs the program. An overflow in a guard means that the guard doesn't hold; one in a check or
  // an axis is the error.
  absl::Status Run(int64_t* slots) const;
  // The first version whose guard holds, or -1 for a failed check (then *failed is its number).
  int Pick(const int64_t* slots, int* failed) const;
  bool GuardHolds(size_t version, const int64_t* slots) const;

 private:
  absl::Status Faulted(int instruction, int64_t* slots) const;
  std::vector<std::shared_ptr<const Version>> versions_;
  dim::DimProgram program_;
  std::vector<int32_t> axis_slots_, check_slots_;
  std::vector<std::vector<int32_t>> guard_slots_;  // of each version, for picking
  std::vector<std::vector<GuardClaim>> guards_;
  int32_t first_guard_slot_ = 0;  // slots from here on serve guards alone
};

}  // namespace lathe::rt
