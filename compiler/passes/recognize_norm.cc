// Layer and root-mean-square norms over the last axis, as exporters write them out, become the
// composites. The sums and their order stay; a row's factor is rounded otherwise (a division by the
// deviation becomes a multiplication by rsqrt).
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/match.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/requirements.h"
#include "compiler/passes/rewriter.h"

namespace lathe::compiler {
namespace {

using ir::Op;
using ir::ValueId;

class NormRecognizer {
 public:
  NormRecognizer(ir::Graph& graph, PassContext& context)
      : graph_(graph), context_(context), find_(graph), rewriter_(graph) {}

  void Run() {
    rewriter_.Run([&](ValueId v) {
      if (!IsFloat(graph_.type(v).dtype)) return;
      if (find_.Is(v, Op::k_mul)) {
        Scaled(v);
      } else if (find_.Is(v, Op::k_add)) {
        Shifted(v);
      }
    });
    RestateRequirements(graph_, [&](ValueId v) {
      return find_.Is(v, Op::k_rms_norm) || find_.Is(v, Op::k_layer_norm);
    });
  }

 private:
  struct Unit {
    ValueId x = ir::kNoValue;
    double epsilon = 0;
  };

  // epsilon, if v is mean(x * x) + epsilon, an element a row.
  std::optional<double> Variance(ValueId v, ValueId x) const {
    v = find_.WithoutOnes(v);
    if (!find_.Is(v, Op::k_add)) return std::nullopt;
    for (const auto& [mean, constant] : find_.Orders(v)) {
      const std::optional<double> epsilon = find_.Splat(constant);
      if (!epsilon || !std::isfinite(*epsilon) || *epsilon < 0) continue;
      const std::optional<ValueId> squares = find_.MeanOverLast(mean);
      if (squares && find_.SquareOf(*squares) == x) return epsilon;
    }
    return std::nullopt;
  }

  // epsilon, if v is sqrt(mean(x * x) + epsilon).
  std::optional<double> Deviation(ValueId v, ValueId x) const {
    v = find_.WithoutOnes(v);
    const bool root = find_.Is(v, Op::k_sqrt) || IsPower(v, 0.5);
    return root ? Variance(find_.arg(v, 0), x) : std::nullopt;
  }
  bool IsPower(ValueId v, double exponent) const {
    return find_.Is(v, Op::k_pow) && find_.IsSplat(find_.arg(v, 1), exponent);
  }

  // epsilon, if v is the inverse of that.
  std::optional<double> InverseDeviation(ValueId v, ValueId x) const {
    v = find_.WithoutOnes(v);
    if (find_.Is(v, Op::k_rsqrt) || IsPower(v, -0.5)) return Variance(find_.arg(v, 0), x);
    if (!find_.Is(v, Op::k_div) || !find_.IsSplat(find_.arg(v, 0), 1)) return std::nullopt;
    return Deviation(find_.arg(v, 1), x);
  }

  // If v is x divided by its root mean square, row by row.
  std::optional<Unit> UnitOf(ValueId v) const {
    const bool divides = find_.Is(v, Op::k_div);
    if (!divides && !find_.Is(v, Op::k_mul)) return std::nullopt;
    for (const auto& [x, factor] : find_.Orders(v)) {
      const std::optional<ValueId> row = find_.RepeatedAlongRows(factor);
      std::optional<double> epsilon;
      if (row) epsilon = divides ? Deviation(*row, x) : InverseDeviation(*row, x);
      if (epsilon) return Unit{x, *epsilon};
      if (divides) break;  // the row stands below the line
    }
    return std::nullopt;
  }

  // unit * gamma
  void Scaled(ValueId v) {
    for (const auto& [value, factor] : find_.Orders(v)) {
      if (!find_.UsedOnce(value)) continue;
      const std::optional<ValueId> gamma = find_.RepeatedRow(factor);
      const std::optional<Unit> unit = gamma ? UnitOf(value) : std::nullopt;
      if (!unit) continue;
      const ValueId row = AsRow(*gamma, v);
      rewriter_.Become(v, Op::k_rms_norm, {unit->x, row}, WithEpsilon(unit->epsilon));
      context_.Count("rms_norm");
      return;
    }
  }

  // rms_norm(x - mean(x)) + beta
  void Shifted(ValueId v) {
    for (const auto& [value, term] : find_.Orders(v)) {
      if (!find_.Is(value, Op::k_rms_norm) || !find_.UsedOnce(value)) continue;
      const std::optional<ValueId> beta = find_.RepeatedRow(term);
      const ValueId centred = find_.arg(value, 0);
      if (!beta || !find_.Is(centred, Op::k_sub)) continue;
      const ValueId x = find_.arg(centred, 0);
      const std::optional<ValueId> mean = find_.RepeatedAlongRows(find_.arg(centred, 1));
      if (!mean || find_.MeanOverLast(*mean) != x) continue;
      const ValueId gamma = find_.arg(value, 1);
      const double epsilon = *find_.node(value).attrs.epsilon;
      const ValueId row = AsRow(*beta, v);
      rewriter_.Become(v, Op::k_layer_norm, {x, gamma, row}, WithEpsilon(epsilon));
      context_.Count("layer_norm");
      return;
    }
  }

  static ir::Attrs WithEpsilon(double epsilon) {
    ir::Attrs attrs;
    attrs.epsilon = epsilon;
    return attrs;
  }

  // The row as a value of rank 1.
  ValueId AsRow(ValueId row, ValueId user) {
    const ir::ValueType& type = graph_.type(row);
    if (type.rank() == 1) return row;
    ir::Attrs attrs;
    attrs.shape = Shape{type.shape.back()};
    return rewriter_.Insert(Op::k_reshape, {row}, attrs, {type.dtype, *attrs.shape}, user);
  }

  ir::Graph& graph_;
  PassContext& context_;
  const Finder find_;
  Rewriter rewriter_;
};

}  // namespace

absl::Status RecognizeNorm(ir::Graph& graph, PassContext& context) {
  NormRecognizer(graph, context).Run();
  return absl::OkStatus();
}

}  // namespace lathe::compiler
