// Structural equality of graphs.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "ir/attr_text.h"
#include "ir/graph.h"

namespace lathe::ir {
namespace {

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b)
      : a_(a), b_(b), same_context_(a.dims() == b.dims()), counterpart_(a.num_nodes(), kNoValue) {}

  bool Run() {
    return a_.name == b_.name && a_.output_names == b_.output_names &&
           SameBlock(a_.body, b_.body) && SameValues(a_.inputs, b_.inputs) && SameFacts();
  }

 private:
  bool Same(Dim a, Dim b) const {
    if (same_context_ || a.is_constant() || b.is_constant()) return a == b;
    return a.ToString() == b.ToString();
  }
  bool Same(const Claim& a, const Claim& b) const {
    return a.relation == b.relation && Same(a.lhs, b.lhs) && Same(a.rhs, b.rhs) && a.set == b.set;
  }
  // Bits, so that NaN equals itself and -0 is not 0.
  bool Same(double a, double b) const { return std::memcmp(&a, &b, sizeof a) == 0; }
  bool Same(const Tensor& a, const Tensor& b) const {
    if (a.ok() != b.ok() || a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
    if (a.num_elements() == 0 || a.raw() == b.raw()) return true;
    const Tensor ca = a.Contiguous(), cb = b.Contiguous();
    return std::memcmp(ca.raw(), cb.raw(), static_cast<size_t>(ca.num_bytes())) == 0;
  }
  template <typename T>
  requires std::is_integral_v<T> || std::is_enum_v<T>
  bool Same(T a, T b) const { return a == b; }
  bool Same(const std::string& a, const std::string& b) const { return a == b; }
  template <typename T>
  bool Same(const std::optional<T>& a, const std::optional<T>& b) const {
    return a.has_value() == b.has_value() && (!a || Same(*a, *b));
  }
  template <typename T>
  bool Same(const std::vector<T>& a, const std::vector<T>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const T& x, const T& y) { return Same(x, y); });
  }
  bool Same(const Attrs& a, const Attrs& b) const {
    const auto fields = AllAttrFields();
    return std::all_of(fields.begin(), fields.end(), [&](const AttrField& field) {
      return std::visit([&](auto member) { return Same(a.*member, b.*member); }, field.member);
    });
  }

  bool SameValue(ValueId a, ValueId b) const {
    return a < counterpart_.size() && counterpart_[a] == b;
  }
  bool SameValues(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](ValueId x, ValueId y) { return SameValue(x, y); });
  }

  // Depth is bounded by kMaxBlockDepth.
  bool SameBlock(const Block& a, const Block& b) {
    if (a.nodes.size() != b.nodes.size()) return false;
    for (size_t i = 0; i < a.nodes.size(); ++i) {
      if (!SameNode(a_.node(a.nodes[i]), b_.node(b.nodes[i]))) return false;
      counterpart_[a.nodes[i]] = b.nodes[i];
    }
    return SameValues(a.results, b.results);
  }
  bool SameNode(const Node& a, const Node& b) {
    if (a.op != b.op || a.name != b.name || a.type.dtype != b.type.dtype ||
        !Same(a.type.shape, b.type.shape) || !SameValues(a.operands, b.operands) ||
        !Same(a.attrs, b.attrs) || a.blocks.size() != b.blocks.size())
      return false;
    for (size_t i = 0; i < a.blocks.size(); ++i) {
      if (!SameBlock(a.blocks[i], b.blocks[i])) return false;
    }
    return true;
  }

  // The same declared facts, in any order, stated any number of times. Required ones follow from
  // the nodes.
  bool SameFacts() const { return Statements(a_) == Statements(b_); }
  static std::vector<std::string> Statements(const Graph& g) {
    std::vector<std::string> statements;
    for (const dim::Fact& fact : g.facts().facts()) {
      if (fact.standing == dim::Standing::kDeclared) statements.push_back(fact.claim.ToString());
    }
    std::sort(statements.begin(), statements.end());
    statements.erase(std::unique(statements.begin(), statements.end()), statements.end());
    return statements;
  }

  const Graph& a_;
  const Graph& b_;
  const bool same_context_;
  std::vector<ValueId> counterpart_;  // of each value of a, the one of b
};

}  // namespace

bool Equal(const Graph& a, const Graph& b) { return Comparison(a, b).Run(); }

}  // namespace lathe::ir
