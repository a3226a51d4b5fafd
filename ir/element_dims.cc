#include "ir/element_dims.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ir/input_data.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

// Values in front of the one asked about that are looked at, at most.
constexpr size_t kMostValues = 4096;
// Elements of a value on the way: indices and flags may be more than the sizes they lead to.
constexpr int64_t kMostElements = 4 * kMaxElementDims;

// What is known of an element: a dim (for bool: 0 or 1), or nothing.
using Element = std::optional<Dim>;
using Elements = std::vector<Element>;
using Extents = std::vector<int64_t>;

bool IsComparison(Op op) {
  return op == Op::k_eq || op == Op::k_ne || op == Op::k_lt || op == Op::k_le || op == Op::k_gt ||
         op == Op::k_ge;
}

Claim Comparison(Op op, Dim a, Dim b) {
  switch (op) {
    case Op::k_eq:
      return Eq(a, b);
    case Op::k_ne:
      return Ne(a, b);
    case Op::k_lt:
      return a < b;
    case Op::k_le:
      return a <= b;
    case Op::k_gt:
      return a > b;
    default:
      return a >= b;
  }
}

class Reader {
 public:
  explicit Reader(Graph* graph) : graph_(*graph) {}

  // Operands first, with a stack of its own: chains are as long as graphs.
  const Elements* Read(ValueId root) {
    std::vector<std::pair<ValueId, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      const auto [v, ready] = stack.back();
      stack.pop_back();
      if (known_.contains(v)) continue;
      if (!ready && IsSmall(v) && known_.size() + stack.size() < kMostValues) {
        stack.push_back({v, true});
        if (LooksAtOperands(graph_.node(v).op)) {
          for (ValueId o : graph_.node(v).operands) stack.push_back({o, false});
        }
        continue;
      }
      known_[v] = ready ? Evaluate(v) : Elements();
    }
    return &known_[root];
  }

  // A value that nothing is known of although all of its operands are known: where recognition
  // ended. For error texts.
  ValueId Culprit(ValueId root) const {
    ValueId v = root;
    for (size_t steps = 0; steps < kMostValues; ++steps) {
      ValueId next = kNoValue;
      if (IsSmall(v) && LooksAtOperands(graph_.node(v).op)) {
        for (ValueId o : graph_.node(v).operands) {
          const auto it = known_.find(o);
          const bool all = it != known_.end() && !it->second.empty() &&
                           std::all_of(it->second.begin(), it->second.end(),
                                       [](const Element& e) { return e.has_value(); });
          if (!all && graph_.node(o).op != Op::k_constant) next = o;
        }
      }
      if (next == kNoValue) break;
      v = next;
    }
    return v;
  }

 private:
  static bool LooksAtOperands(Op op) { return op != Op::k_shape_of && op != Op::k_if; }

  bool IsSmall(ValueId v) const {
    const ValueType& type = graph_.type(v);
    if (type.dtype != DType::kBool && !IsIndex(type.dtype)) return false;
    int64_t count = 1;
    for (Dim d : type.shape) {
      if (!d.is_constant() || d.constant() < 0 || d.constant() > kMostElements) return false;
      count *= d.constant();
      if (count > kMostElements) return false;
    }
    return true;
  }

  Extents ShapeOf(ValueId v) const {
    Extents shape;
    for (Dim d : graph_.type(v).shape) shape.push_back(d.constant());
    return shape;
  }
  static int64_t Count(const Extents& shape) {
    int64_t count = 1;
    for (int64_t n : shape) count *= n;
    return count;
  }
  static Extents IndexOf(int64_t flat, const Extents& shape) {
    Extents index(shape.size());
    for (size_t i = shape.size(); i-- > 0;) {
      index[i] = flat % shape[i];
      flat /= shape[i];
    }
    return index;
  }
  static size_t FlatOf(const Extents& index, const Extents& shape) {
    int64_t flat = 0;
    for (size_t i = 0; i < shape.size(); ++i) flat = flat * shape[i] + index[i];
    return static_cast<size_t>(flat);
  }

  // Operand k's elements; as many as it has, unknown ones if nothing is known.
  Elements Operand(const Node& n, size_t k) {
    const ValueId o = n.operands[k];
    Elements e = known_[o];
    if (IsSmall(o)) e.resize(static_cast<size_t>(Count(ShapeOf(o))));
    return e;
  }

  Elements Evaluate(ValueId v) {
    const Node& n = graph_.node(v);
    const Extents shape = ShapeOf(v);
    const size_t count = static_cast<size_t>(Count(shape));
    switch (n.op) {
      case Op::k_input:
        return Input(v, shape);
      case Op::k_constant:
        return Constant(n.attrs.tensor);
      case Op::k_size:
        return {*n.attrs.dim};
      case Op::k_shape_of: {
        const Shape& dims = graph_.type(n.operands[0]).shape;
        return Elements(dims.begin(), dims.end());
      }
      case Op::k_iota: {
        Elements e;
        for (size_t i = 0; i < count; ++i)
          e.push_back(Dim(IndexOf(static_cast<int64_t>(i), shape)[*n.attrs.axis]));
        return e;
      }
      case Op::k_reshape:
        return Operand(n, 0);
      case Op::k_cast:
        return Cast(n);
      case Op::k_concat:
        return Concat(n, shape);
      case Op::k_gather:
        return Gather(n, shape);
      case Op::k_broadcast:
      case Op::k_permute:
      case Op::k_slice:
        return View(n, shape);
      case Op::k_sum:
      case Op::k_prod:
      case Op::k_max:
      case Op::k_min:
        return Reduce(n, count);
      case Op::k_select: {
        const Elements c = Operand(n, 0), a = Operand(n, 1), b = Operand(n, 2);
        Elements e(count);
        for (size_t i = 0; i < count; ++i) {
          if (c[i]) {
            e[i] = *c[i] == Dim(1) ? a[i] : b[i];
          } else if (a[i] == b[i]) {
            e[i] = a[i];
          }
        }
        return e;
      }
      default:
        return Elementwise(n, count);
    }
  }

  Elements Input(ValueId v, const Extents& shape) {
    Node& n = graph_.node(v);
    if (!IsIndex(n.type.dtype) || n.attrs.offsets || Count(shape) > kMaxElementDims) return {};
    if (!n.attrs.elements) {
      Shape symbols;
      for (int64_t i = 0; i < Count(shape); ++i) {
        symbols.push_back(graph_.dims()->Symbol(absl::StrCat(n.attrs.name, ".", i)));
        if (!symbols.back().ok()) return {};
      }
      n.attrs.elements = std::move(symbols);
    }
    return Elements(n.attrs.elements->begin(), n.attrs.elements->end());
  }

  static Elements Constant(const Tensor& t) {
    Elements e;
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      e.push_back(t.dtype() == DType::kBool ? Dim(t.Contiguous().data<bool>()[i] ? 1 : 0)
                                            : Dim(IntegerElement(t, i)));
    }
    return e;
  }

  // Between integers, and from bool: as it is.
  Elements Cast(const Node& n) {
    const DType from = graph_.type(n.operands[0]).dtype;
    if (from != DType::kBool && !IsIndex(from)) return {};
    Elements e = Operand(n, 0);
    if (n.type.dtype != DType::kBool || from == DType::kBool) return e;
    for (Element& x : e) x = x ? Decide(Ne(*x, 0)) : std::nullopt;
    return e;
  }

  Elements Concat(const Node& n, const Extents& shape) {
    const size_t axis = static_cast<size_t>(*n.attrs.axis);
    Elements e(static_cast<size_t>(Count(shape)));
    int64_t begin = 0;
    for (size_t k = 0; k < n.operands.size(); ++k) {
      const Elements part = Operand(n, k);
      const Extents extents = ShapeOf(n.operands[k]);
      for (size_t i = 0; i < part.size(); ++i) {
        Extents index = IndexOf(static_cast<int64_t>(i), extents);
        index[axis] += begin;
        e[FlatOf(index, shape)] = part[i];
      }
      begin += extents[axis];
    }
    return e;
  }

  Elements Gather(const Node& n, const Extents& shape) {
    if (!IsSmall(n.operands[0])) return {};
    const size_t axis = static_cast<size_t>(*n.attrs.axis);
    const Elements data = Operand(n, 0), indices = Operand(n, 1);
    const Extents from = ShapeOf(n.operands[0]), index_shape = ShapeOf(n.operands[1]);
    Elements e(static_cast<size_t>(Count(shape)));
    for (size_t i = 0; i < e.size(); ++i) {
      const Extents index = IndexOf(static_cast<int64_t>(i), shape);
      const auto begin = index.begin() + static_cast<std::ptrdiff_t>(axis);
      const auto end = begin + static_cast<std::ptrdiff_t>(index_shape.size());
      const Element at = indices[FlatOf(Extents(begin, end), index_shape)];
      if (!at || !at->is_constant()) continue;
      const bool wraps = at->constant() < 0 && !n.attrs.unchecked;
      const int64_t row = at->constant() + (wraps ? from[axis] : 0);
      if (row < 0 || row >= from[axis]) {
        if (n.attrs.unchecked) e[i] = Dim(0);
        continue;  // otherwise the call reports it
      }
      Extents source(index.begin(), begin);
      source.push_back(row);
      source.insert(source.end(), end, index.end());
      e[i] = data[FlatOf(source, from)];
    }
    return e;
  }

  Elements View(const Node& n, const Extents& shape) {
    if (!IsSmall(n.operands[0])) return {};
    const Elements data = Operand(n, 0);
    const Extents from = ShapeOf(n.operands[0]);
    Elements e(static_cast<size_t>(Count(shape)));
    for (size_t i = 0; i < e.size(); ++i) {
      const Extents index = IndexOf(static_cast<int64_t>(i), shape);
      Extents source(from.size());
      for (size_t a = 0; a < from.size(); ++a) {
        if (n.op == Op::k_broadcast) {
          source[a] = from[a] == 1 ? 0 : index[static_cast<size_t>(n.attrs.axes[a])];
        } else if (n.op == Op::k_slice) {
          if (!n.attrs.starts[a].is_constant()) return {};
          source[a] = n.attrs.starts[a].constant() + index[a] * n.attrs.steps[a];
        }
      }
      if (n.op == Op::k_permute) {
        for (size_t a = 0; a < index.size(); ++a)
          source[static_cast<size_t>(n.attrs.axes[a])] = index[a];
      }
      e[i] = data[FlatOf(source, from)];
    }
    return e;
  }

  // Of all elements to one.
  Elements Reduce(const Node& n, size_t count) {
    const Elements data = Operand(n, 0);
    if (count != 1 || data.empty()) return {};
    Element result = data[0];
    for (size_t i = 1; i < data.size() && result; ++i)
      result = data[i] ? Arithmetic(n.op, *result, *data[i]) : std::nullopt;
    return {result};
  }

  Elements Elementwise(const Node& n, size_t count) {
    if (Info(n.op).emission != Emission::kElementwise) return {};
    std::vector<Elements> operands;
    for (size_t k = 0; k < n.operands.size(); ++k) operands.push_back(Operand(n, k));
    Elements e(count);
    for (size_t i = 0; i < count; ++i) {
      bool known = true;
      for (const Elements& o : operands) known = known && i < o.size() && o[i];
      if (!known) continue;
      const Dim a = *operands[0][i];
      if (operands.size() == 1) {
        e[i] = Unary(n, a);
      } else if (operands.size() == 2) {
        const Dim b = *operands[1][i];
        e[i] = IsComparison(n.op) ? Decide(Comparison(n.op, a, b)) : Arithmetic(n.op, a, b);
      }
      if (e[i] && !e[i]->ok()) e[i].reset();
    }
    return e;
  }

  static Element Unary(const Node& n, Dim a) {
    switch (n.op) {
      case Op::k_neg:
        return -a;
      case Op::k_abs:
        return Max(a, -a);
      case Op::k_relu:
        return Max(a, 0);
      case Op::k_not:
        return n.type.dtype == DType::kBool ? Element(1 - a) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  // Division is that of dims only where both agree on every admitted value: elements give 0 over 0,
  // dims an error, and `div` truncates.
  Element Arithmetic(Op op, Dim a, Dim b) {
    const auto divides = [&](bool truncates) {
      if (!Known(Ne(b, 0))) return false;
      return !truncates || (Known(a >= 0) && Known(b >= 1));
    };
    switch (op) {
      case Op::k_add:
      case Op::k_sum:
        return a + b;
      case Op::k_sub:
        return a - b;
      case Op::k_mul:
      case Op::k_prod:
      case Op::k_and:
        return a * b;
      case Op::k_or:
      case Op::k_maximum:
      case Op::k_max:
        return Max(a, b);
      case Op::k_minimum:
      case Op::k_min:
        return Min(a, b);
      case Op::k_div:
        return divides(true) ? Element(FloorDiv(a, b)) : std::nullopt;
      case Op::k_rem:
        return divides(true) ? Element(Mod(a, b)) : std::nullopt;
      case Op::k_floordiv:
        return divides(false) ? Element(FloorDiv(a, b)) : std::nullopt;
      case Op::k_mod:
        return divides(false) ? Element(Mod(a, b)) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  bool Known(const Claim& claim) const {
    return claim.lhs.ok() && claim.rhs.ok() && graph_.facts().Proves(claim);
  }
  Element Decide(const Claim& claim) const {
    if (Known(claim)) return Dim(1);
    return Known(Not(claim)) ? Element(Dim(0)) : std::nullopt;
  }

  Graph& graph_;
  absl::flat_hash_map<ValueId, Elements> known_;
};

absl::StatusOr<std::vector<Dim>> Dims(Graph* graph, ValueId v, const std::string& wanted) {
  const ValueType& type = graph->type(v);
  const auto fault = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat(graph->ValueName(v), ": ", type.ToString(), " (",
                                                   std::string(Name(graph->node(v).op)), ") ", why,
                                                   "; wanted ", wanted));
  };
  if (!IsIndex(type.dtype)) return fault("has no whole elements");
  Reader reader(graph);
  const Elements* elements = reader.Read(v);
  std::vector<Dim> dims;
  for (const Element& e : *elements)
    if (e) dims.push_back(*e);
  Dim count = 1;
  for (Dim d : type.shape) count *= d;
  if (count == Dim(static_cast<int64_t>(dims.size())) &&
      dims.size() <= static_cast<size_t>(kMaxElementDims)) {
    return dims;
  }
  const ValueId culprit = reader.Culprit(v);
  const Node& n = graph->node(culprit);
  return fault(absl::StrCat("isn't made of sizes: those of ", graph->ValueName(culprit), " (",
                            std::string(Name(n.op)), ", ", n.type.ToString(),
                            ") aren't known when the call binds"));
}

}  // namespace

