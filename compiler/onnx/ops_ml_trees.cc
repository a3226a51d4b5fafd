// Tree ensembles of ai.onnx.ml: all trees of all rows take a step at once, as many steps as the
// deepest tree has; a leaf leads to itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/ml_parts.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

enum Mode : int { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember, kLeaf };

constexpr int kMostSteps = 4096;
constexpr int64_t kMostNodes = int64_t{1} << 24;
constexpr int64_t kMostWeights = int64_t{1} << 26;  // of the table of nodes by targets

struct Forest {
  std::vector<int64_t> feature, yes, no, missing_yes, mode;
  std::vector<double> split;
  std::vector<int64_t> roots;
  // By node: targets and weights of a leaf.
  std::map<int64_t, std::vector<std::pair<int64_t, double>>> leaves;
  int64_t num_targets = 0;

  int64_t size() const { return static_cast<int64_t>(mode.size()); }
  int64_t Add(int node_mode) {
    feature.push_back(0);
    yes.push_back(size());
    no.push_back(size());
    missing_yes.push_back(0);
    split.push_back(0);
    mode.push_back(node_mode);
    return size() - 1;
  }
};

// Steps from a root to the deepest leaf. InvalidArgument where a node leads back to itself.
absl::StatusOr<int> DepthOf(const Forest& f) {
  enum : uint8_t { kNew, kOpen, kDone };
  std::vector<uint8_t> state(f.mode.size(), kNew);
  std::vector<int> depth(f.mode.size(), 0);
  int most = 0;
  std::vector<int64_t> stack;
  for (int64_t root : f.roots) {
    stack.push_back(root);
    while (!stack.empty()) {
      const size_t at = static_cast<size_t>(stack.back());
      if (f.mode[at] == kLeaf) state[at] = kDone;
      if (state[at] == kDone) {
        stack.pop_back();
        continue;
      }
      const size_t next[] = {static_cast<size_t>(f.yes[at]), static_cast<size_t>(f.no[at])};
      if (state[at] == kOpen) {  // both children are done
        depth[at] = 1 + std::max(depth[next[0]], depth[next[1]]);
        state[at] = kDone;
        continue;
      }
      state[at] = kOpen;
      for (size_t child : next) {
        if (state[child] == kOpen)
          return absl::InvalidArgumentError(absl::StrCat("node ", child, " leads back to itself"));
        if (state[child] == kNew) stack.push_back(static_cast<int64_t>(child));
      }
    }
    most = std::max(most, depth[static_cast<size_t>(root)]);
  }
  return most;
}

V Compare(Mode mode, V x, V split) {
  switch (mode) {
    case kLeq:
      return Bin(ir::Op::k_le, x, split);
    case kLt:
      return Bin(ir::Op::k_lt, x, split);
    case kGte:
      return Bin(ir::Op::k_ge, x, split);
    case kGt:
      return Bin(ir::Op::k_gt, x, split);
    case kEq:
      return Bin(ir::Op::k_eq, x, split);
    default:
      return Bin(ir::Op::k_ne, x, split);
  }
}

