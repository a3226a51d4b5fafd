#include "ir/dim/decide.h"

#include <algorithm>

namespace lathe::dim {
namespace {

constexpr int kDepthOfSplits = 24;

Wide ValueOf(const LinearTerms& terms, Wide constant, const std::vector<Wide>& point) {
  Wide sum = constant;
  for (const LinearTerm& t : terms) {
    // A point that passes int64 is no model: what it gives here doesn't matter.
    Wide v = point[static_cast<size_t>(t.variable)], product = 0;
    if (__builtin_mul_overflow(t.coef, v, &product) || __builtin_add_overflow(sum, product, &sum)) {
      return 0;
    }
  }
  return sum;
}

// The hypothesis e <= bound, or e >= bound if `above`.
Premise Side(Premise::Kind kind, int index, const LinearTerms& e, Wide constant, Wide bound,
             bool above) {
  Premise p;
  p.kind = kind;
  p.index = index;
  p.negated = above;
  p.row.terms = e;
  p.row.constant = above ? constant - bound : bound - constant;
  if (above) return p;
  for (LinearTerm& t : p.row.terms) t.coef = -t.coef;
  return p;
}

}  // namespace

Decider::Outcome Decider::Run(std::vector<int64_t>* values,
                              absl::FunctionRef<bool(const std::vector<int64_t>&)> accept) {
  values_ = values;
  accept_ = &accept;
  AddVariableDivisions();
  if (!monomials_.empty()) AddFactProducts();
  std::vector<LinearRow> path;
  r_.root = Search(&path, 0);
  if (found_) return Outcome::kModel;
  if (r_.root < 0) return Outcome::kUnknown;
  std::vector<uint8_t> premises(r_.premises.size(), 0);
  Collect(r_.root, &premises);
  for (size_t i = 0; i < premises.size(); ++i) {
    const Premise& p = r_.premises[i];
    bool of_fact = p.kind == Premise::kFact || p.kind == Premise::kNotEqual ||
                   p.kind == Premise::kSetHull || p.kind == Premise::kSetGap;
    if (premises[i] != 0 && of_fact && p.index >= 0) r_.used.push_back(p.index);
  }
  Canonicalize(&r_.used);
  return Outcome::kRefuted;
}

// The node that refutes the rows with `path`, or -1.
int Decider::Search(std::vector<LinearRow>* path, int depth) {
  if (depth > kDepthOfSplits || limits_.nodes-- <= 0) return -1;
  std::vector<LinearRow> rows = rows_;
  rows.insert(rows.end(), path->begin(), path->end());
  if (!monomials_.empty()) {
    std::vector<LinearRow> products;
    AddProducts(rows, &products);
    rows.insert(rows.end(), products.begin(), products.end());
  }
  limits_.steps -= static_cast<int>(rows.size());
  LinearSystem system(static_cast<int>(r_.variables.size()), &r_.steps, &limits_.steps);
  switch (system.Solve(rows)) {
    case LinearSystem::Outcome::kContradiction: {
      RefutationNode leaf;
      leaf.contradiction = system.contradiction();
      r_.nodes.push_back(leaf);
      return static_cast<int>(r_.nodes.size()) - 1;
    }
    case LinearSystem::Outcome::kGaveUp:
      return -1;
    case LinearSystem::Outcome::kSplit: {
      const LinearTerms& form = system.split_form();
      Wide bound = system.split_bound();
      return Branch(Side(Premise::kInteger, -1, form, 0, bound, false),
                    Side(Premise::kInteger, -1, form, 0, bound + 1, true), path, depth);
    }
    case LinearSystem::Outcome::kPoint:
      break;
  }
  if (TryPoint(system.point())) {
    found_ = true;
    return -1;
  }
  return ChooseSplit(system.point(), path, depth);
}

int Decider::Branch(Premise low, Premise high, std::vector<LinearRow>* path, int depth) {
  return Split(
      [&](int side) {
        int premise = AddPremise(side == 0 ? std::move(low) : std::move(high));
        path->push_back(r_.premises[static_cast<size_t>(premise)].row);
        return premise;
      },
      path, depth);
}

// Two sides, one of which holds. `enter` puts a side's rows on the path and gives its hypothesis,
// or -1 if its rows can't be written.
int Decider::Split(absl::FunctionRef<int(int side)> enter, std::vector<LinearRow>* path,
                   int depth) {
  RefutationNode node;
  bool open = false;
  std::vector<uint8_t> used;
  size_t length = path->size();
  for (int side = 0; side < 2; ++side) {
    int premise = enter(side);
    if (premise < 0) return -1;
    int child = Search(path, depth + 1);
    path->resize(length);
    if (found_) return -1;
    open = open || child < 0;
    if (child < 0) continue;  // the other side may have a model
    // A refutation that didn't need the hypothesis serves here as well.
    used.assign(r_.premises.size(), 0);
    Collect(child, &used);
    if (used[static_cast<size_t>(premise)] == 0) return child;
    (side == 0 ? node.low_premise : node.high_premise) = premise;
    (side == 0 ? node.low : node.high) = child;
  }
  if (open) return -1;
  r_.nodes.push_back(node);
  return static_cast<int>(r_.nodes.size()) - 1;
}

bool Decider::TryPoint(const std::vector<Wide>& point) {
  std::vector<int64_t> values = *values_;
  for (size_t i = 0; i < r_.variables.size(); ++i) {
    const DecideVariable& v = r_.variables[i];
    if (v.kind != NodeKind::kSymbol) continue;
    if (i >= point.size() || !FitsInt64(point[i]) || v.symbol >= values.size()) return false;
    values[v.symbol] = static_cast<int64_t>(point[i]);
  }
  if (!(*accept_)(values)) return false;
  *values_ = std::move(values);
  return true;
}

// Splits on something that the point gets wrong.
int Decider::ChooseSplit(const std::vector<Wide>& solution, std::vector<LinearRow>* path,
                         int depth) {
  std::vector<Wide> point = solution;
  point.resize(r_.variables.size(), 0);
  // e <= below or e >= above.
  auto split = [&](Premise::Kind kind, int index, const LinearTerms& terms, Wide constant,
                   Wide below, Wide above) {
    return Branch(Side(kind, index, terms, constant, below, false),
                  Side(kind, index, terms, constant, above, true), path, depth);
  };
  for (const Choice& c : choices_) {
    Wide v = ValueOf(c.terms, c.constant, point);
    if (c.sense == Sense::kNe) {
      if (v != c.set[0]) continue;
      return split(Premise::kNotEqual, c.index, c.terms, c.constant, v - 1, v + 1);
    }
    auto next = std::lower_bound(c.set.begin(), c.set.end(), v,
                                 [](int64_t member, Wide value) { return member < value; });
    if (next == c.set.end() || next == c.set.begin() || *next == v) continue;
    return split(Premise::kSetGap, c.index, c.terms, c.constant, *(next - 1), *next);
  }
  for (size_t i = 0; i < r_.variables.size(); ++i) {
    const DecideVariable v = r_.variables[i];
    if (v.kind != NodeKind::kMin && v.kind != NodeKind::kMax) continue;
    LinearRow a, b;
    size_t known = r_.variables.size();
    const bool rows = RowOf(v.a, &a) && RowOf(v.b, &b);
    point.resize(r_.variables.size(), 0);  // rows may bring variables
    if (!rows || r_.variables.size() != known) continue;
    Wide x = ValueOf(a.terms, a.constant, point), y = ValueOf(b.terms, b.constant, point);
    if (point[i] == (v.kind == NodeKind::kMin ? std::min(x, y) : std::max(x, y))) continue;
    return SplitMinMax(static_cast<int>(i), a, b, path, depth);
  }
  for (int m : monomials_) {
    const Factors factors = r_.variables[static_cast<size_t>(m)].factors;
    Wide product = 1;
    bool fits = true;
    for (int f : factors) {
      fits = fits && !__builtin_mul_overflow(product, point[static_cast<size_t>(f)], &product);
    }
    if (!fits || point[static_cast<size_t>(m)] == product) continue;
    int best = -1;
    bool above = false;
    ChooseFactor(factors, point, *path, &best, &above);
    if (best < 0) continue;
    Wide at = point[static_cast<size_t>(best)];
    return split(Premise::kInteger, -1, {{best, 1}}, 0, above ? at : at - 1, above ? at + 1 : at);
  }
  return -1;
}

// A factor to split at its value, and where: it should be the one with the smaller range.
void Decider::ChooseFactor(const Factors& factors, const std::vector<Wide>& point,
                           const std::vector<LinearRow>& path, int* best, bool* above) {
  std::vector<LinearRow> rows = rows_;
  rows.insert(rows.end(), path.begin(), path.end());
  Bounds bounds = FindBounds(rows);
  Wide best_size = 0;
  for (int f : factors) {
    const Range& range = bounds.of[static_cast<size_t>(f)];
    Wide at = point[static_cast<size_t>(f)];
    bool has_low = range.low >= 0, has_high = range.high >= 0;
    Wide low = has_low ? -bounds.rows[static_cast<size_t>(range.low)].constant : 0;
    Wide high = has_high ? bounds.rows[static_cast<size_t>(range.high)].constant : 0;
    if (has_low && has_high && low >= high) continue;  // it has one value
    Wide size = has_low && has_high ? high - low : (Wide{1} << 100) + (at < 0 ? -at : at);
    if (*best >= 0 && size >= best_size) continue;
    *best = f;
    best_size = size;
    *above = has_low && low >= at;
  }
}

// min(a, b): a <= b and it is a, or b <= a - 1 and it is b.
int Decider::SplitMinMax(int variable, const LinearRow& a, const LinearRow& b,
                         std::vector<LinearRow>* path, int depth) {
  bool is_min = r_.variables[static_cast<size_t>(variable)].kind == NodeKind::kMin;
  return Split(
      [&](int side) {
        // Of side 0: b - a >= 0. Of side 1: a - b - 1 >= 0.
        Premise order;
        order.kind = Premise::kInteger;
        order.row = side == 0 ? b : a;
        const LinearRow& less = side == 0 ? a : b;
        if (!AddTerms(&order.row.terms, less.terms, -1)) return -1;
        order.row.constant -= less.constant + side;
        int premise = AddPremise(std::move(order));
        Premise equal;
        equal.kind = Premise::kSelect;
        equal.index = variable;
        equal.first = r_.premises[static_cast<size_t>(premise)].row.step;
        equal.row = (side == 0) == is_min ? a : b;
        if (!AddTerms(&equal.row.terms, {{variable, 1}}, -1)) return -1;
        path->push_back(r_.premises[static_cast<size_t>(premise)].row);
        path->push_back(EqualRow(std::move(equal)));
        return premise;
      },
      path, depth);
}

void Decider::MarkUsed(int step, std::vector<uint8_t>* premises) const {
  std::vector<int> stack = {step};
  std::vector<uint8_t> seen(r_.steps.size(), 0);
  while (!stack.empty()) {
    int s = stack.back();
    stack.pop_back();
    if (s < 0 || seen[static_cast<size_t>(s)] != 0) continue;
    seen[static_cast<size_t>(s)] = 1;
    const DerivationStep& d = r_.steps[static_cast<size_t>(s)];
    if (d.premise < 0) {
      stack.push_back(d.first);
      stack.push_back(d.second);
      continue;
    }
    const Premise& p = r_.premises[static_cast<size_t>(d.premise)];
    (*premises)[static_cast<size_t>(d.premise)] = 1;
    stack.push_back(p.first);
    stack.push_back(p.second);
  }
}

// The premises that the nodes below rest on. A split's own hypotheses are discharged by it, but the
// facts that make its sides exhaustive count.
void Decider::Collect(int node, std::vector<uint8_t>* premises) const {
  std::vector<int> stack = {node};
  while (!stack.empty()) {
    const RefutationNode& n = r_.nodes[static_cast<size_t>(stack.back())];
    stack.pop_back();
    if (n.contradiction >= 0) {
      MarkUsed(n.contradiction, premises);
      continue;
    }
    stack.push_back(n.low);
    stack.push_back(n.high);
  }
}

}  // namespace lathe::dim
