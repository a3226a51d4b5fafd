// Symbols from the shapes of inputs: BindSymbols and CheckFacts of ir/interpreter.h.
//
// Each input axis is an equation `dim == extent`, each declared equality another. One with a single
// unknown symbol that stands in it as `coefficient * symbol + rest` gives that symbol; this is
// repeated while something new is learnt. Then every equation is checked.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/input_data.h"
#include "ir/interpreter.h"

namespace lathe::ir {
namespace {

std::string InputText(const Graph& graph, size_t input) {
  return absl::StrCat("input '", graph.ValueName(graph.inputs[input]), "'");
}

struct Equation {
  Dim dim;
  int64_t value = 0;
  std::string where;  // "input 'x' axis 1", "the fact a == b"
};

class Binder {
 public:
  explicit Binder(const Graph& graph)
      : graph_(graph),
        values_(static_cast<size_t>(graph.dims()->num_symbols()), 0),
        known_(values_.size(), false) {}

  absl::StatusOr<std::vector<int64_t>> Bind(absl::Span<const Tensor> inputs) {
    absl::Status status = AddInputs(inputs);
    if (!status.ok()) return status;
    const size_t from_inputs = equations_.size();
    AddDeclaredEqualities();
    status = SolveAll();
    if (!status.ok()) return status;
    status = SolveLongest();
    if (!status.ok()) return status;
    status = FillRest();
    if (!status.ok()) return status;
    for (size_t i = 0; i < from_inputs; ++i) {
      status = CheckEquation(equations_[i]);
      if (!status.ok()) return status;
    }
    status = CheckLongest();
    if (!status.ok()) return status;
    return std::move(values_);
  }

