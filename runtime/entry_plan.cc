#include "runtime/entry_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dim/facts.h"
#include "ir/used_symbols.h"

namespace lathe::rt {
namespace {

using dim::SymbolId;

std::vector<SymbolId> FreeSymbols(const Claim& c) {
  std::vector<SymbolId> all = dim::FreeSymbols(c.lhs);
  for (SymbolId s : dim::FreeSymbols(c.rhs)) all.push_back(s);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

class PlanMaker {
 public:
  explicit PlanMaker(const ir::Graph& graph) : graph_(graph), facts_(graph.facts()) {}

  absl::StatusOr<EntryPlan> Make() {
    AddSymbols();
    if (absl::Status s = AddInputs(); !s.ok()) return s;
    BindAll();
    absl::Status unbound = BindUnused();
    if (!unbound.ok()) return unbound;
    AddDimAxes();
    AddChecks();
    if (!CompilePrograms()) return absl::InternalError("a fact or output uses an unknown symbol");
    return std::move(plan_);
  }

 private:
  void AddSymbols() {
    const size_t count = static_cast<size_t>(graph_.dims()->num_symbols());
    for (size_t s = 0; s < count; ++s) {
      plan_.symbols.push_back(graph_.dims()->SymbolDim(static_cast<SymbolId>(s)));
      plan_.symbol_names.push_back(graph_.dims()->SymbolName(static_cast<SymbolId>(s)));
    }
    plan_.bind.resize(count);
    plan_.data_origins.resize(count);
    plan_.derives.resize(count);
    plan_.unused.resize(count);
    plan_.limited.resize(count);
    bound_.resize(count);
  }

  absl::Status AddInputs() {
    for (ir::ValueId v : graph_.inputs) {
      const ir::ValueType& type = graph_.type(v);
      if (type.rank() > ir::kMaxRank) {
        return absl::InvalidArgumentError(absl::StrCat("input ", graph_.ValueName(v), " has rank ",
                                                       type.rank(), ", the limit is ",
                                                       ir::kMaxRank));
      }
      const int32_t input = static_cast<int32_t>(plan_.inputs.size());
      for (int32_t axis = 0; axis < type.rank(); ++axis) {
        const Dim d = type.shape[static_cast<size_t>(axis)];
        if (d.is_constant()) {
          plan_.static_axes.push_back({input, axis, d.constant()});
        } else {
          open_axes_.push_back({input, axis, d, d.ToString(), dim::FreeSymbols(d)});
        }
      }
      plan_.inputs.push_back({graph_.ValueName(v), type.dtype, type.shape, type.ToString()});
    }
    return absl::OkStatus();
  }

  bool AllBound(absl::Span<const SymbolId> symbols, SymbolId except) const {
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](SymbolId s) { return s == except || bound_[s]; });
  }

  // The plain axes first, then whatever each round makes solvable.
  void BindAll() {
    BindFromElements();
    for (SymbolId s = 0; s < bound_.size(); ++s) {
      if (!bound_[s]) BindFromAxis(s, /*plain=*/true);
    }
    BindFromOffsets();
    for (bool changed = true; changed;) {
      changed = false;
      for (SymbolId s = 0; s < bound_.size(); ++s) {
        if (bound_[s]) continue;
        changed |= BindFromAxis(s, /*plain=*/false) || BindFromRange(s) || BindFromFacts(s);
      }
    }
  }