// The leaf of every row in every tree, [N, trees].
V WalkTo(NodeContext& c, const Forest& f, V x) {
  const absl::StatusOr<int> depth = DepthOf(f);
  if (!depth.ok()) c.Fail(depth.status());
  if (!c.ok()) return {&c};
  if (*depth > kMostSteps) {
    c.Fail(absl::ResourceExhaustedError(
        absl::StrCat("a tree is ", *depth, " deep; the limit is ", kMostSteps)));
    return {&c};
  }
  std::set<int64_t> modes;
  for (int64_t m : f.mode)
    if (m != kLeaf) modes.insert(m);
  const Dim rows = x.dim(0), features = x.dim(1);
  const int64_t most = *std::max_element(f.feature.begin(), f.feature.end());
  c.Require(features >= most + 1, "the rows have all features that the trees look at");
  const bool has_missing =
      std::find(f.missing_yes.begin(), f.missing_yes.end(), 1) != f.missing_yes.end();
  const Shape walkers = {rows, static_cast<int64_t>(f.roots.size())};
  V flat = ReshapeTo(x, {rows * features});
  V first = c.Iota(walkers, 0) * c.SizeOf(features);
  V at = Broadcast(c.I64(f.roots), walkers);
  V feature = c.I64(f.feature), yes = c.I64(f.yes), no = c.I64(f.no), mode, missing;
  if (modes.size() > 1) mode = c.I64(f.mode);
  if (has_missing) missing = c.I64(f.missing_yes);
  V split = FloatTable(c, f.split, x.dtype(), {f.size()});
  for (int step = 0; step < *depth && c.ok(); ++step) {
    V value = Gather(flat, first + Gather(feature, at, 0), 0), bound = Gather(split, at, 0), go;
    for (int64_t m : modes) {
      V here = Compare(static_cast<Mode>(m), value, bound);
      if (go.ok()) {
        V is_mode = Bin(ir::Op::k_eq, Gather(mode, at, 0), c.ScalarInt(i64, m));
        go = Select(is_mode, here, go);
      } else {
        go = here;
      }
    }
    if (has_missing) {
      V tracks = Bin(ir::Op::k_ne, Gather(missing, at, 0), c.ScalarInt(i64, 0));
      go = Bin(ir::Op::k_or, go, Bin(ir::Op::k_and, tracks, Bin(ir::Op::k_ne, value, value)));
    }
    at = Select(go, Gather(yes, at, 0), Gather(no, at, 0));
  }
  return at;
}

enum class Aggregate { kSum, kAverage, kMin, kMax };

// [N, targets]; 0 where no leaf has the target.
V Scores(NodeContext& c, const Forest& f, V x, Aggregate how) {
  V leaf = WalkTo(c, f, x);
  if (!c.ok()) return {&c};
  if (f.num_targets < 1 || f.num_targets > kMostWeights / std::max<int64_t>(f.size(), 1)) {
    c.Fail(absl::ResourceExhaustedError(
        absl::StrCat(f.num_targets, " targets of ", f.size(), " nodes are outside of the limits")));
    return {&c};
  }
  if (!c.MayMake(f.size(), f.num_targets, x.dtype())) return {&c};
  const bool extremum = how == Aggregate::kMin || how == Aggregate::kMax;
  const double inf = std::numeric_limits<double>::infinity();
  const double none = !extremum ? 0 : how == Aggregate::kMin ? inf : -inf;
  std::vector<double> table(static_cast<size_t>(f.size() * f.num_targets), none);
  for (const auto& [node, weights] : f.leaves) {
    for (const auto& [target, weight] : weights) {
      double& entry = table[static_cast<size_t>(node * f.num_targets + target)];
      if (!extremum) entry += weight;
      if (how == Aggregate::kMin) entry = std::min(entry, weight);
      if (how == Aggregate::kMax) entry = std::max(entry, weight);
    }
  }
  V weights = Gather(FloatTable(c, table, x.dtype(), {f.size(), f.num_targets}), leaf, 0);
  if (!extremum) {
    V sum = Reduce(ir::Op::k_sum, weights, {1}, false);
    return how == Aggregate::kSum ? sum : sum / static_cast<double>(f.roots.size());
  }
  V best = Reduce(how == Aggregate::kMin ? ir::Op::k_min : ir::Op::k_max, weights, {1}, false);
  return Select(Bin(ir::Op::k_eq, best, none), c.Scalar(x.dtype(), 0), best);
}

// -- the older forms: nodes named by tree and number, modes by words

const std::map<std::string, Mode>& ModeWords() {
  static const auto* words = new std::map<std::string, Mode>{
      {"BRANCH_LEQ", kLeq}, {"BRANCH_LT", kLt},   {"BRANCH_GTE", kGte}, {"BRANCH_GT", kGt},
      {"BRANCH_EQ", kEq},   {"BRANCH_NEQ", kNeq}, {"LEAF", kLeaf},
  };
  return *words;
}

// Whether an axis can have an element `n`.
bool IsFeature(int64_t n) { return n >= 0 && n < ir::kMaxDim; }

