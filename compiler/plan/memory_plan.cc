#include "compiler/plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace lathe::compiler {
namespace {

constexpr int kRandomOrders = 48;
constexpr int kSwaps = 400;
constexpr int64_t kMostTerms = 200;               // of a comparison that is worth a proof
constexpr int64_t kMostBytes = int64_t{1} << 50;  // of one value, so that sums don't overflow

bool LiveTogether(const PlannedValue& a, const PlannedValue& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// The plan at numbers instead of Dims: what an order costs.
class OrderSearch {
 public:
  OrderSearch(absl::Span<const PlannedValue> values, absl::Span<const std::vector<int64_t>> corners)
      : values_(values), neighbours_(values.size()) {
    for (const std::vector<int64_t>& corner : corners) {
      std::vector<int64_t> bytes;
      for (const PlannedValue& v : values) {
        const absl::StatusOr<int64_t> n = dim::Evaluate(v.bytes, corner);
        bytes.push_back(n.ok() ? std::min(*n, kMostBytes) : 0);
      }
      bytes_.push_back(std::move(bytes));
    }
    for (size_t i = 0; i < values.size(); ++i)
      for (size_t j = 0; j < values.size(); ++j)
        if (i != j && LiveTogether(values[i], values[j])) neighbours_[i].push_back(j);
  }

  std::vector<size_t> Best() {
    std::vector<size_t> order(values_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (bytes_.empty() || order.size() < 2) return order;
    Try(order);  // by first use
    std::vector<size_t> sorted = order;
    const std::vector<int64_t>& large = bytes_.back();
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](size_t a, size_t b) { return large[a] > large[b]; });
    Try(sorted);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](size_t a, size_t b) { return Length(a) > Length(b); });
    Try(sorted);
    if (order.size() > 2000) return best_;
    std::mt19937_64 random(1);
    for (int i = 0; i < kRandomOrders && !Perfect(); ++i) {
      std::shuffle(order.begin(), order.end(), random);
      Try(order);
    }
    for (int i = 0; i < kSwaps && !Perfect(); ++i) {
      std::vector<size_t> next = best_;
      const size_t from = random() % next.size(), to = random() % next.size();
      const size_t moved = next[from];
      next.erase(next.begin() + static_cast<std::ptrdiff_t>(from));
      next.insert(next.begin() + static_cast<std::ptrdiff_t>(to), moved);
      Try(next);
    }
    return best_;
  }

 private:
  int Length(size_t v) const { return values_[v].last_step - values_[v].first_step; }
  bool Perfect() const { return best_cost_ <= 1.0 + 1e-9; }

  int64_t LiveMaximum(const std::vector<int64_t>& bytes) const {
    int64_t most = 1;
    for (const PlannedValue& at : values_) {
      int64_t live = 0;
      for (size_t i = 0; i < values_.size(); ++i)
        if (values_[i].first_step <= at.first_step && at.first_step <= values_[i].last_step)
          live += bytes[i];
      most = std::max(most, live);
    }
    return most;
  }

  // The worst ratio of the arena to what lives at a time.
  double Cost(const std::vector<size_t>& order) {
    if (live_.empty())
      for (const std::vector<int64_t>& bytes : bytes_) live_.push_back(LiveMaximum(bytes));
    double cost = 0;
    std::vector<int64_t> end(values_.size());
    for (size_t c = 0; c < bytes_.size(); ++c) {
      std::fill(end.begin(), end.end(), 0);
      int64_t total = 0;
      for (size_t v : order) {
        int64_t offset = 0;
        for (size_t u : neighbours_[v]) offset = std::max(offset, end[u]);
        end[v] = offset + bytes_[c][v];
        total = std::max(total, end[v]);
      }
      cost = std::max(cost, static_cast<double>(total) / static_cast<double>(live_[c]));
    }
    return cost;
  }

  void Try(const std::vector<size_t>& order) {
    const double cost = Cost(order);
    if (cost < best_cost_) {
      best_cost_ = cost;
      best_ = order;
    }
  }

  absl::Span<const PlannedValue> values_;
  std::vector<std::vector<size_t>> neighbours_;
  std::vector<std::vector<int64_t>> bytes_;  // by corner, by value
  std::vector<int64_t> live_;
  std::vector<size_t> best_;
  double best_cost_ = std::numeric_limits<double>::infinity();
};

// Where a value ends, with what makes comparisons cheap.
struct Term {
  Dim dim;
  std::vector<int64_t> at;  // its values at the corners
  std::vector<bool> over;   // by value: ends there or before, since it was placed behind it
  int64_t size = 0;         // terms in it, written out
};

