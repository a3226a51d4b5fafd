// Inputs for any graph: SampleInputs and TimingInputs of ir/samples.h.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <type_traits>

#include "absl/container/flat_hash_map.h"
#include "ir/philox.h"
#include "ir/samples.h"
#include "ir/visit_dtype.h"

namespace lathe::ir {
namespace {

// Extents that inputs index, by input: those of the ops that read them as indices.
absl::flat_hash_map<ValueId, int64_t> IndexedExtents(const Graph& graph,
                                                     absl::Span<const int64_t> sizes) {
  absl::flat_hash_map<ValueId, int64_t> extents;
  const auto add = [&](ValueId indices, Dim d) {
    const int64_t extent = dim::Evaluate(d, sizes).value_or(0);
    auto [it, fresh] = extents.try_emplace(indices, extent);
    if (!fresh) it->second = std::min(it->second, extent);
  };
  for (ValueId v = 0; v < graph.num_nodes(); ++v) {
    const Node& n = graph.node(v);
    if (n.op == Op::k_check_index && n.operands.size() == 1 && n.attrs.dim)
      add(n.operands[0], *n.attrs.dim);
    const bool elements = n.op == Op::k_scatter && n.operands.size() == 3;
    const bool slices = n.op == Op::k_gather || n.op == Op::k_embedding;
    if (!elements && (!slices || n.operands.size() != 2)) continue;
    const size_t axis = n.op == Op::k_gather ? static_cast<size_t>(n.attrs.axis.value_or(0)) : 0;
    add(n.operands[1], graph.type(n.operands[0]).shape[axis]);
  }
  return extents;
}

enum class Values { kAny, kIntegers, kTiming };

// Element `index` of stream `seed`.
class Draw {
 public:
  Draw(uint64_t seed, Values values) : seed_(seed), values_(values) {}

  double Float(uint64_t index) const {
    if (values_ == Values::kIntegers) return static_cast<double>(SmallInteger(index));
    if (values_ == Values::kTiming) {
      const double x = PhiloxNormal(seed_, index);
      return x + std::copysign(0x1p-10, x);  // beyond the denormals of every type
    }
    switch (Pick(index, 32)) {
      case 0:
        return 0.0;
      case 1:
        return -0.0;
      case 2:
        return PhiloxNormal(seed_, index) * 0x1p-130;  // f32: denormal
      case 3:
        return PhiloxNormal(seed_, index) * 64;
      default:
        return PhiloxNormal(seed_, index);
    }
  }

  template <typename T>
  T Integer(uint64_t index) const {
    if (values_ == Values::kTiming) return static_cast<T>(Pick(index, 2));
    const int64_t choice = values_ == Values::kIntegers ? 99 : Pick(index, 24);
    if (choice == 0) return std::numeric_limits<T>::min();
    if (choice == 1) return std::numeric_limits<T>::max();
    if (choice == 2) {
      // Of 64 bits without a sign: any bits.
      using Signed = std::conditional_t<sizeof(T) == 8, int64_t, T>;
      return static_cast<T>(PhiloxInteger(seed_, index, std::numeric_limits<Signed>::min(),
                                          std::numeric_limits<Signed>::max()));
    }
    const int64_t small = SmallInteger(index);
    return static_cast<T>(std::is_unsigned_v<T> ? std::abs(small) : small);
  }

  // A valid index into `extent`, or 0 if there is none.
  int64_t Index(uint64_t index, int64_t extent) const {
    if (values_ == Values::kTiming) return extent < 2 ? 0 : Pick(index, 2);
    return extent <= 0 ? 0 : PhiloxInteger(seed_, index, -extent, extent - 1);
  }

  bool Bool(uint64_t index) const { return Pick(index, 2) == 1; }

 private:
  // Mostly +-1 and +-2, so that products stay exact; seldom 0.
  int64_t SmallInteger(uint64_t index) const {
    const int64_t roll = Pick(index, 36);
    if (roll < 9) return 1;
    if (roll < 18) return -1;
    if (roll < 27) return roll % 2 == 0 ? 2 : -2;
    return roll - 31;  // -4..4
  }
  int64_t Pick(uint64_t index, int64_t count) const {
    return PhiloxInteger(~seed_, index, 0, count - 1);
  }

