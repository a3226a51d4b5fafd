#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/version.h"

namespace lathe::rt {
namespace {

using Versions = std::vector<std::shared_ptr<const Version>>;

absl::Status CheckOrders(const Versions& versions) {
  size_t generic = 0;
  for (size_t i = 0; i < versions.size(); ++i) {
    generic += versions[i]->guard.empty();
    if (i > 0 && versions[i]->order == versions[i - 1]->order) {
      return absl::InvalidArgumentError(
          absl::StrCat("versions \"", versions[i - 1]->name, "\" and \"", versions[i]->name,
                       "\" have the same order ", versions[i]->order));
    }
  }
  // Only a version without a guard surely covers the declared domain; a second one is dead.
  if (generic == 1 && versions.back()->guard.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the version table needs one generic version, of the "
                   "lowest order: found ",
                   generic, " without a guard among ", versions.size()));
}

// The facts together with the guard; FailedPrecondition if they contradict each other.
absl::StatusOr<dim::FactSet> Under(const dim::FactSet& facts, const Version& version) {
  dim::FactSet with = facts;
  for (const Claim& claim : version.guard) {
    absl::StatusOr<dim::FactId> added =
        with.Add(claim, dim::Standing::kDeclared, {absl::StrCat("guard of ", version.name), ""});
    if (!added.ok()) return added.status();
  }
  return with;
}

absl::Status CheckAlive(const dim::FactSet& facts, const Versions& versions) {
  for (size_t i = 0; i < versions.size(); ++i) {
    absl::StatusOr<dim::FactSet> with = Under(facts, *versions[i]);
    if (!with.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("version \"", versions[i]->name,
                       "\" is dead: its guard contradicts the facts: ", with.status().message()));
    }
    for (size_t before = 0; before < i; ++before) {
      const std::vector<Claim>& guard = versions[before]->guard;
      const bool always =
          std::all_of(guard.begin(), guard.end(), [&](const Claim& c) { return with->Proves(c); });
      if (always) {
        return absl::InvalidArgumentError(absl::StrCat(
            "version \"", versions[i]->name, "\" is dead: wherever its guard holds, \"",
            versions[before]->name, "\" comes before it"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const VersionTable>> VersionTable::Make(const EntryPlan& plan,
                                                                       const dim::FactSet& facts,
                                                                       Versions versions) {
  if (versions.empty()) return absl::InvalidArgumentError("the version table is empty");
  std::stable_sort(versions.begin(), versions.end(),
                   [](const auto& a, const auto& b) { return a->order > b->order; });
  if (absl::Status s = CheckOrders(versions); !s.ok()) return s;
  if (absl::Status s = CheckAlive(facts, versions); !s.ok()) return s;

  auto table = std::make_shared<VersionTable>();
  dim::DimProgramBuilder builder(facts.context());
  for (Dim symbol : plan.symbols) builder.Input(symbol);
  table->first_guard_slot_ = static_cast<int32_t>(plan.symbols.size());
  auto add = [&](int slot, std::vector<int32_t>& slots) {
    slots.push_back(slot);
    return slot >= 0;
  };
  bool known = true;
  for (const EntryPlan::DimAxis& a : plan.dim_axes) {
    known &= add(builder.Slot(a.dim), table->axis_slots_);
  }
  for (const EntryPlan::Check& c : plan.checks) {
    known &= add(builder.Slot(c.claim), table->check_slots_);
  }
  for (const std::vector<int32_t>* slots : {&table->axis_slots_, &table->check_slots_}) {
    for (int32_t slot : *slots) {
      table->first_guard_slot_ = std::max(table->first_guard_slot_, slot + 1);
    }
  }
  for (const std::shared_ptr<const Version>& version : versions) {
    std::vector<int32_t>& slots = table->guard_slots_.emplace_back();
    std::vector<GuardClaim>& claims = table->guards_.emplace_back();
    for (const Claim& claim : version->guard) {
      known &= add(builder.Slot(claim), slots);
      dim::DimProgramBuilder alone(facts.context());
      for (Dim symbol : plan.symbols) alone.Input(symbol);
      GuardClaim& g = claims.emplace_back();
      g.text = claim.ToString();
      g.slot = slots.back();
      g.alone_slot = alone.Slot(claim);
      g.alone_lhs_slot = alone.Slot(claim.lhs);
      g.alone = alone.Build();
    }
  }
  if (!known) {
    return absl::InternalError("a guard or check of the version table uses an unknown symbol");
  }
  table->program_ = builder.Build();
  table->versions_ = std::move(versions);
  return std::shared_ptr<const VersionTable>(std::move(table));
}

absl::Status VersionTable::Run(int64_t* slots) const {
  const int bad = program_.Run(slots);
  return bad < 0 ? absl::OkStatus() : Faulted(bad, slots);
}

// An overflow in what only guards need: each guard by itself, one that can't be evaluated doesn't
// hold.
absl::Status VersionTable::Faulted(int instruction, int64_t* slots) const {
  const dim::DimInstr& failed = program_.instructions()[static_cast<size_t>(instruction)];
  if (failed.out < first_guard_slot_) return program_.Explain(instruction, slots);
  for (const std::vector<GuardClaim>& claims : guards_) {
    for (const GuardClaim& g : claims) {
      if (g.slot < first_guard_slot_) continue;
      std::vector<int64_t> own(static_cast<size_t>(g.alone.num_slots()));
      std::copy_n(slots, program_.num_inputs(), own.begin());
      slots[g.slot] = g.alone.Run(own.data()) < 0 && own[static_cast<size_t>(g.alone_slot)] != 0;
    }
  }
  return absl::OkStatus();
}

bool VersionTable::GuardHolds(size_t version, const int64_t* slots) const {
  int64_t holds = 1;
  for (int32_t slot : guard_slots_[version]) holds &= slots[slot];
  return holds != 0;
}

int VersionTable::Pick(const int64_t* slots, int* failed) const {
  int64_t holds = 1;
  for (int32_t slot : check_slots_) holds &= slots[slot];
  if (holds == 0) [[unlikely]] {
    *failed = 0;
    while (slots[check_slots_[static_cast<size_t>(*failed)]] != 0) ++*failed;
    return -1;
  }
  size_t version = 0;
  while (!GuardHolds(version, slots)) ++version;  // the last one is generic: always holds
  return static_cast<int>(version);
}

}  // namespace lathe::rt