  void BindFromElements() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const std::optional<Shape>& elements = graph_.node(graph_.inputs[i]).attrs.elements;
      if (!elements) continue;
      for (size_t k = 0; k < elements->size(); ++k) {
        SymbolId s = 0;
        if (!dim::IsSymbol((*elements)[k], &s)) continue;
        plan_.elements.push_back({static_cast<int32_t>(s), static_cast<int32_t>(i),
                                  static_cast<int32_t>(k), /*binds=*/!bound_[s]});
        if (bound_[s]) continue;
        plan_.data_origins[s] = absl::StrCat("element ", k, " of input ", plan_.inputs[i].name);
        bound_[s] = true;
      }
    }
  }

  void BindFromOffsets() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const std::optional<Shape>& sizes = graph_.node(graph_.inputs[i]).attrs.offsets;
      if (!sizes) continue;
      const auto size = [&](Dim d, const char* what) {
        EntryPlan::Offsets::Size from;
        SymbolId s = 0;
        if (!dim::IsSymbol(d, &s)) {
          from.value = d.constant();
          return from;
        }
        from.symbol = static_cast<int32_t>(s);
        from.binds = !bound_[s];
        if (from.binds)
          plan_.data_origins[s] = absl::StrCat(what, " of input ", plan_.inputs[i].name);
        bound_[s] = true;
        return from;
      };
      EntryPlan::Offsets offsets;
      offsets.input = static_cast<int32_t>(i);
      offsets.total = size((*sizes)[0], "last element");
      offsets.longest = size((*sizes)[1], "longest row");
      plan_.offsets.push_back(offsets);
    }
  }

  bool BindFromAxis(SymbolId s, bool plain) {
    for (size_t i = 0; i < open_axes_.size(); ++i) {
      const EntryPlan::DimAxis& a = open_axes_[i];
      if (plain ? a.dim != plan_.symbols[s] : !dim::DependsOn(a.dim, s)) continue;
      if (!AllBound(a.symbols, s)) continue;
      Dim coefficient, rest;
      if (!dim::SplitAffine(a.dim, s, &coefficient, &rest)) continue;
      if (coefficient == Dim(0)) continue;
      const bool product = !coefficient.is_constant();
      plan_.bind[s] = {a.input, a.axis, product ? 1 : coefficient.constant(), 0};
      if (rest.is_constant() && !product) {
        plan_.bind[s].offset = rest.constant();
      } else if (!AddDerived(s, rest, coefficient)) {
        plan_.bind[s] = {};
        continue;
      }
      open_axes_.erase(open_axes_.begin() + static_cast<std::ptrdiff_t>(i));
      bound_[s] = true;
      return true;
    }
    return false;
  }

  bool BindFromRange(SymbolId s) {
    const dim::Interval range = facts_.Range(plan_.symbols[s]);
    if (range.min != range.max) return false;
    plan_.bind[s] = {-1, -1, 0, range.min};
    return bound_[s] = true;
  }

  // From an equality among the facts: coefficient*s + rest == 0. Whether the division is exact is
  // then checked like every fact.
  bool BindFromFacts(SymbolId s) {
    for (const dim::Fact& fact : facts_.facts()) {
      if (fact.claim.relation != Relation::kEq || fact.standing == dim::Standing::kDerived)
        continue;
      if (!AllBound(FreeSymbols(fact.claim), s)) continue;
      Dim coefficient, rest;
      if (!dim::SplitAffine(fact.claim.lhs - fact.claim.rhs, s, &coefficient, &rest)) continue;
      if (coefficient == Dim(0)) continue;
      if (BindDerived(s, FloorDiv(-rest, coefficient))) return true;
    }
    const Dim simpler = facts_.Simplify(plan_.symbols[s]);
    if (dim::DependsOn(simpler, s) || !AllBound(dim::FreeSymbols(simpler), s)) return false;
    return BindDerived(s, simpler);
  }

  bool BindDerived(SymbolId s, Dim value) {
    if (!value.ok()) return false;
    plan_.bind[s] = {};
    if (value.is_constant()) {
      plan_.bind[s].offset = value.constant();
    } else if (!AddDerived(s, value)) {
      return false;
    }
    return bound_[s] = true;
  }

  bool AddDerived(SymbolId s, Dim rest, Dim coefficient = 1) {
    dim::DimProgramBuilder builder = NewProgram();
    EntryPlan::Derived d{.symbol = static_cast<int32_t>(s), .slot = builder.Slot(rest)};
    if (d.slot < 0) return false;
    if (!coefficient.is_constant()) {
      d.coefficient_slot = builder.Slot(coefficient);
      d.coefficient_text = coefficient.ToString();
      if (d.coefficient_slot < 0) return false;
    }
    d.rest = builder.Build();
    plan_.derived.push_back(std::move(d));
    plan_.derives[s] = true;
    return true;
  }

  // A symbol that nothing uses may have any value that its own facts allow. One that is used, or
  // tied by a fact to others, has to be known.
  absl::Status BindUnused() {
    const std::vector<bool> used = ir::UsedSymbols(graph_);
    std::vector<std::string> missing;
    std::string ties;
    for (SymbolId s = 0; s < bound_.size(); ++s) {
      // One value that no size is made of may be as large as it likes.
      plan_.limited[s] = used[s] || !plan_.HasOneValue(s);
      if (bound_[s]) continue;
      const std::string tie = TieToBound(s);
      if (used[s] || !tie.empty()) {
        missing.push_back(plan_.symbol_names[s]);
        absl::StrAppend(&ties, tie);
        continue;
      }
      plan_.unused[s] = true;
      plan_.bind[s].offset = AnyValue(s);
    }
    if (missing.empty()) return absl::OkStatus();
    std::string inputs;
    for (const EntryPlan::InputSpec& input : plan_.inputs) {
      absl::StrAppend(&inputs, inputs.empty() ? "" : ", ", input.name, ": ", input.text);
    }
    return absl::FailedPreconditionError(absl::StrCat(
        missing.size() == 1 ? "size " : "sizes ", absl::StrJoin(missing, ", "),
        " can't be found from the inputs' shapes (", inputs,
        "): a call needs an input axis, or a fact with ==, that gives each by itself", ties));
  }

  std::string TieToBound(SymbolId s) const {
    for (const dim::Fact& fact : facts_.facts()) {
      if (fact.standing == dim::Standing::kDerived) continue;
      const std::vector<SymbolId> symbols = FreeSymbols(fact.claim);
      if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) continue;
      for (SymbolId other : symbols) {
        if (other != s) {
          return absl::StrCat("; `", fact.claim.ToString(), "` ties ", plan_.symbol_names[s],
                              " to ", plan_.symbol_names[other]);
        }
      }
    }
    return "";
  }

  int64_t AnyValue(SymbolId s) const {
    const std::vector<int64_t> values = facts_.Values(plan_.symbols[s]);
    if (!values.empty()) return values.front();
    const dim::Interval range = facts_.Range(plan_.symbols[s]);
    const dim::Congruence c = facts_.CongruenceOf(plan_.symbols[s]);
    const int64_t least =
        range.min == dim::kUnboundedMin ? std::min<int64_t>(range.max, 0) : range.min;
    if (c.modulus <= 1) return c.modulus == 0 ? c.remainder : least;
    int64_t step = (c.remainder - least) % c.modulus;
    if (step < 0) step += c.modulus;
    return least + step;
  }

  void AddDimAxes() { plan_.dim_axes = std::move(open_axes_); }

  void AddChecks() {
    for (SymbolId s = 0; s < bound_.size(); ++s) {
      if (!MayBindNegative(s) || facts_.Range(plan_.symbols[s]).min < 0) continue;
      AddCheck(plan_.symbols[s] >= 0, "sizes are not negative unless declared so");
    }
    for (const dim::Fact& fact : facts_.facts()) {
      if (fact.standing == dim::Standing::kDerived) continue;
      std::string source =
          fact.standing == dim::Standing::kDeclared ? "declared by " : "required: ";
      absl::StrAppend(&source, fact.source.what);
      if (!fact.source.where.empty()) absl::StrAppend(&source, " (", fact.source.where, ")");
      AddCheck(fact.claim, source);
    }
  }

  bool MayBindNegative(SymbolId s) const {
    const EntryPlan::Axis& a = plan_.bind[s];
    if (plan_.derives[s] || !plan_.data_origins[s].empty()) return true;
    return a.input >= 0 && (a.coefficient < 0 || a.offset > 0);
  }

  void AddCheck(const Claim& claim, const std::string& source) {
    EntryPlan::Check check;
    check.claim = claim;
    check.symbols = FreeSymbols(claim);
    if (check.symbols.empty()) {
      absl::StatusOr<bool> holds = dim::Evaluate(claim, {});
      if (holds.ok() && *holds) return;  // true whatever the sizes
    }
    // The facts of a symbol that nothing needs hold for the value made up for it.
    const bool all_unused =
        !check.symbols.empty() && std::all_of(check.symbols.begin(), check.symbols.end(),
                                              [&](SymbolId s) { return plan_.unused[s]; });
    if (all_unused) return;
    check.claim_text = claim.ToString();
    if (!seen_.insert(check.claim_text).second) return;
    check.source = source;
    check.text = absl::StrCat(check.claim_text, ", ", source);
    check.lhs = claim.lhs.ToString();
    const dim::Expr lhs = dim::Decompose(claim.lhs);
    check.remainder = lhs.kind == dim::ExprKind::kMod;
    if (check.remainder && dim::Decompose(lhs.operands[0]).kind != dim::ExprKind::kSymbol) {
      check.dividend = lhs.operands[0].ToString();
    }
    plan_.checks.push_back(std::move(check));
  }

  dim::DimProgramBuilder NewProgram() const {
    dim::DimProgramBuilder builder(graph_.dims());
    for (Dim symbol : plan_.symbols) builder.Input(symbol);
    return builder;
  }

  bool CompilePrograms() {
    bool known = true;
    dim::DimProgramBuilder checks = NewProgram(), outputs = NewProgram();
    for (EntryPlan::Check& check : plan_.checks) {
      check.slot = checks.Slot(check.claim);
      check.lhs_slot = checks.Slot(check.claim.lhs);
      if (!check.dividend.empty()) {
        check.dividend_slot = checks.Slot(dim::Decompose(check.claim.lhs).operands[0]);
      }
      known = known && check.slot >= 0 && check.lhs_slot >= 0;
    }
    for (ir::ValueId v : graph_.body.results) {
      std::vector<int32_t>& slots = plan_.output_slots.emplace_back();
      for (Dim d : graph_.type(v).shape) {
        slots.push_back(outputs.Slot(d));
        known = known && slots.back() >= 0;
      }
    }
    plan_.check_program = checks.Build();
    plan_.output_program = outputs.Build();
    return known;
  }

  const ir::Graph& graph_;
  const dim::FactSet& facts_;
  EntryPlan plan_;
  std::vector<bool> bound_;
  std::vector<EntryPlan::DimAxis> open_axes_;  // not constant, not (yet) used to bind
  std::set<std::string> seen_;                 // texts of the checks
};

}  // namespace

absl::StatusOr<EntryPlan> MakeEntryPlan(const ir::Graph& graph) { return PlanMaker(graph).Make(); }

}  // namespace lathe::rt