std::optional<std::vector<Dim>> ElementDims(Graph* graph, ValueId v) {
  if (v >= graph->num_nodes()) return std::nullopt;
  absl::StatusOr<std::vector<Dim>> dims = Dims(graph, v, "");
  if (!dims.ok()) return std::nullopt;
  return *std::move(dims);
}

absl::StatusOr<Shape> ShapeFromValue(Graph* graph, ValueId v) {
  constexpr char kWanted[] =
      "i32 or i64, a number for each axis, from inputs, constants, shape_of and arithmetic";
  if (v < graph->num_nodes() && graph->type(v).rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("the shape ", graph->ValueName(v), " is ",
                                                   graph->type(v).ToString(), "; wanted ",
                                                   kWanted));
  }
  if (v >= graph->num_nodes()) return absl::InvalidArgumentError("the shape is no value");
  return Dims(graph, v, kWanted);
}

absl::StatusOr<Dim> DimFromValue(Graph* graph, ValueId v) {
  constexpr char kWanted[] = "one i32 or i64, from inputs, constants, shape_of and arithmetic";
  if (v >= graph->num_nodes()) return absl::InvalidArgumentError("the size is no value");
  LATHE_ASSIGN_OR_RETURN(const std::vector<Dim> dims, Dims(graph, v, kWanted));
  if (dims.size() == 1) return dims[0];
  return absl::InvalidArgumentError(absl::StrCat("the size ", graph->ValueName(v), " has ",
                                                 dims.size(), " elements; wanted ", kWanted));
}

}  // namespace lathe::ir