// `kind` is "target" or "class": the prefix of the leaves' attributes.
Forest ReadNamed(NodeContext& c, const std::string& kind, int64_t num_targets) {
  Forest f;
  f.num_targets = num_targets;
  const std::vector<int64_t> trees = c.Ints("nodes_treeids"), ids = c.Ints("nodes_nodeids");
  const std::vector<int64_t> features = c.Ints("nodes_featureids");
  const std::vector<int64_t> yes = c.Ints("nodes_truenodeids"), no = c.Ints("nodes_falsenodeids");
  const std::vector<int64_t> missing = c.Ints("nodes_missing_value_tracks_true");
  const std::vector<double> splits = Numbers(c, "nodes_values");
  const Attribute* modes = c.Find("nodes_modes");
  const size_t n = trees.size();
  const auto fail = [&](const std::string& message) {
    c.Fail(message);
    return Forest();
  };
  if (!c.ok()) return f;
  if (n == 0 || static_cast<int64_t>(n) > kMostNodes || modes == nullptr ||
      modes->strings.size() != n || ids.size() != n || features.size() != n || yes.size() != n ||
      no.size() != n || splits.size() != n || (!missing.empty() && missing.size() != n))
    return fail(absl::StrCat("the attributes of ", n, " nodes differ in length"));
  std::map<std::pair<int64_t, int64_t>, int64_t> index;
  std::set<int64_t> begun;
  for (size_t i = 0; i < n; ++i) {
    const auto mode = ModeWords().find(modes->strings[i]);
    if (mode == ModeWords().end())
      return fail(absl::StrCat("there is no mode '", modes->strings[i], "'"));
    f.Add(mode->second);
    if (!index.emplace(std::make_pair(trees[i], ids[i]), i).second)
      return fail(absl::StrCat("node ", ids[i], " of tree ", trees[i], " stands twice"));
    if (begun.insert(trees[i]).second) f.roots.push_back(static_cast<int64_t>(i));
  }
  const auto find = [&](int64_t tree, int64_t id) {
    const auto found = index.find({tree, id});
    if (found == index.end()) c.Fail(absl::StrCat("tree ", tree, " has no node ", id));
    return found == index.end() ? 0 : found->second;
  };
  for (size_t i = 0; i < n; ++i) {
    if (f.mode[i] == kLeaf) continue;
    if (!IsFeature(features[i]))
      return fail(absl::StrCat("feature ", features[i], " is out of range"));
    f.feature[i] = features[i];
    f.split[i] = splits[i];
    f.missing_yes[i] = missing.empty() ? 0 : missing[i] != 0;
    f.yes[i] = find(trees[i], yes[i]);
    f.no[i] = find(trees[i], no[i]);
  }
  const std::vector<int64_t> of_tree = c.Ints(kind + "_treeids"),
                             of_node = c.Ints(kind + "_nodeids");
  const std::vector<int64_t> target = c.Ints(kind + "_ids");
  const std::vector<double> weight = Numbers(c, kind + "_weights");
  if (of_node.size() != of_tree.size() || target.size() != of_tree.size() ||
      weight.size() != of_tree.size())
    return fail(absl::StrCat("the attributes ", kind, "_* differ in length"));
  for (size_t i = 0; i < of_tree.size() && c.ok(); ++i) {
    if (target[i] < 0 || target[i] >= num_targets)
      return fail(absl::StrCat(kind, " ", target[i], " isn't one of ", num_targets));
    f.leaves[find(of_tree[i], of_node[i])].emplace_back(target[i], weight[i]);
  }
  return f;
}

V PlusBase(NodeContext& c, V scores) {
  const std::vector<double> base = Numbers(c, "base_values");
  if (base.empty() || !scores.ok()) return scores;
  return scores + FloatTable(c, base, scores.dtype(), {static_cast<int64_t>(base.size())});
}

