#include "repl/extract.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/attr_text.h"
#include "ir/builder.h"
#include "ir/status_macros.h"

namespace lathe::repl {
namespace {

using dim::SymbolId;
using ir::Block;
using ir::Graph;
using ir::Node;
using ir::ValueId;

// Applies `use` to every Dim of a node, those of its blocks included.
template <typename Use>
void ForEachDim(const Graph& graph, const Node& n, const Use& use) {
  for (Dim d : n.type.shape) use(d);
  ir::ForEachDim(n.attrs, use);
  for (const Block& block : n.blocks) {
    for (ValueId v : block.nodes) ForEachDim(graph, graph.node(v), use);
  }
}

class Extractor {
 public:
  explicit Extractor(const Graph& from)
      : from_(from),
        to_(std::make_unique<Graph>()),
        builder_(to_.get()),
        live_(from.num_nodes()),
        used_(static_cast<size_t>(from.dims()->num_symbols())),
        copies_(from.num_nodes(), ir::kNoValue) {
    to_->max_nodes = from.max_nodes;
    to_->fast_math = from.fast_math;
  }

  absl::StatusOr<std::unique_ptr<Graph>> Run(absl::Span<const NamedValue> outputs) {
    FindLive(outputs);
    FindUsedSymbols();
    if (FindDataInputs()) FindUsedSymbols();
    MakeSymbols();
    LATHE_RETURN_IF_ERROR(CopyFacts());
    LATHE_RETURN_IF_ERROR(CopyBlock(from_.body, /*all=*/false));
    LATHE_RETURN_IF_ERROR(AddSizeInputs());
    for (const NamedValue& output : outputs) {
      LATHE_RETURN_IF_ERROR(builder_.Output(output.name, copies_[output.value]));
    }
    return std::move(to_);
  }

 private:
  void FindLive(absl::Span<const NamedValue> outputs) {
    for (const NamedValue& output : outputs) live_[output.value] = true;
    for (size_t i = from_.body.nodes.size(); i-- > 0;) {
      const ValueId v = from_.body.nodes[i];
      if (live_[v]) MarkOperands(from_.node(v));
    }
  }

  void MarkOperands(const Node& n) {
    for (ValueId v : n.operands) live_[v] = true;
    for (const Block& block : n.blocks) {
      for (ValueId v : block.results) live_[v] = true;
      for (ValueId v : block.nodes) MarkOperands(from_.node(v));
    }
  }

  void FindUsedSymbols() {
    for (ValueId v : from_.body.nodes) {
      if (!live_[v]) continue;
      ForEachDim(from_, from_.node(v), [&](Dim d) {
        for (SymbolId s : dim::FreeSymbols(d)) used_[s] = true;
      });
    }
  }

  // Inputs whose elements give sizes that are used belong to what uses them.
  bool FindDataInputs() {
    bool any = false;
    for (ValueId v : from_.inputs) {
      const ir::Attrs& attrs = from_.node(v).attrs;
      Shape given = attrs.elements.value_or(Shape());
      if (attrs.offsets) given.push_back((*attrs.offsets)[1]);
      for (Dim d : given) {
        for (SymbolId s : dim::FreeSymbols(d)) {
          if (!used_[s] || live_[v]) continue;
          any = live_[v] = true;
        }
      }
    }
    return any;
  }

  // In the session's order: strategies speak of the first and the second size.
  void MakeSymbols() {
    for (SymbolId s = 0; s < used_.size(); ++s) {
      if (used_[s]) to_->dims()->Symbol(from_.dims()->SymbolName(s));
    }
  }

  Dim Copy(Dim d) const { return dim::Substitute(d, {}, to_->dims()); }
  Claim Copy(const Claim& c) const { return dim::Substitute(c, {}, to_->dims()); }
  Shape Copy(Shape shape) const {
    for (Dim& d : shape) d = Copy(d);
    return shape;
  }

  bool OnlyUsed(Dim d) const {
    const std::vector<SymbolId> symbols = dim::FreeSymbols(d);
    return std::all_of(symbols.begin(), symbols.end(), [&](SymbolId s) { return used_[s]; });
  }

  // Declared ones alone: required facts come again from the ops that need them.
  absl::Status CopyFacts() {
    for (const dim::Fact& fact : from_.facts().facts()) {
      if (fact.standing != dim::Standing::kDeclared) continue;
      if (!OnlyUsed(fact.claim.lhs) || !OnlyUsed(fact.claim.rhs)) continue;
      LATHE_RETURN_IF_ERROR(
          to_->facts().Add(Copy(fact.claim), dim::Standing::kDeclared, fact.source).status());
    }
    return absl::OkStatus();
  }

