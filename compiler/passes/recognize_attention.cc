// softmax(scale * (q @ k^T) + mask) @ v, as exporters write it out, becomes `attention`: the scale
// at q, at k, at both or at the scores, by multiplication or division; the mask added, or chosen
// where the score is -inf or a number so low that adding it gives the same. The scores and the
// probabilities must have no other user. Bits change within the op's bound.
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/match.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/requirements.h"
#include "compiler/passes/rewriter.h"
#include "ir/visit_dtype.h"

namespace lathe::compiler {
namespace {

using ir::Attrs;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::ValueId;

constexpr int kMaxTerms = 4;  // masks and biases added to the scores
// Added to a score whose magnitude is below 2^64, a number as low as this gives itself. Exporters
// write the least f32; -1e4 and -1e9 don't hide the score of a row that is masked as a whole.
constexpr double kLowest = -1e30;

class AttentionRecognizer {
 public:
  AttentionRecognizer(ir::Graph& graph, PassContext& context)
      : graph_(graph), context_(context), find_(graph), rewriter_(graph) {}

  void Run() {
    rewriter_.Run([&](ValueId v) {
      const DType dtype = graph_.type(v).dtype;
      if (find_.Is(v, Op::k_matmul) && IsFloat(dtype) && dtype != f64) Visit(v);
    });
    RestateRequirements(graph_, [&](ValueId v) { return find_.Is(v, Op::k_attention); });
  }

 private:
  // What is known of the scores on the way from the softmax down to the product.
  struct Scores {
    double scale = 1;
    std::vector<ValueId> terms;      // added; the first one last
    ValueId condition = kNoValue;    // false where the score is replaced
    size_t terms_after = 0;          // the first ones, added to what was replaced as well
    bool shown_where_false = false;  // the other way around
    double hidden = 0;               // by this
    ValueId product = kNoValue;
  };

  void Visit(ValueId v) {
    const ValueId probabilities = find_.arg(v, 0), values = find_.arg(v, 1);
    const int rank = graph_.type(v).rank();
    if (!find_.UsedOnce(probabilities) || !find_.Is(probabilities, Op::k_softmax)) return;
    if (*find_.node(probabilities).attrs.axis != rank - 1 || rank < 3) return;
    if (graph_.type(values).rank() != rank) return;
    std::optional<Scores> s = Follow(find_.arg(probabilities, 0));
    if (!s) return;
    const ValueId keys = find_.arg(s->product, 1);
    if (graph_.type(keys).rank() != rank) return;
    const ValueId q = Unscaled(find_.arg(s->product, 0), &s->scale);
    const ValueId k = Turned(Unscaled(keys, &s->scale), &s->scale, v);
    const float scale = static_cast<float>(s->scale);
    if (!std::isfinite(scale) || (scale == 0) != (s->scale == 0) ||
        std::fpclassify(scale) == FP_SUBNORMAL)
      return;
    std::vector<ValueId> operands = {q, k, values};
    if (const ValueId mask = Mask(*s, v); mask != kNoValue) operands.push_back(mask);
    Attrs attrs;
    attrs.scale = s->scale;
    attrs.empty_row_nan = true;
    rewriter_.Become(v, Op::k_attention, std::move(operands), std::move(attrs));
    context_.Count("attention");
  }

  // From the softmax's operand to the product. The order is that of the formula: the scale is
  // nearest to the product.
  std::optional<Scores> Follow(ValueId v) const {
    Scores s;
    bool scaled = false;
    for (int i = 0; i < kMaxTerms + 3; ++i) {
      if (!find_.UsedOnce(v)) return std::nullopt;
      const Node& n = find_.node(v);
      if (n.op == Op::k_matmul) {
        s.product = v;
        return s;
      }
      std::optional<ValueId> next;
      if (n.op == Op::k_add && !scaled) {
        next = Added(v, &s);
      } else if (n.op == Op::k_select && !scaled && s.condition == kNoValue) {
        next = Chosen(v, &s);
      } else if (n.op == Op::k_mul || n.op == Op::k_div) {
        scaled = true;
        next = ScaledBy(v, &s.scale);
      }
      if (!next) return std::nullopt;
      v = *next;
    }
    return std::nullopt;
  }

  // Whether v leads to a product, by what Follow follows.
  bool LeadsToProduct(ValueId v) const {
    for (int i = 0; i < kMaxTerms + 3; ++i) {
      const Node& n = find_.node(v);
      if (n.op == Op::k_matmul) return true;
      if (n.op == Op::k_select) {
        v = find_.Splat(n.operands[1]) ? n.operands[2] : n.operands[1];
      } else if (n.op == Op::k_add && LooksLikeTerm(n.operands[0])) {
        v = n.operands[1];
      } else if (n.op == Op::k_add || n.op == Op::k_mul || n.op == Op::k_div) {
        v = n.operands[0];
      } else {
        return false;
      }
    }
    return false;
  }
  bool LooksLikeTerm(ValueId v) const {
    const Op op = find_.node(v).op;
    return op == Op::k_broadcast || op == Op::k_input || op == Op::k_constant;
  }

