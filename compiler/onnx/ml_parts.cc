#include "compiler/onnx/ml_parts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lathe::onnx {
namespace {

template <typename T>
void Append(const Tensor& t, std::vector<double>* values) {
  for (int64_t i = 0; i < t.num_elements(); ++i)
    values->push_back(static_cast<double>(t.data<T>()[i]));
}

std::vector<double> NumbersOf(NodeContext& c, const std::string& name, const TensorData& data) {
  absl::StatusOr<Tensor> t = ToTensor(data);
  std::vector<double> values;
  if (!t.ok()) {
    c.Fail(t.status());
    return values;
  }
  const Tensor flat = t->Contiguous();
  switch (flat.dtype()) {
    case DType::kF32:
      Append<float>(flat, &values);
      break;
    case DType::kF64:
      Append<double>(flat, &values);
      break;
    case DType::kI32:
      Append<int32_t>(flat, &values);
      break;
    case DType::kI64:
      Append<int64_t>(flat, &values);
      break;
    case DType::kU8:
      Append<uint8_t>(flat, &values);
      break;
    default:
      c.Unsupported(absl::StrCat("attribute ", name, " is of type ", Name(flat.dtype())));
  }
  return values;
}

}  // namespace

std::vector<double> Numbers(NodeContext& c, const std::string& name) {
  const Attribute* a = c.Find(name);
  if (a == nullptr || (a->floats.empty() && a->ints.empty() && a->tensors.empty())) {
    const Attribute* tensor = c.Find(name + "_as_tensor");
    if (tensor != nullptr) a = tensor;
  }
  if (a == nullptr) return {};
  if (!a->tensors.empty()) return NumbersOf(c, name, a->tensors[0]);
  std::vector<double> values(a->floats.begin(), a->floats.end());
  for (int64_t i : a->ints) values.push_back(static_cast<double>(i));
  return values;
}

V FloatTable(NodeContext& c, const std::vector<double>& values, DType type,
             const std::vector<int64_t>& shape) {
  if (type == f64) return c.Constant(Tensor::FromVector<double>(shape, values));
  std::vector<float> narrow;
  for (double v : values) narrow.push_back(static_cast<float>(v));
  return c.Constant(Tensor::FromVector<float>(shape, narrow));
}

V Features(NodeContext& c, int input) {
  V x = c.In(input);
  if (!x.ok()) return x;
  if (x.rank() == 1) x = Unsqueeze(x, {0});
  if (x.rank() != 2) {
    c.Fail(absl::StrCat("input ", input, " is ", x.type().ToString(), "; wanted [N, F]"));
    return {&c};
  }
  return x.dtype() == f64 ? x : Cast(x, f32);
}

namespace {

V SoftmaxZero(NodeContext& c, V x) {
  const std::vector<int> last = {x.rank() - 1};
  V most = Reduce(ir::Op::k_max, x, last, true);
  V e = Select(Bin(ir::Op::k_gt, Abs(x), 1e-7), Exp(x - most), x * Exp(-most));
  V sum = Reduce(ir::Op::k_sum, e, last, true);
  return Select(Bin(ir::Op::k_eq, sum, 0.0), c.Scalar(x.dtype(), 0.5), e / sum);
}

// sqrt(2) * erfinv(2 * p - 1) by Winitzki's approximation, as the operators of this domain have it.
V Probit(NodeContext& c, V p) {
  constexpr double kA = 0.147, kPi = 3.14159265358979323846;
  V x = 2.0 * p - 1.0;
  V product = (1.0 - x) * (1.0 + x);
  V log = Log(product);
  V v = 2.0 / (kPi * kA) + 0.5 * log;
  V root = Sqrt(Sqrt(v * v - log * (1 / kA)) - v);
  V signed_root = Select(Bin(ir::Op::k_lt, x, 0.0), -root, root);
  return 1.41421356 * Select(Bin(ir::Op::k_eq, product, 0.0), c.Scalar(p.dtype(), 0), signed_root);
}

}  // namespace

V PostTransform(NodeContext& c, V scores, const std::string& transform) {
  if (!scores.ok() || transform == "NONE") return scores;
  if (transform == "SOFTMAX") return Softmax(scores, scores.rank() - 1);
  if (transform == "LOGISTIC") return Sigmoid(scores);
  if (transform == "SOFTMAX_ZERO") return SoftmaxZero(c, scores);
  if (transform == "PROBIT") return Probit(c, scores);
  c.Fail(absl::StrCat("there is no post_transform '", transform, "'"));
  return {&c};
}

int64_t NumLabels(NodeContext& c, const std::string& ints, const std::string& strings) {
  const Attribute* names = c.Find(strings);
  return static_cast<int64_t>(
      std::max(c.Ints(ints).size(), names == nullptr ? 0 : names->strings.size()));
}

V BestClass(NodeContext& c, V scores) {
  ir::Attrs attrs;
  attrs.axis = 1;
  return c.Create(ir::Op::k_argmax, {scores}, std::move(attrs));
}

V ClassLabels(NodeContext& c, V classes, const std::string& ints, const std::string& strings) {
  const Attribute* names = c.Find(strings);
  if (names != nullptr && !names->strings.empty()) {
    c.Unsupported("the labels are strings; leave that output out of the model, its scores work");
    return {&c};
  }
  const std::vector<int64_t> labels = c.Ints(ints);
  return labels.empty() ? classes : Gather(c.I64(labels), classes, 0);
}

}  // namespace lathe::onnx
