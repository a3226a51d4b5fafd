#include "compiler/plan/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace lathe::compiler {
namespace {

constexpr int kRandomOrders = 48;
constexpr int kSwaps = 400;

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
        bytes.push_back(n.ok() ? std::min<int64_t>(*n, int64_t{1} << 50) : 0);
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

// The maximum of `terms`, less those that the facts prove to be no larger than another.
Dim Maximum(std::vector<Dim> terms, const dim::FactSet& facts) {
  std::vector<Dim> kept;
  for (Dim t : terms) {
    if (std::find(kept.begin(), kept.end(), t) != kept.end()) continue;
    const bool below =
        std::any_of(kept.begin(), kept.end(), [&](Dim k) { return facts.Proves(t <= k); });
    if (below) continue;
    kept.erase(
        std::remove_if(kept.begin(), kept.end(), [&](Dim k) { return facts.Proves(k <= t); }),
        kept.end());
    kept.push_back(t);
  }
  Dim most = 0;
  for (size_t i = 0; i < kept.size(); ++i) most = i == 0 ? kept[i] : Max(most, kept[i]);
  return most;
}

}  // namespace

MemoryPlan PlanMemory(absl::Span<const PlannedValue> values, const dim::FactSet& facts,
                      absl::Span<const std::vector<int64_t>> corners) {
  MemoryPlan plan;
  plan.offsets.assign(values.size(), Dim(0));
  std::vector<size_t> placed;
  std::vector<Dim> ends;
  for (size_t v : OrderSearch(values, corners).Best()) {
    std::vector<Dim> before;
    for (size_t u : placed)
      if (LiveTogether(values[u], values[v])) before.push_back(plan.offsets[u] + values[u].bytes);
    plan.offsets[v] = Maximum(std::move(before), facts);
    placed.push_back(v);
    ends.push_back(plan.offsets[v] + values[v].bytes);
  }
  plan.total = Maximum(std::move(ends), facts);
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