  uint64_t seed_;
  Values values_;
};

void Fill(const Draw& draw, std::optional<int64_t> indexed, Tensor* t) {
  const int64_t count = t->num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t at = static_cast<uint64_t>(i);
    VisitDType(t->dtype(), [&](auto type) {
      using T = decltype(type);
      T& to = t->data<T>()[i];
      if constexpr (std::is_same_v<T, bool>) {
        to = draw.Bool(at);
      } else if constexpr (std::is_integral_v<T>) {
        to = indexed ? static_cast<T>(draw.Index(at, *indexed)) : draw.Integer<T>(at);
      } else {
        to = static_cast<T>(draw.Float(at));
      }
    });
  }
}

// Offsets of rows with `total` elements together, none longer than `longest`, if there are such;
// with `exact` one has that length. Empty rows are among them.
void FillOffsets(uint64_t seed, int64_t total, int64_t longest, bool exact, Tensor* t) {
  const int64_t rows = t->num_elements() - 1;
  if (!exact && rows > 0) {
    const int64_t least = (total + rows - 1) / rows, most = std::min(longest, total);
    if (least < most) longest = PhiloxInteger(~seed, 0, least, most);
  }
  const auto set = [&](int64_t i, int64_t value) {
    if (t->dtype() == DType::kI32) {
      t->data<int32_t>()[i] = static_cast<int32_t>(value);
    } else {
      t->data<int64_t>()[i] = value;
    }
  };
  if (rows < 0) return;
  set(0, 0);
  int64_t at = 0;
  const int64_t first = rows == 0 ? 0 : PhiloxInteger(seed, 0, 0, rows - 1);
  for (int64_t i = 0; i < rows; ++i) {
    // What has to be left for the rows behind, and what they can take.
    const int64_t rest = total - at, behind = rows - 1 - i;
    const int64_t kept = first > i ? std::min(longest, rest) : 0;
    const int64_t least = std::max<int64_t>(0, rest - behind * longest);
    const int64_t most = std::max(least, std::min(longest, rest - kept));
    const bool empty = PhiloxInteger(seed, static_cast<uint64_t>(2 * i + 1), 0, 3) == 0;
    int64_t length =
        empty ? least : PhiloxInteger(seed, static_cast<uint64_t>(2 * i + 2), least, most);
    if (i == first) length = std::max(least, std::min(longest, rest));
    at += length;
    set(i + 1, at);
  }
}

std::vector<Tensor> Inputs(const Graph& graph, absl::Span<const int64_t> sizes, uint64_t seed,
                           Values values) {
  const absl::flat_hash_map<ValueId, int64_t> indexed = IndexedExtents(graph, sizes);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueType& type = graph.type(graph.inputs[i]);
    std::vector<int64_t> shape;
    for (Dim d : type.shape) shape.push_back(dim::Evaluate(d, sizes).value_or(-1));
    Tensor t(type.dtype, std::move(shape));
    const auto it = indexed.find(graph.inputs[i]);
    // Each input has a stream of its own.
    const Draw draw(seed + (static_cast<uint64_t>(i) << 40), values);
    if (!FillSizes(graph.node(graph.inputs[i]).attrs, sizes,
                   seed + (static_cast<uint64_t>(i) << 40), &t))
      Fill(draw, it == indexed.end() ? std::nullopt : std::optional<int64_t>(it->second), &t);
    inputs.push_back(std::move(t));
  }
  return inputs;
}

}  // namespace

bool FillSizes(const Attrs& attrs, absl::Span<const int64_t> sizes, uint64_t seed, Tensor* t) {
  if (!t->ok() || (!attrs.elements && !attrs.offsets)) return false;
  const auto value = [&](Dim d) { return dim::Evaluate(d, sizes).value_or(0); };
  if (attrs.offsets) {
    // A longest row that isn't to be exactly so long is drawn.
    const Dim longest = (*attrs.offsets)[1];
    const bool exact = !longest.is_constant() && longest != (*attrs.offsets)[0];
    FillOffsets(seed, value((*attrs.offsets)[0]), value(longest), exact, t);
    return true;
  }
  for (size_t k = 0; k < attrs.elements->size(); ++k) {
    const int64_t element = value((*attrs.elements)[k]);
    if (t->dtype() == DType::kI32) {
      t->data<int32_t>()[k] = static_cast<int32_t>(element);
    } else {
      t->data<int64_t>()[k] = element;
    }
  }
  return true;
}

std::vector<Tensor> SampleInputs(const Graph& graph, absl::Span<const int64_t> sizes, uint64_t seed,
                                 bool integer_valued) {
  return Inputs(graph, sizes, seed, integer_valued ? Values::kIntegers : Values::kAny);
}

std::vector<Tensor> TimingInputs(const Graph& graph, absl::Span<const int64_t> sizes,
                                 uint64_t seed) {
  return Inputs(graph, sizes, seed, Values::kTiming);
}

}  // namespace lathe::ir
