#include "runtime/exceed.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/graph.h"
#include "runtime/largest.h"

namespace lathe::rt {
namespace {

struct PeakAnswer {
  dim::Verdict verdict = dim::Verdict::kUnknown;
  std::vector<std::string> facts;  // proved
  std::vector<int64_t> symbols;    // refuted: a value a symbol of the plan
  std::string hint;                // unknown
  std::string formula;             // of the peak
};

// Sizes of 1, 2, 4, .. as far as each one's own range and step admit, until the facts hold and
// `peak` is above `bytes`.
bool FindAbove(const dim::FactSet& facts, Dim peak, int64_t bytes, std::vector<int64_t>* symbols) {
  const size_t wanted = symbols->size();
  std::vector<int64_t> sizes(static_cast<size_t>(facts.context()->num_symbols()));
  std::vector<dim::Interval> ranges;
  std::vector<dim::Congruence> residues;
  for (size_t s = 0; s < sizes.size(); ++s) {
    const Dim d = facts.context()->SymbolDim(static_cast<dim::SymbolId>(s));
    ranges.push_back(facts.Range(d));
    residues.push_back(facts.CongruenceOf(d));
  }
  for (int bit = 0; bit <= 40; ++bit) {
    for (size_t s = 0; s < sizes.size(); ++s) {
      int64_t v =
          std::clamp(int64_t{1} << bit, ranges[s].min, std::max(ranges[s].min, ranges[s].max));
      if (residues[s].modulus > 1) v -= ((v - residues[s].remainder) % residues[s].modulus);
      sizes[s] = v < ranges[s].min ? v + residues[s].modulus : v;
    }
    const absl::StatusOr<int64_t> found = dim::Evaluate(peak, sizes);
    if (!found.ok() || *found <= bytes) continue;
    const bool admitted =
        std::all_of(facts.facts().begin(), facts.facts().end(), [&](const dim::Fact& f) {
          const absl::StatusOr<bool> holds = dim::Evaluate(f.claim, sizes);
          return holds.ok() && *holds;
        });
    if (!admitted) continue;
    sizes.resize(wanted);
    *symbols = std::move(sizes);
    return true;
  }
  return false;
}

// Is the version's peak within `bytes` for all sizes that the facts and its guard admit?
PeakAnswer ProvePeak(const FunctionState& function, const Version& version, int64_t bytes) {
  const ir::Graph& graph = function.graph();
  dim::FactSet facts = graph.facts();
  for (const Claim& claim : version.guard) {
    // A guard that contradicts the facts serves no call.
    if (!facts.Add(claim, dim::Standing::kDeclared, {"guard of " + version.name, ""}).ok()) {
      return {dim::Verdict::kProved, {}, {}, "", ""};
    }
  }
  // Symbols made later, such as the worker count, aren't sizes of a call: they get their value.
  const size_t symbols = function.plan().symbols.size();
  absl::flat_hash_map<dim::SymbolId, Dim> workers;
  for (dim::SymbolId s : dim::FreeSymbols(version.peak)) {
    if (s >= symbols) workers[s] = function.engine()->pool.threads();
  }
  const Dim peak = dim::Substitute(version.peak, workers, graph.dims());
  const dim::Answer found = facts.Prove(peak <= Dim(bytes), /*use_required=*/true);
  PeakAnswer answer{found.verdict, {}, found.witness, found.hint, peak.ToString()};
  answer.symbols.resize(symbols);
  if (found.verdict == dim::Verdict::kUnknown && FindAbove(facts, peak, bytes, &answer.symbols)) {
    answer.verdict = dim::Verdict::kRefuted;
    return answer;
  }
  for (const dim::FactId id : found.used) {
    answer.facts.push_back(facts.facts()[static_cast<size_t>(id)].claim.ToString());
  }
  return answer;
}

}  // namespace

absl::StatusOr<MemoryAnswer> CouldExceed(const FunctionState& function, int64_t bytes) {
  const std::shared_ptr<const VersionTable> table = function.table();
  if (table == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("function ", function.graph().name,
                     " has no version yet, hence no memory plan: call prepare first"));
  }
  MemoryAnswer answer;
  answer.verdict = MemoryAnswer::Verdict::kNo;
  // The generic version serves everything, so its answer decides; another one may need more within
  // its guard.
  for (const std::shared_ptr<const Version>& version : table->versions()) {
    PeakAnswer peak;
    function.WhileNothingBuilds([&] { peak = ProvePeak(function, *version, bytes); });
    answer.formula = peak.formula;  // the generic version comes last
    if (peak.verdict == dim::Verdict::kProved) {
      for (const std::string& fact : peak.facts) {
        const bool known =
            std::find(answer.facts.begin(), answer.facts.end(), fact) != answer.facts.end();
        if (!known) answer.facts.push_back(fact);
      }
      continue;
    }
    if (peak.verdict == dim::Verdict::kRefuted) {
      // The version that serves these sizes may be a leaner one.
      ContextState context;
      const absl::StatusOr<int64_t> found = PeakBytes(function, peak.symbols, context);
      if (found.ok() && *found > bytes) {
        answer.verdict = MemoryAnswer::Verdict::kYes;
        answer.facts.clear();
        answer.hint.clear();
        answer.peak_bytes = *found;
        for (size_t s = 0; s < peak.symbols.size(); ++s) {
          answer.sizes[function.plan().symbol_names[s]] = peak.symbols[s];
        }
        return answer;
      }
    }
    answer.verdict = MemoryAnswer::Verdict::kUnknown;
    if (answer.hint.empty()) answer.hint = peak.hint;
  }
  if (answer.verdict == MemoryAnswer::Verdict::kUnknown) answer.facts.clear();
  return answer;
}

}  // namespace lathe::rt
