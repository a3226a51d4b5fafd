// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "absl/strings/str_cat.h"
#include "compiler/onnx/index.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

V LogSoftmaxOf(V x, int axis) {
  V shifted = x - Reduce(ir::Op::k_max, x, {axis}, true);
  return shifted - Log(Reduce(ir::Op::k_sum, Exp(shifted), {axis}, true));
}

// The losses for log-probabilities [N, C, d..] and labels [N, d..]. A label out of range is an
// error, -1 too; an ignored one picks class 0 with weight 0.
V Loss(NodeContext& c, V log_p, V target) {
  const std::string reduction = c.Str("reduction", "mean");
  if (!c.ok()) return {&c};
  if (reduction != "none" && reduction != "sum" && reduction != "mean") {
    c.Fail(absl::StrCat("there is no reduction '", reduction, "'"));
    return {&c};
  }
  if (log_p.rank() < 2 || target.rank() != log_p.rank() - 1) {
    c.Fail(absl::StrCat("scores are ", log_p.type().ToString(), " and labels ",
                        target.type().ToString(), "; wanted [N, C, ..] and [N, ..]"));
    return {&c};
  }
  const DType type = log_p.dtype();
  const Shape shape = target.shape(), full = log_p.shape();
  const Dim batch = full[0], classes = full[1], rest = Product(full, 2, log_p.rank());
  const Shape flat = {batch, rest};
  for (int i = 1; i < target.rank(); ++i)
    c.Require(Eq(target.dim(i), log_p.dim(i + 1)), "labels have the shape of the scores");
  c.Require(Eq(target.dim(0), batch), "there are labels for every sample");
  V label = Cast(ReshapeTo(target, flat), i64);
  V ignored;
  if (c.HasAttr("ignore_index")) {
    ignored = Bin(ir::Op::k_eq, label, c.ScalarInt(i64, c.Int("ignore_index")));
    label = Select(ignored, c.ScalarInt(i64, 0), label);
  }
  // The check counts from -C on; what is below 0 goes below that.
  label = Select(Bin(ir::Op::k_lt, label, 0.0), label - c.SizeOf(classes), label);
  V in_range = CheckIndex(label, classes);
  V at = (c.Iota(flat, 0) * c.SizeOf(classes) + in_range) * c.SizeOf(rest) + c.Iota(flat, 1);
  V loss = -GatherFlat(log_p, at);
  V weight;
  if (c.Has(2)) weight = Cast(Gather(c.In(2), in_range, 0), type);
  if (ignored.ok()) {
    V zero = c.Scalar(type, 0);
    weight = Select(ignored, zero, weight.ok() ? weight : c.Scalar(type, 1));
    loss = Select(ignored, zero, loss);
  }
  if (weight.ok()) loss = loss * weight;
  if (reduction == "none") return ReshapeTo(loss, shape);
  V sum = Reduce(ir::Op::k_sum, loss, {0, 1}, false);
  if (reduction == "sum") return sum;
  return sum / (weight.ok() ? Reduce(ir::Op::k_sum, weight, {0, 1}, false)
                            : c.SizeOf(batch * rest, type));
}

void NegativeLogLikelihoodLoss(NodeContext& c) {
  V log_p = c.In(0), target = c.In(1);
  const DType type = log_p.dtype();
  c.Out(0, Cast(Loss(c, Cast(log_p, ComputeType(type)), target), type));
}

void SoftmaxCrossEntropyLoss(NodeContext& c) {
  V scores = c.In(0), target = c.In(1);
  if (!c.ok()) return;
  if (scores.rank() < 2)
    return c.Fail(absl::StrCat("scores are ", scores.type().ToString(), "; wanted [N, C, ..]"));
  const DType type = scores.dtype();
  V log_p = LogSoftmaxOf(Cast(scores, ComputeType(type)), 1);
  c.Out(0, Cast(Loss(c, log_p, target), type));
  c.Out(1, Cast(log_p, type));
}

}  // namespace

std::vector<Mapping> LossMappings() {
  return {
      {"", "NegativeLogLikelihoodLoss", NegativeLogLikelihoodLoss},
      {"", "SoftmaxCrossEntropyLoss", SoftmaxCrossEntropyLoss},
  };
}

}  // namespace lathe::onnx