// The corners that the facts admit and at which every size has a value.
std::vector<std::vector<int64_t>> Admitted(absl::Span<const PlannedValue> values,
                                           const dim::FactSet& facts,
                                           absl::Span<const std::vector<int64_t>> corners) {
  std::vector<std::vector<int64_t>> admitted;
  for (const std::vector<int64_t>& corner : corners) {
    const bool holds = std::all_of(facts.facts().begin(), facts.facts().end(), [&](const auto& f) {
      return dim::Evaluate(f.claim, corner).value_or(false);
    });
    const bool has_values = std::all_of(values.begin(), values.end(), [&](const PlannedValue& v) {
      const absl::StatusOr<int64_t> bytes = dim::Evaluate(v.bytes, corner);
      return bytes.ok() && *bytes <= kMostBytes;
    });
    if (holds && has_values) admitted.push_back(corner);
  }
  return admitted;
}

// t <= k, proved. Proofs about nested maxima are dear: what a corner refutes isn't asked for, nor
// what would take long.
bool ProvesBelow(const dim::FactSet& facts, const Term& t, const Term& k) {
  if (t.size + k.size > kMostTerms) return false;
  for (size_t c = 0; c < t.at.size(); ++c)
    if (t.at[c] > k.at[c]) return false;
  return facts.ProvesQuickly(t.dim <= k.dim);
}

// The maximum of the ends of `values`, less those that the facts prove to be no larger than
// another.
Term Maximum(absl::Span<const size_t> values, const std::vector<Term>& ends, size_t corners,
             const dim::FactSet& facts) {
  std::vector<bool> covered(ends.size(), false);
  for (size_t v : values)
    for (size_t u = 0; u < ends[v].over.size(); ++u) covered[u] = covered[u] || ends[v].over[u];
  std::vector<const Term*> kept;
  for (size_t v : values) {
    const Term& t = ends[v];
    const bool below = covered[v] || std::any_of(kept.begin(), kept.end(), [&](const Term* k) {
                         return k->dim == t.dim || ProvesBelow(facts, t, *k);
                       });
    if (below) continue;
    kept.erase(std::remove_if(kept.begin(), kept.end(),
                              [&](const Term* k) { return ProvesBelow(facts, *k, t); }),
               kept.end());
    kept.push_back(&t);
  }
  Term most{0, std::vector<int64_t>(corners, 0), std::move(covered)};
  for (size_t v : values) most.over[v] = true;
  for (size_t i = 0; i < kept.size(); ++i) {
    most.dim = i == 0 ? kept[i]->dim : Max(most.dim, kept[i]->dim);
    most.size = std::min(most.size + kept[i]->size, kMostTerms);
    for (size_t c = 0; c < corners; ++c) most.at[c] = std::max(most.at[c], kept[i]->at[c]);
  }
  return most;
}

}  // namespace

MemoryPlan PlanMemory(absl::Span<const PlannedValue> values, const dim::FactSet& facts,
                      absl::Span<const std::vector<int64_t>> corners) {
  MemoryPlan plan;
  plan.offsets.assign(values.size(), Dim(0));
  const std::vector<std::vector<int64_t>> admitted = Admitted(values, facts, corners);
  std::vector<size_t> placed;
  std::vector<Term> ends(values.size());
  for (size_t v : OrderSearch(values, corners).Best()) {
    std::vector<size_t> before;
    for (size_t u : placed)
      if (LiveTogether(values[u], values[v])) before.push_back(u);
    Term end = Maximum(before, ends, admitted.size(), facts);
    plan.offsets[v] = end.dim;
    end.dim = end.dim + values[v].bytes;
    for (size_t c = 0; c < admitted.size(); ++c)
      end.at[c] += dim::Evaluate(values[v].bytes, admitted[c]).value_or(0);
    end.size = std::min(end.size + 1, kMostTerms);
    ends[v] = std::move(end);
    placed.push_back(v);
  }
  plan.total = Maximum(placed, ends, admitted.size(), facts).dim;
  return plan;
}

std::vector<std::vector<int64_t>> CornerSizes(const dim::FactSet& facts, int num_symbols) {
  std::vector<std::vector<int64_t>> corners;
  for (int64_t wanted : {int64_t{1}, int64_t{2}, int64_t{37}, int64_t{512}, int64_t{4096}}) {
    std::vector<int64_t> corner;
    for (int s = 0; s < num_symbols; ++s) {
      const dim::Interval range =
          facts.Range(facts.context()->SymbolDim(static_cast<dim::SymbolId>(s)));
      corner.push_back(
          std::clamp(wanted, std::max<int64_t>(range.min, 0), std::max<int64_t>(range.max, 0)));
    }
    corners.push_back(std::move(corner));
  }
  // One symbol small, the others large, and the reverse.
  for (int s = 0; s < std::min(num_symbols, 4); ++s) {
    std::vector<int64_t> corner = corners[3];
    corner[static_cast<size_t>(s)] = corners[0][static_cast<size_t>(s)];
    corners.push_back(corner);
  }
  return corners;
}

}  // namespace lathe::compiler
