// The verifier. Invariants, by the number that an error names:
//
//   1  Limits: nodes, nesting of `if`.
//   2  A block lists values of the graph, and no value stands twice.
//   3  Operands and results are defined earlier in their block or in one around it.
//   4  Inputs stand in the body, in `inputs` once each, with distinct names.
//   5  Outputs: as many names as results, all distinct.
//   6  Only `if` has blocks: two, with one result each.
//   7  Operand count, attributes and operand types are as the op's row says; axes are normalised.
//   8  The type is what the row infers: same element type and rank, dims identical or known equal.
//   9  Dims are of this graph's context, not poisoned, within their limits and known to be >= 0.
//  10  The claims that the ops need are known from the declared and required facts.
#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/shape_rules.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

class Verifier {
 public:
  // Inference in check_only mode reads the graph and interns dims; it changes no node and no fact.
  explicit Verifier(const Graph& graph)
      : graph_(const_cast<Graph&>(graph)), scope_(graph.num_nodes(), kUnseen) {}

  absl::Status Run() {
    if (static_cast<int64_t>(graph_.num_nodes()) > graph_.max_nodes)
      return Fault(1, absl::StrCat(graph_.num_nodes(), " nodes, the limit is ", graph_.max_nodes));
    LATHE_RETURN_IF_ERROR(CheckBlock(graph_.body, nullptr, 0));
    LATHE_RETURN_IF_ERROR(CheckInputs());
    return CheckOutputs();
  }

 private:
  enum Scope : uint8_t { kUnseen, kVisible, kClosed };

  absl::Status Fault(int invariant, const std::string& message) const {
    return absl::InternalError(
        absl::StrCat("graph ", graph_.name.empty() ? "" : absl::StrCat("'", graph_.name, "' "),
                     "breaks invariant ", invariant, ": ", message));
  }
  absl::Status FaultAt(int invariant, ValueId v, const std::string& message) const {
    const std::string where = graph_.node(v).location.ToString();
    return Fault(invariant,
                 absl::StrCat(std::string(Name(graph_.node(v).op)), " ", graph_.ValueName(v),
                              where.empty() ? "" : " at ", where, ": ", message));
  }

  bool IsVisible(ValueId v) const { return v < scope_.size() && scope_[v] == kVisible; }

  absl::Status CheckBlock(const Block& block, const Side* side, int depth) {
    if (depth > kMaxBlockDepth)
      return Fault(1, absl::StrCat("blocks nest deeper than ", kMaxBlockDepth));
    for (ValueId v : block.nodes) {
      if (v >= scope_.size()) return Fault(2, absl::StrCat("a block lists %", v, ", no value"));
      if (scope_[v] != kUnseen) return FaultAt(2, v, "stands in blocks twice");
      scope_[v] = kClosed;  // not yet usable, not even by blocks of its own
      LATHE_RETURN_IF_ERROR(CheckNode(v, side, depth));
      scope_[v] = kVisible;
    }
    for (ValueId v : block.results) {
      if (!IsVisible(v))
        return Fault(3, absl::StrCat("the result ", graph_.ValueName(v), " is not defined there"));
    }
    if (depth > 0) {
      for (ValueId v : block.nodes) scope_[v] = kClosed;
    }
    return absl::OkStatus();
  }

  absl::Status CheckNode(ValueId v, const Side* side, int depth) {
    const Node& n = graph_.node(v);
    for (ValueId operand : n.operands) {
      if (!IsVisible(operand)) {
        return FaultAt(
            3, v, absl::StrCat("operand ", graph_.ValueName(operand), " is not defined there"));
      }
    }
    if (n.op == Op::k_input && depth > 0) return FaultAt(4, v, "an input stands inside an if");
    if (n.op != Op::k_if && !n.blocks.empty()) return FaultAt(6, v, "has blocks");
    if (n.op == Op::k_if) {
      if (n.blocks.size() != 2 || !n.attrs.claim)
        return FaultAt(6, v, "wanted a claim and two blocks");
      for (size_t i = 0; i < 2; ++i) {
        if (n.blocks[i].results.size() != 1) return FaultAt(6, v, "a block has not one result");
        const Side inner = SideOf(graph_, side, *n.attrs.claim, i == 0);
        LATHE_RETURN_IF_ERROR(CheckBlock(n.blocks[i], &inner, depth + 1));
      }
    }
    return CheckType(v, side);
  }

  absl::Status CheckType(ValueId v, const Side* side) {
    const Node& n = graph_.node(v);
    Node copy = n;
    InferContext c{.graph = &graph_, .node = &copy, .side = side, .check_only = true};
    absl::flat_hash_set<Dim> in_side;
    const absl::Status inferred = Infer(c, side == nullptr ? &checked_ : &in_side);
    if (!inferred.ok()) {
      const bool is_limit = inferred.code() == absl::StatusCode::kOutOfRange ||
                            inferred.code() == absl::StatusCode::kResourceExhausted;
      const bool is_claim = inferred.code() == absl::StatusCode::kFailedPrecondition;
      return FaultAt(is_limit ? 9 : is_claim ? 10 : 7, v, std::string(inferred.message()));
    }
    if (copy.attrs.axis != n.attrs.axis || copy.attrs.axes != n.attrs.axes)
      return FaultAt(7, v, "its axes are not normalised");
    const ValueType& found = n.type;
    const ValueType& wanted = copy.type;
    bool same = found.dtype == wanted.dtype && found.rank() == wanted.rank();
    for (size_t i = 0; same && i < found.shape.size(); ++i)
      same = KnownEq(c, found.shape[i], wanted.shape[i]);
    if (same) return absl::OkStatus();
    return FaultAt(
        8, v, absl::StrCat("has type ", found.ToString(), ", its row infers ", wanted.ToString()));
  }

  absl::Status CheckInputs() const {
    absl::flat_hash_set<std::string> names;
    absl::flat_hash_set<ValueId> listed;
    for (ValueId v : graph_.inputs) {
      if (!IsVisible(v) || graph_.node(v).op != Op::k_input)
        return Fault(4, absl::StrCat(graph_.ValueName(v), " is listed as an input and is none"));
      if (!listed.insert(v).second) return FaultAt(4, v, "is listed twice");
      if (!names.insert(graph_.node(v).attrs.name).second)
        return FaultAt(4, v, "another input has the same name");
    }
    for (ValueId v : graph_.body.nodes) {
      if (graph_.node(v).op == Op::k_input && !listed.contains(v))
        return FaultAt(4, v, "is not listed as an input");
    }
    return absl::OkStatus();
  }

  absl::Status CheckOutputs() const {
    if (graph_.output_names.size() != graph_.body.results.size()) {
      return Fault(5, absl::StrCat(graph_.body.results.size(), " results have ",
                                   graph_.output_names.size(), " names"));
    }
    absl::flat_hash_set<std::string> names;
    for (const std::string& name : graph_.output_names) {
      if (!names.insert(name).second)
        return Fault(5, absl::StrCat("two outputs have the name '", name, "'"));
    }
    return absl::OkStatus();
  }

  Graph& graph_;
  std::vector<Scope> scope_;
  absl::flat_hash_set<Dim> checked_;
};

}  // namespace

absl::Status Verify(const Graph& graph) { return Verifier(graph).Run(); }

}  // namespace lathe::ir