  std::optional<ValueId> Added(ValueId v, Scores* s) const {
    if (s->terms.size() >= kMaxTerms) return std::nullopt;
    for (const auto& [scores, term] : find_.Orders(v)) {
      if (!find_.UsedOnce(scores) || !LeadsToProduct(scores)) continue;
      s->terms.push_back(term);
      return scores;
    }
    return std::nullopt;
  }

  std::optional<ValueId> Chosen(ValueId v, Scores* s) const {
    for (const size_t at : {2, 1}) {
      const std::optional<double> hidden = find_.Splat(find_.arg(v, at));
      if (!hidden || !(*hidden <= kLowest)) continue;
      s->condition = find_.arg(v, 0);
      s->terms_after = s->terms.size();
      s->shown_where_false = at == 1;
      s->hidden = *hidden;
      return find_.arg(v, 3 - at);
    }
    return std::nullopt;
  }

  // x, if v is x times or divided by a constant, which goes into the scale.
  std::optional<ValueId> ScaledBy(ValueId v, double* scale) const {
    const bool divides = find_.Is(v, Op::k_div);
    if (!divides && !find_.Is(v, Op::k_mul)) return std::nullopt;
    for (const auto& [x, factor] : find_.Orders(v)) {
      const std::optional<double> c = find_.Splat(factor);
      if (c && std::isfinite(*c) && !(divides && *c == 0)) {
        *scale = divides ? *scale / *c : *scale * *c;
        return x;
      }
      if (divides) break;
    }
    return std::nullopt;
  }

  ValueId Unscaled(ValueId v, double* scale) const {
    if (!find_.UsedOnce(v)) return v;
    return ScaledBy(v, scale).value_or(v);
  }

  // k from k^T: a permute that k^T is made by takes the exchange of the last two axes.
  ValueId Turned(ValueId v, double* scale, ValueId user) {
    const size_t rank = static_cast<size_t>(graph_.type(v).rank());
    std::vector<int64_t> axes(rank);
    for (size_t i = 0; i < rank; ++i) axes[i] = static_cast<int64_t>(i);
    if (find_.Is(v, Op::k_permute)) {
      axes = find_.node(v).attrs.axes;
      v = Unscaled(find_.arg(v, 0), scale);
    }
    std::swap(axes[rank - 1], axes[rank - 2]);
    bool moves = false;
    Attrs attrs;
    ir::ValueType type{graph_.type(v).dtype, {}};
    for (size_t i = 0; i < rank; ++i) {
      moves |= axes[i] != static_cast<int64_t>(i);
      type.shape.push_back(graph_.type(v).shape[static_cast<size_t>(axes[i])]);
    }
    if (!moves) return v;
    attrs.axes = std::move(axes);
    return rewriter_.Insert(Op::k_permute, {v}, std::move(attrs), std::move(type), user);
  }

  ValueId Filled(double value, const ir::ValueType& type, ValueId user) {
    Attrs constant, wide;
    constant.tensor = Tensor(type.dtype, {});
    VisitDType(type.dtype, [&](auto t) {
      *constant.tensor.data<decltype(t)>() = static_cast<decltype(t)>(value);
    });
    wide.shape = type.shape;
    const ValueId c =
        rewriter_.Insert(Op::k_constant, {}, std::move(constant), {type.dtype, {}}, user);
    return rewriter_.Insert(Op::k_broadcast, {c}, std::move(wide), type, user);
  }

  // The operand `mask`: bool where a choice of -inf is all that there is, else the sum of what is
  // added, with what the choice adds.
  ValueId Mask(const Scores& s, ValueId user) {
    const ir::ValueType type = graph_.type(s.product);
    if (s.condition != kNoValue && s.terms.empty() && std::isinf(s.hidden)) {
      if (!s.shown_where_false) return s.condition;
      return rewriter_.Insert(Op::k_not, {s.condition}, {}, graph_.type(s.condition), user);
    }
    ValueId mask = kNoValue;
    const auto add = [&](size_t begin, size_t end) {  // the innermost term was added first
      for (size_t i = end; i-- > begin;)
        mask = mask == kNoValue ? s.terms[i]
                                : rewriter_.Insert(Op::k_add, {mask, s.terms[i]}, {}, type, user);
    };
    add(s.terms_after, s.terms.size());
    if (s.condition == kNoValue) return mask;
    const ValueId shown = mask == kNoValue ? Filled(0, type, user) : mask;
    const ValueId hidden = Filled(s.hidden, type, user);
    mask = s.shown_where_false
               ? rewriter_.Insert(Op::k_select, {s.condition, hidden, shown}, {}, type, user)
               : rewriter_.Insert(Op::k_select, {s.condition, shown, hidden}, {}, type, user);
    add(0, s.terms_after);
    return mask;
  }

  ir::Graph& graph_;
  PassContext& context_;
  const Finder find_;
  Rewriter rewriter_;
};

}  // namespace

absl::Status RecognizeAttention(ir::Graph& graph, PassContext& context) {
  AttentionRecognizer(graph, context).Run();
  return absl::OkStatus();
}

}  // namespace lathe::compiler