void TreeEnsembleRegressor(NodeContext& c) {
  static const auto* words = new std::map<std::string, Aggregate>{{"SUM", Aggregate::kSum},
                                                                  {"AVERAGE", Aggregate::kAverage},
                                                                  {"MIN", Aggregate::kMin},
                                                                  {"MAX", Aggregate::kMax}};
  const std::string word = c.Str("aggregate_function", "SUM");
  const auto how = words->find(word);
  if (how == words->end()) return c.Fail(absl::StrCat("there is no aggregate_function ", word));
  const Forest f = ReadNamed(c, "target", c.Int("n_targets", 1));
  V x = Features(c);
  if (!c.ok()) return;
  V y = PlusBase(c, Scores(c, f, x, how->second));
  c.Out(0, Cast(PostTransform(c, y, c.Str("post_transform", "NONE")), f32));
}

// The scores of two classes made of one: of the second one.
V TwoScores(V one, bool positive) { return Concat({positive ? 1.0 - one : -one, one}, 1); }

void TreeEnsembleClassifier(NodeContext& c) {
  const int64_t classes = NumLabels(c, "classlabels_int64s", "classlabels_strings");
  const std::vector<int64_t> ids = c.Ints("class_ids");
  const std::vector<double> weights = Numbers(c, "class_weights");
  Forest f = ReadNamed(c, "class", std::max<int64_t>(classes, 1));
  V x = Features(c);
  if (!c.ok()) return;
  const std::string transform = c.Str("post_transform", "NONE");
  const bool positive =
      std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
  const bool one_score = classes <= 2 && std::set<int64_t>(ids.begin(), ids.end()).size() == 1;
  V scores, labels;
  if (one_score) {
    // One class has all the weights: what it scores decides between two.
    f.num_targets = 1;
    for (auto& [node, leaf] : f.leaves)
      for (auto& [target, weight] : leaf) target = 0;
    V one = Scores(c, f, x, Aggregate::kSum);
    const std::vector<double> base = Numbers(c, "base_values");
    if (!base.empty()) one = one + base.back();
    labels = Squeeze(Bin(ir::Op::k_gt, one, positive && classes == 2 ? 0.5 : 0.0), {1});
    if (classes == 1 || transform == "PROBIT") {
      scores = PostTransform(c, one, transform);
    } else {
      scores = TwoScores(one, positive);
      if (!positive) scores = PostTransform(c, scores, transform);
    }
  } else {
    V sums = PlusBase(c, Scores(c, f, x, Aggregate::kSum));
    labels = BestClass(c, sums);
    scores = PostTransform(c, sums, transform);
  }
  c.Out(1, Cast(scores, f32));
  if (!c.WantsOutput(0)) return;
  labels = Cast(labels, i64);
  c.Out(0, classes == 1 ? labels
                        : ClassLabels(c, labels, "classlabels_int64s", "classlabels_strings"));
}

// -- TreeEnsemble of version 5: nodes and leaves by their places

// The test for a set becomes one for each member, one after another.
void ExpandMembers(NodeContext& c, Forest* f, int64_t node, const std::vector<double>& members) {
  const size_t first = static_cast<size_t>(node);
  const int64_t yes = f->yes[first], no = f->no[first];
  if (members.empty()) {  // nothing is a member
    f->mode[first] = kNeq;
    f->split[first] = std::numeric_limits<double>::quiet_NaN();
    f->yes[first] = no;
    if (f->missing_yes[first] != 0) c.Unsupported("a set without members tracks missing values");
    f->missing_yes[first] = 0;
    return;
  }
  int64_t at = node;
  for (size_t i = 0; i < members.size(); ++i) {
    const size_t here = static_cast<size_t>(at);
    f->mode[here] = kEq;
    f->split[here] = members[i];
    f->feature[here] = f->feature[first];
    f->missing_yes[here] = f->missing_yes[first];
    f->yes[here] = yes;
    const int64_t next = i + 1 == members.size() ? no : f->Add(kEq);
    f->no[here] = next;
    at = next;
  }
}