  absl::Status CopyBlock(const Block& block, bool all) {
    for (ValueId v : block.nodes) {
      if (!all && !live_[v]) continue;
      const Node& n = from_.node(v);
      builder_.set_location(n.location);
      LATHE_ASSIGN_OR_RETURN(copies_[v], CopyNode(n));
      if (!n.name.empty()) builder_.SetName(copies_[v], n.name);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<ValueId> CopyNode(const Node& n) {
    if (n.op == ir::Op::k_input) {
      ir::Attrs attrs;
      if (n.attrs.elements) attrs.elements = Copy(*n.attrs.elements);
      if (n.attrs.offsets) attrs.offsets = Copy(*n.attrs.offsets);
      return builder_.Input(n.attrs.name, {n.type.dtype, Copy(n.type.shape)}, std::move(attrs));
    }
    if (n.op == ir::Op::k_constant) return builder_.Constant(n.attrs.tensor);
    if (n.op == ir::Op::k_if) return CopyIf(n);
    std::vector<ValueId> operands;
    for (ValueId v : n.operands) operands.push_back(copies_[v]);
    ir::Attrs attrs = n.attrs;
    ir::ForEachDim(attrs, [this](Dim& d) { d = Copy(d); });
    return builder_.Create(n.op, std::move(operands), std::move(attrs));
  }

  // Recursion is as deep as the `if`s: ir::kMaxBlockDepth.
  absl::StatusOr<ValueId> CopyIf(const Node& n) {
    LATHE_RETURN_IF_ERROR(builder_.OpenIf(Copy(*n.attrs.claim)));
    LATHE_RETURN_IF_ERROR(CopyBlock(n.blocks[0], /*all=*/true));
    LATHE_RETURN_IF_ERROR(builder_.Else(copies_[n.blocks[0].results[0]]));
    LATHE_RETURN_IF_ERROR(CopyBlock(n.blocks[1], /*all=*/true));
    builder_.set_location(n.location);
    return builder_.CloseIf(copies_[n.blocks[1].results[0]]);
  }

  // Sizes that neither an input nor an equality gives.
  absl::Status AddSizeInputs() {
    const int count = to_->dims()->num_symbols();
    std::vector<bool> shown(static_cast<size_t>(count));
    for (ValueId v : to_->inputs) {
      for (const auto* data : {&to_->node(v).attrs.elements, &to_->node(v).attrs.offsets}) {
        if (!*data) continue;
        for (Dim d : **data) {
          for (SymbolId s : dim::FreeSymbols(d)) shown[s] = true;
        }
      }
      for (Dim axis : to_->type(v).shape) {
        for (SymbolId s : dim::FreeSymbols(axis)) {
          Dim coefficient, rest;
          if (!dim::SplitAffine(axis, s, &coefficient, &rest)) continue;
          if (coefficient.is_constant() && coefficient.constant() != 0) shown[s] = true;
        }
      }
    }
    for (SymbolId s = 0; s < shown.size(); ++s) {
      const Dim symbol = to_->dims()->SymbolDim(s);
      if (shown[s] || Follows(symbol, s, shown)) continue;
      const std::string name = absl::StrCat("sizes.", to_->dims()->SymbolName(s));
      LATHE_RETURN_IF_ERROR(builder_.Input(name, {DType::kBool, {symbol, 0}}).status());
      shown[s] = true;
    }
    return absl::OkStatus();
  }

  bool Follows(Dim symbol, SymbolId s, const std::vector<bool>& shown) const {
    const Dim simpler = to_->facts().Simplify(symbol);
    if (dim::DependsOn(simpler, s)) return false;
    const std::vector<SymbolId> symbols = dim::FreeSymbols(simpler);
    return std::all_of(symbols.begin(), symbols.end(),
                       [&](SymbolId other) { return shown[other]; });
  }

  const Graph& from_;
  std::unique_ptr<Graph> to_;
  ir::Builder builder_;
  std::vector<bool> live_;       // by the session's ValueId
  std::vector<bool> used_;       // by the session's SymbolId
  std::vector<ValueId> copies_;  // by the session's ValueId
};

}  // namespace

absl::StatusOr<std::unique_ptr<ir::Graph>> Extract(const ir::Graph& session,
                                                   absl::Span<const NamedValue> outputs) {
  return Extractor(session).Run(outputs);
}

}  // namespace lathe::repl