 private:
  absl::Status AddInputs(absl::Span<const Tensor> inputs) {
    if (inputs.size() != graph_.inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "got ", inputs.size(), " inputs, ", graph_.name.empty() ? "the graph" : graph_.name,
          " wants ", graph_.inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueType& type = graph_.type(graph_.inputs[i]);
      const Tensor& tensor = inputs[i];
      const std::string name = InputText(graph_, i);
      if (!tensor.ok())
        return absl::InvalidArgumentError(absl::StrCat(name, " isn't a valid tensor"));
      if (tensor.dtype() != type.dtype || tensor.rank() != type.rank()) {
        return absl::InvalidArgumentError(absl::StrCat(name, " is ", Name(tensor.dtype()), "[",
                                                       absl::StrJoin(tensor.shape(), ", "),
                                                       "], wanted ", type.ToString()));
      }
      for (size_t axis = 0; axis < type.shape.size(); ++axis) {
        equations_.push_back(
            {type.shape[axis], tensor.shape()[axis], absl::StrCat(name, " axis ", axis)});
      }
      if (absl::Status s = AddData(graph_.node(graph_.inputs[i]), tensor, name); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  // The sizes that an input's elements give.
  absl::Status AddData(const Node& n, const Tensor& tensor, const std::string& name) {
    if (n.attrs.elements) {
      const Shape& elements = *n.attrs.elements;
      for (size_t axis = 0; axis < n.type.shape.size(); ++axis) {
        const Dim wanted = n.type.shape[axis];
        if (wanted == Dim(tensor.shape()[axis])) continue;
        return CheckEquation({wanted, tensor.shape()[axis], absl::StrCat(name, " axis ", axis)});
      }
      for (size_t k = 0; k < elements.size(); ++k) {
        equations_.push_back({elements[k], IntegerElement(tensor, static_cast<int64_t>(k)),
                              absl::StrCat(name, " element ", k)});
      }
    }
    if (!n.attrs.offsets) return absl::OkStatus();
    if (tensor.num_elements() < 1)
      return absl::InvalidArgumentError(absl::StrCat(name, " is empty, wanted rows + 1 offsets"));
    const OffsetsReading reading = ReadOffsets(tensor);
    if (reading.fault >= 0) return OffsetsError(name, tensor, reading);
    const Shape& sizes = *n.attrs.offsets;
    equations_.push_back(
        {sizes[0], reading.total, absl::StrCat(name, " element ", tensor.num_elements() - 1)});
    longest_.push_back({sizes[1], reading.longest, absl::StrCat("the longest row of ", name)});
    return absl::OkStatus();
  }

  // The longest row gives its symbol unless an axis does; then it is a bound.
  absl::Status SolveLongest() {
    for (const Equation& e : longest_) {
      dim::SymbolId symbol = 0;
      if (!dim::IsSymbol(e.dim, &symbol) || known_[symbol]) continue;
      known_[symbol] = true;
      values_[symbol] = e.value;
    }
    return SolveAll();
  }
  absl::Status CheckLongest() const {
    for (const Equation& e : longest_) {
      absl::StatusOr<int64_t> most = dim::Evaluate(e.dim, values_);
      if (!most.ok()) return most.status();
      if (e.value <= *most) continue;
      return absl::InvalidArgumentError(absl::StrCat(e.where, " is ", e.value, ", wanted at most ",
                                                     e.dim.ToString(), " = ", *most));
    }
    return absl::OkStatus();
  }

  void AddDeclaredEqualities() {
    for (const dim::Fact& fact : graph_.facts().facts()) {
      if (fact.standing != dim::Standing::kDeclared || fact.claim.relation != Relation::kEq)
        continue;
      const Dim difference = fact.claim.lhs - fact.claim.rhs;
      if (difference.ok())
        equations_.push_back({difference, 0, absl::StrCat("the fact ", fact.claim.ToString())});
    }
  }

  absl::Status SolveAll() {
    for (bool progress = true; progress;) {
      progress = false;
      for (const Equation& e : equations_) {
        absl::StatusOr<bool> solved = Solve(e);
        if (!solved.ok()) return solved.status();
        progress |= *solved;
      }
    }
    return absl::OkStatus();
  }

  // True if the equation gave a new symbol.
  absl::StatusOr<bool> Solve(const Equation& e) {
    dim::SymbolId unknown = 0;
    int unknowns = 0;
    for (dim::SymbolId s : dim::FreeSymbols(e.dim)) {
      if (known_[s]) continue;
      unknown = s;
      ++unknowns;
    }
    Dim coefficient_dim, rest_dim;
    if (unknowns != 1 || !dim::SplitAffine(e.dim, unknown, &coefficient_dim, &rest_dim))
      return false;
    absl::StatusOr<int64_t> coefficient = dim::Evaluate(coefficient_dim, values_);
    absl::StatusOr<int64_t> rest = dim::Evaluate(rest_dim, values_);
    int64_t difference = 0;
    if (!coefficient.ok() || !rest.ok() || *coefficient == 0 ||
        __builtin_sub_overflow(e.value, *rest, &difference)) {
      return false;
    }
    const std::string name = graph_.dims()->SymbolName(unknown);
    if (*coefficient != 1 && *coefficient != -1 && difference % *coefficient != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(e.where, " is ", e.value, ", wanted ", e.dim.ToString(), " for a whole ",
                       name, ": ", difference, " isn't a multiple of ", *coefficient,
                       " (remainder ", difference % *coefficient, ")"));
    }
    if (*coefficient == -1) {
      if (__builtin_sub_overflow(int64_t{0}, difference, &values_[unknown])) return false;
    } else {
      values_[unknown] = difference / *coefficient;
    }
    if (values_[unknown] < 0 && graph_.facts().Range(graph_.dims()->SymbolDim(unknown)).min >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(e.where, " is ", e.value, ", wanted ",
                                                     e.dim.ToString(), ", which makes ", name,
                                                     " = ", values_[unknown], ", wanted >= 0"));
    }
    known_[unknown] = true;
    return true;
  }

  // A symbol that no input gives has the one value that its facts leave. One that nothing computed
  // depends on may have any: it gets the least that its facts admit.
  absl::Status FillRest() {
    if (std::find(known_.begin(), known_.end(), false) == known_.end()) return absl::OkStatus();
    FindUses();
    for (dim::SymbolId s = 0; s < known_.size(); ++s) {
      if (known_[s]) continue;
      const Dim d = graph_.dims()->SymbolDim(s);
      const dim::Interval range = graph_.facts().Range(d);
      if (user_[s] != kNoValue && range.min != range.max) {
        return absl::InvalidArgumentError(absl::StrCat(
            "symbol '", graph_.dims()->SymbolName(s),
            "' isn't determined by the inputs' shapes, but ", graph_.ValueName(user_[s]), " (",
            std::string(Name(graph_.node(user_[s]).op)), ") depends on it"));
      }
      values_[s] = LeastValue(d, range);
    }
    return absl::OkStatus();
  }

  int64_t LeastValue(Dim d, const dim::Interval& range) const {
    const std::vector<int64_t> set = graph_.facts().Values(d);
    if (!set.empty()) return set.front();
    if (range.min == dim::kUnboundedMin) return std::min<int64_t>(range.max, 0);
    const dim::Congruence c = graph_.facts().CongruenceOf(d);
    if (c.modulus <= 1) return range.min;
    const int64_t past = ((range.min % c.modulus) - c.remainder + c.modulus) % c.modulus;
    return past == 0 ? range.min : range.min + (c.modulus - past);
  }

  // Fills user_ with a node that depends on each symbol, over all blocks.
  void FindUses() {
    user_.assign(known_.size(), kNoValue);
    std::vector<const Block*> blocks = {&graph_.body};
    while (!blocks.empty()) {
      const Block* block = blocks.back();
      blocks.pop_back();
      for (ValueId v : block->nodes) {
        const Node& n = graph_.node(v);
        for (const Block& inner : n.blocks) blocks.push_back(&inner);
        AddUses(v, n.type.shape);
        if (n.attrs.shape.has_value()) AddUses(v, *n.attrs.shape);
        AddUses(v, n.attrs.starts);
        AddUses(v, n.attrs.low);
        AddUses(v, n.attrs.sizes);
        if (n.attrs.dim.has_value()) AddUses(v, {*n.attrs.dim});
        if (n.attrs.claim.has_value()) AddUses(v, {n.attrs.claim->lhs, n.attrs.claim->rhs});
      }
    }
  }

  void AddUses(ValueId user, const Shape& dims) {
    for (Dim d : dims) {
      if (d.is_constant() || !seen_.insert(d).second) continue;
      for (dim::SymbolId s : dim::FreeSymbols(d)) user_[s] = user;
    }
  }

  absl::Status CheckEquation(const Equation& e) const {
    absl::StatusOr<int64_t> wanted = dim::Evaluate(e.dim, values_);
    if (!wanted.ok()) {
      return absl::Status(wanted.status().code(), absl::StrCat(e.where, ", ", e.dim.ToString(),
                                                               ": ", wanted.status().message()));
    }
    if (*wanted == e.value) return absl::OkStatus();
    std::string text = absl::StrCat(e.where, " is ", e.value, ", wanted ", *wanted);
    if (!e.dim.is_constant()) absl::StrAppend(&text, ": it is ", e.dim.ToString());
    for (dim::SymbolId s : dim::FreeSymbols(e.dim))
      absl::StrAppend(&text, ", ", graph_.dims()->SymbolName(s), " = ", values_[s]);
    return absl::InvalidArgumentError(text);
  }

  const Graph& graph_;
  std::vector<Equation> equations_, longest_;
  std::vector<int64_t> values_;
  std::vector<bool> known_;
  std::vector<ValueId> user_;
  absl::flat_hash_set<Dim> seen_;
};

// "seq = 12 (input 'x' axis 1)".
std::string SymbolText(const Graph& graph, dim::SymbolId s, int64_t value) {
  std::string text = absl::StrCat(graph.dims()->SymbolName(s), " = ", value);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Shape& shape = graph.type(graph.inputs[i]).shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (dim::DependsOn(shape[axis], s))
        return absl::StrCat(text, " (", InputText(graph, i), " axis ", axis, ")");
    }
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Attrs& a = graph.node(graph.inputs[i]).attrs;
    for (size_t k = 0; a.elements && k < a.elements->size(); ++k) {
      if (dim::DependsOn((*a.elements)[k], s))
        return absl::StrCat(text, " (", InputText(graph, i), " element ", k, ")");
    }
    if (a.offsets && dim::DependsOn((*a.offsets)[1], s))
      return absl::StrCat(text, " (the longest row of ", InputText(graph, i), ")");
  }
  return text;
}

std::string ValueText(Dim d, absl::Span<const int64_t> symbols) {
  absl::StatusOr<int64_t> value = dim::Evaluate(d, symbols);
  return absl::StrCat(d.ToString(), " = ",
                      value.ok() ? absl::StrCat(*value) : std::string(value.status().message()));
}

std::string ViolationText(const Graph& graph, const dim::Fact& fact,
                          absl::Span<const int64_t> symbols) {
  const Claim& claim = fact.claim;
  std::string text = absl::StrCat(dim::Name(fact.standing), " fact ", claim.ToString());
  if (!fact.source.what.empty() || !fact.source.where.empty()) {
    absl::StrAppend(&text, " (", fact.source.what,
                    fact.source.what.empty() || fact.source.where.empty() ? "" : ", ",
                    fact.source.where, ")");
  }
  absl::StrAppend(&text, " doesn't hold: ");
  const dim::Expr lhs = dim::Decompose(claim.lhs);
  if (claim.relation == Relation::kEq && lhs.kind == dim::ExprKind::kMod) {
    absl::StatusOr<int64_t> remainder = dim::Evaluate(claim.lhs, symbols);
    absl::StrAppend(&text, ValueText(lhs.operands[0], symbols), " leaves remainder ",
                    remainder.ok() ? *remainder : 0);
  } else {
    absl::StrAppend(&text, ValueText(claim.lhs, symbols));
    if (!claim.rhs.is_constant()) absl::StrAppend(&text, ", ", ValueText(claim.rhs, symbols));
  }
  std::vector<dim::SymbolId> free = dim::FreeSymbols(claim.lhs);
  for (dim::SymbolId s : dim::FreeSymbols(claim.rhs)) free.push_back(s);
  std::sort(free.begin(), free.end());
  free.erase(std::unique(free.begin(), free.end()), free.end());
  for (dim::SymbolId s : free) absl::StrAppend(&text, "; ", SymbolText(graph, s, symbols[s]));
  return text;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> BindSymbols(const Graph& graph,
                                                 absl::Span<const Tensor> inputs) {
  return Binder(graph).Bind(inputs);
}

absl::Status CheckFacts(const Graph& graph, absl::Span<const int64_t> symbols) {
  for (const dim::Fact& fact : graph.facts().facts()) {
    if (fact.standing == dim::Standing::kDerived) continue;
    absl::StatusOr<bool> holds = dim::Evaluate(fact.claim, symbols);
    if (!holds.ok()) {
      return absl::Status(holds.status().code(),
                          absl::StrCat(dim::Name(fact.standing), " fact ", fact.claim.ToString(),
                                       ": ", holds.status().message()));
    }
    if (!*holds) return absl::InvalidArgumentError(ViolationText(graph, fact, symbols));
  }
  return absl::OkStatus();
}

}  // namespace lathe::ir