Forest ReadPlaced(NodeContext& c) {
  Forest f;
  f.num_targets = c.Int("n_targets", 1);
  const std::vector<int64_t> features = c.Ints("nodes_featureids"), roots = c.Ints("tree_roots");
  const std::vector<int64_t> yes = c.Ints("nodes_truenodeids"), no = c.Ints("nodes_falsenodeids");
  const std::vector<int64_t> yes_leaf = c.Ints("nodes_trueleafs");
  const std::vector<int64_t> no_leaf = c.Ints("nodes_falseleafs");
  const std::vector<int64_t> missing = c.Ints("nodes_missing_value_tracks_true");
  const std::vector<int64_t> target = c.Ints("leaf_targetids");
  const std::vector<double> splits = Numbers(c, "nodes_splits"), modes = Numbers(c, "nodes_modes");
  const std::vector<double> weight = Numbers(c, "leaf_weights");
  std::vector<double> members = Numbers(c, "membership_values");
  const size_t n = features.size();
  const auto fail = [&](const std::string& message) {
    c.Fail(message);
    return Forest();
  };
  if (!c.ok()) return f;
  if (n == 0 || static_cast<int64_t>(n) > kMostNodes || modes.size() != n || yes.size() != n ||
      no.size() != n || yes_leaf.size() != n || no_leaf.size() != n || splits.size() != n ||
      (!missing.empty() && missing.size() != n) || target.size() != weight.size())
    return fail(absl::StrCat("the attributes of ", n, " nodes differ in length"));
  for (size_t i = 0; i < n; ++i) {
    if (!(modes[i] >= int{kLeq} && modes[i] <= int{kMember}))
      return fail(absl::StrCat("there is no mode ", modes[i]));
    f.Add(static_cast<int>(modes[i]));
  }
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i] < 0 || target[i] >= f.num_targets)
      return fail(absl::StrCat("target ", target[i], " isn't one of ", f.num_targets));
    f.leaves[f.Add(kLeaf)].emplace_back(target[i], weight[i]);
  }
  const auto place = [&](int64_t id, bool leaf) -> int64_t {
    const int64_t count = static_cast<int64_t>(leaf ? target.size() : n);
    if (id >= 0 && id < count) return leaf ? static_cast<int64_t>(n) + id : id;
    c.Fail(absl::StrCat(leaf ? "leaf " : "node ", id, " isn't one of ", count));
    return 0;
  };
  for (size_t i = 0; i < n; ++i) {
    if (!IsFeature(features[i]))
      return fail(absl::StrCat("feature ", features[i], " is out of range"));
    f.feature[i] = features[i];
    f.split[i] = splits[i];
    f.missing_yes[i] = missing.empty() ? 0 : missing[i] != 0;
    f.yes[i] = place(yes[i], yes_leaf[i] != 0);
    f.no[i] = place(no[i], no_leaf[i] != 0);
  }
  for (int64_t root : roots) f.roots.push_back(place(root, false));
  if (roots.empty()) return fail("there are no tree_roots");
  auto at = members.begin();
  for (size_t i = 0; i < n && c.ok(); ++i) {
    if (f.mode[i] != kMember) continue;
    const auto end = std::find_if(at, members.end(), [](double v) { return std::isnan(v); });
    if (end == members.end()) return fail("there are fewer sets of members than nodes that test");
    ExpandMembers(c, &f, static_cast<int64_t>(i), {at, end});
    at = end + 1;
  }
  return f;
}

void TreeEnsemble(NodeContext& c) {
  const int64_t how = c.Int("aggregate_function", 1), transform = c.Int("post_transform", 0);
  constexpr Aggregate kHow[] = {Aggregate::kAverage, Aggregate::kSum, Aggregate::kMin,
                                Aggregate::kMax};
  constexpr const char* kTransform[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  if (how < 0 || how > 3 || transform < 0 || transform > 4)
    return c.Fail("aggregate_function or post_transform is out of range");
  const Forest f = ReadPlaced(c);
  V x = Features(c);
  if (!c.ok()) return;
  V y = PostTransform(c, Scores(c, f, x, kHow[how]), kTransform[transform]);
  c.Out(0, Cast(y, c.In(0).dtype()));
}

}  // namespace

std::vector<Mapping> TreeMappings() {
  return {
      {"ai.onnx.ml", "TreeEnsemble", TreeEnsemble},
      {"ai.onnx.ml", "TreeEnsembleRegressor", TreeEnsembleRegressor},
      {"ai.onnx.ml", "TreeEnsembleClassifier", TreeEnsembleClassifier},
  };
}

}  // namespace lathe::onnx
