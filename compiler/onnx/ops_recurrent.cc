// LSTM, GRU and RNN: the product with the inputs for all steps at once, then a loop over time. The
// LSTM of com.microsoft with 8-bit weights quantises what it multiplies: X as a whole, the state in
// each step.
#include <array>
#include <optional>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/activations.h"
#include "compiler/onnx/loops.h"
#include "compiler/onnx/quantised.h"

namespace lathe::onnx {
namespace {

// An activation with its own alpha and beta.
struct Activation {
  std::string name;
  double alpha = 0, beta = 0;
};

V Apply(const Activation& a, V x) {
  NodeContext& c = *x.c;
  if (a.name == "Sigmoid") return Sigmoid(x);
  if (a.name == "Tanh") return Tanh(x);
  if (a.name == "Relu") return Un(ir::Op::k_relu, x);
  if (a.name == "Affine") return x * a.alpha + a.beta;
  if (a.name == "LeakyRelu") return LeakyReluOf(x, a.alpha);
  if (a.name == "ThresholdedRelu")
    return Select(Bin(ir::Op::k_ge, x, a.alpha), x, c.Scalar(x.dtype(), 0));
  if (a.name == "ScaledTanh") return a.alpha * Tanh(x * a.beta);
  if (a.name == "HardSigmoid") return HardSigmoidOf(x, a.alpha, a.beta);
  if (a.name == "Elu") return EluOf(x, a.alpha);
  if (a.name == "Softsign") return SoftsignOf(x);
  if (a.name == "Softplus") return SoftplusOf(x);
  c.Unsupported(absl::StrCat("there is no activation '", a.name, "'"));
  return x;
}

// What an activation takes from the node's lists, and what it has where those end; none: it doesn't
// take one.
struct Parameters {
  std::optional<double> alpha, beta;
};
Parameters ParametersOf(const std::string& name) {
  if (name == "Affine") return {1, 0};
  if (name == "ScaledTanh") return {1, 1};
  if (name == "HardSigmoid") return {0.2, 0.5};
  if (name == "LeakyRelu") return {0.01, std::nullopt};
  if (name == "Elu" || name == "ThresholdedRelu") return {1, std::nullopt};
  return {};
}

// The next number of the list, if it has one.
double Next(const std::vector<float>& given, size_t* at, double otherwise) {
  return *at < given.size() ? static_cast<double>(given[(*at)++]) : otherwise;
}

enum class Cell { kRnn, kGru, kLstm };

int Gates(Cell cell) { return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4; }

// `count` activations for each direction, the defaults repeated.
std::vector<Activation> ReadActivations(NodeContext& c, Cell cell, int directions) {
  std::vector<std::string> names = {"Tanh"};
  if (cell == Cell::kGru) names = {"Sigmoid", "Tanh"};
  if (cell == Cell::kLstm) names = {"Sigmoid", "Tanh", "Tanh"};
  const size_t each = names.size();
  names.reserve(2 * each);  // what is inserted lies in the vector itself
  for (int d = 1; d < directions; ++d)
    names.insert(names.end(), names.begin(), names.begin() + static_cast<std::ptrdiff_t>(each));
  if (const Attribute* a = c.Find("activations"); a != nullptr && !a->strings.empty()) {
    if (a->strings.size() != names.size())
      c.Fail(
          absl::StrCat("activations has ", a->strings.size(), " entries; wanted ", names.size()));
    names = a->strings;
  }
  std::vector<float> alphas = c.Floats("activation_alpha"), betas = c.Floats("activation_beta");
  std::vector<Activation> all;
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    const Parameters takes = ParametersOf(name);
    Activation a{name};
    if (takes.alpha) a.alpha = Next(alphas, &next_alpha, *takes.alpha);
    if (takes.beta) a.beta = Next(betas, &next_beta, *takes.beta);
    all.push_back(a);
  }
  return all;
}

// Entry `d` of the first axis.
V At(V x, int64_t d) { return Squeeze(SliceAxis(x, 0, d, d + 1), {0}); }
// Part `k` of the last axis, each `size` wide.
V Part(V x, int k, Dim size) { return SliceAxis(x, x.rank() - 1, size * k, size * (k + 1)); }

// [inputs, gates * h]; with a scale if quantised.
struct Weights {
  V values, scale, zero;
};
V Times(V x, const Weights& w) {
  return w.scale.ok() ? DynamicallyQuantisedMatMul(x, w.values, w.scale, w.zero)
                      : MatMul(x, w.values);
}

class Recurrent {
 public:
  Recurrent(NodeContext& c, Cell cell, bool quantised = false)
      : c_(c), cell_(cell), quantised_(quantised) {}

  void Run() {
    V x = c_.In(0);
    const V w = c_.In(1), r = c_.In(2);
    if (!c_.ok()) return;
    if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3)
      return c_.Fail(absl::StrCat("X, W, R are ", x.type().ToString(), ", ", w.type().ToString(),
                                  ", ", r.type().ToString(), "; wanted rank 3"));
    const std::string direction = c_.Str("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return c_.Fail(absl::StrCat("direction is '", direction, "'"));
    batch_first_ = c_.Int("layout") != 0;
    if (batch_first_) x = Permute(x, {1, 0, 2});
    steps_ = x.dim(0);
    batch_ = x.dim(1);
    hidden_ = r.dim(quantised_ ? 1 : 2);
    const int directions = direction == "bidirectional" ? 2 : 1;
    activations_ = ReadActivations(c_, cell_, directions);
    ReadOperands(directions, x.dim(2));
    if (!c_.ok()) return;
    x_ = c_.scope().Here(x.id);
    std::vector<Val> all, last_h, last_c;
    for (int d = 0; d < directions; ++d) {
      const bool reverse = direction == "reverse" || d == 1;
      const std::vector<Val> out = Direction(d, reverse);
      if (!c_.ok()) return;
      last_h.push_back(out[0]);
      if (cell_ == Cell::kLstm) last_c.push_back(out[1]);
      V y = c_.Use(out.back());
      if (reverse) y = Reversed(y, 0);
      all.push_back(c_.scope().Here(y.id));
    }
    std::vector<V> ys, hs, cs;
    for (const Val& v : all) ys.push_back(Unsqueeze(c_.Use(v), {1}));  // [t, 1, b, h]
    for (const Val& v : last_h) hs.push_back(Unsqueeze(c_.Use(v), {0}));
    for (const Val& v : last_c) cs.push_back(Unsqueeze(c_.Use(v), {0}));
    if (!c_.ok()) return;
    V y = Concat(ys, 1);
    c_.Out(0, batch_first_ ? Permute(y, {2, 0, 1, 3}) : y);
    V h = Concat(hs, 0);
    c_.Out(1, batch_first_ ? Permute(h, {1, 0, 2}) : h);
    if (cs.empty() || !c_.ok()) return;
    V last = Concat(cs, 0);
    c_.Out(2, batch_first_ ? Permute(last, {1, 0, 2}) : last);
  }

 private:
  // Weights go into the body as they stand, so that constant ones are constants there; open sizes
  // must be what the state's width says.
  void ReadOperands(int directions, Dim inputs) {
    const Dim wide = hidden_ * Gates(cell_);
    const auto read = [&](int input, const Shape& shape) {
      if (!c_.Has(input)) return;
      V v = c_.In(input);
      if (!c_.ok()) return;
      operands_[static_cast<size_t>(input)] =
          v.shape() == shape ? c_.InVal(input) : c_.scope().Here(ReshapeTo(v, shape).id);
    };
    const auto matrix = [&](Dim rows) {
      return quantised_ ? Shape{directions, rows, wide} : Shape{directions, wide, rows};
    };
    read(kW, matrix(inputs));
    read(kR, matrix(hidden_));
    read(kB, {directions, 2 * wide});
    if (cell_ == Cell::kLstm) read(kP, {directions, 3 * hidden_});
    if (!quantised_) return;
    for (int input : {kWScale, kWZero, kRScale, kRZero}) {
      const int rank = c_.Has(input) ? c_.In(input).rank() : 0;
      read(input, rank == 2 ? Shape{directions, wide} : Shape{directions});
    }
  }

  const Val& Operand(int input) const { return operands_[static_cast<size_t>(input)]; }

  Val Initial(int input, int d) {
    V h;
    if (c_.Has(input)) {
      h = c_.In(input);
      if (batch_first_) h = Permute(h, {1, 0, 2});
      h = ReshapeTo(At(h, d), {batch_, hidden_});  // one batch: the state's and the input's
    } else {
      h = c_.Fill({batch_, hidden_}, c_.Use(x_).dtype(), 0);
    }
    return c_.scope().Here(h.id);
  }

  std::vector<Val> Direction(int d, bool reverse) {
    const Dim wide = hidden_ * Gates(cell_);
    V x = c_.Use(x_);
    V products = Times(x, WeightsOf(c_, kW, d));  // [t, b, gates * h]
    const Val biases = Operand(kB), peepholes = Operand(kP);
    if (biases.present()) products = products + SliceAxis(At(c_.Use(biases), d), 0, 0, wide);
    LoopSpec spec;
    spec.carried.push_back(Initial(5, d));
    if (cell_ == Cell::kLstm) spec.carried.push_back(Initial(6, d));
    spec.count = steps_;
    spec.trips = c_.scope().Here(c_.SizeOf(steps_).id);
    const Val all = c_.scope().Here(products.id), lengths = c_.InVal(4);
    if (!c_.ok()) return {};
    const size_t each = cell_ == Cell::kRnn ? 1 : cell_ == Cell::kGru ? 2 : 3;
    const std::vector<Activation> f(
        activations_.begin() + static_cast<std::ptrdiff_t>(each) * d,
        activations_.begin() + static_cast<std::ptrdiff_t>(each) * (d + 1));
    spec.body = [&](Scope& scope, std::vector<Val> in) -> absl::StatusOr<std::vector<Val>> {
      NodeContext b(c_.importer(), scope, c_.node(), c_.opset());
      V step = b.Use(in[0]);
      V t = reverse ? b.SizeOf(steps_ - 1) - step : step;
      V h = b.Use(in[1]);
      V memory = cell_ == Cell::kLstm ? b.Use(in[2]) : V{&b};
      V g = Gather(b.Use(all), t, 0);
      const Weights weight = WeightsOf(b, kR, d);
      V bias{&b};
      if (biases.present()) bias = SliceAxis(At(b.Use(biases), d), 0, wide, 2 * wide);
      V next, next_memory;
      switch (cell_) {
        case Cell::kRnn:
          next = Apply(f[0], Clip(Recur(g, h, weight, bias)));
          break;
        case Cell::kGru:
          next = GruStep(f, g, h, weight, bias);
          break;
        case Cell::kLstm:
          next = LstmStep(f, Recur(g, h, weight, bias), memory,
                          peepholes.present() ? At(b.Use(peepholes), d) : V{&b}, &next_memory);
          break;
      }
      V y = next;
      if (lengths.present()) {
        V runs = Bin(ir::Op::k_lt, t, Unsqueeze(Cast(b.Use(lengths), i64), {1}));
        y = Select(runs, next, b.Scalar(next.dtype(), 0));
        next = Select(runs, next, h);
        if (cell_ == Cell::kLstm) next_memory = Select(runs, next_memory, memory);
      }
      if (!b.ok()) return b.status();
      std::vector<Val> results = {scope.Here(next.id)};
      if (cell_ == Cell::kLstm) results.push_back(scope.Here(next_memory.id));
      results.push_back(scope.Here(y.id));
      return results;
    };
    return RunLoop(c_, std::move(spec));
  }

  // Quantised ones lie as the product takes them.
  Weights WeightsOf(NodeContext& b, int input, int d) const {
    V values = At(b.Use(Operand(input)), d);
    if (!quantised_) return {Transpose2(values), {&b}, {&b}};
    const Val& scale = Operand(input == kW ? kWScale : kRScale);
    const Val& zero = Operand(input == kW ? kWZero : kRZero);
    return {values, At(b.Use(scale), d), zero.present() ? At(b.Use(zero), d) : V{&b}};
  }

  V Clip(V x) {
    const double limit = c_.Float("clip");
    if (limit == 0) return x;
    return Clamp(x, -limit, limit);
  }
  static V Recur(V g, V h, const Weights& weight, V bias) {
    V sum = g + Times(h, weight);
    return bias.ok() ? sum + bias : sum;
  }

  // Gates i, o, f, c.
  V LstmStep(const std::vector<Activation>& f, V g, V memory, V peepholes, V* next_memory) {
    const Dim n = hidden_;
    V gi = Part(g, 0, n), go = Part(g, 1, n), gf = Part(g, 2, n), gc = Part(g, 3, n);
    if (peepholes.ok()) {
      gi = gi + Part(peepholes, 0, n) * memory;
      gf = gf + Part(peepholes, 2, n) * memory;
    }
    V i = Apply(f[0], Clip(gi));
    V forget = c_.Int("input_forget") != 0 ? 1.0 - i : Apply(f[0], Clip(gf));
    *next_memory = forget * memory + i * Apply(f[1], Clip(gc));
    if (peepholes.ok()) go = go + Part(peepholes, 1, n) * *next_memory;
    return Apply(f[0], Clip(go)) * Apply(f[2], *next_memory);
  }

  // Gates z, r, h.
  V GruStep(const std::vector<Activation>& f, V g, V h, const Weights& weights, V bias) {
    const Dim n = hidden_;
    const V weight = weights.values;
    V recur = MatMul(h, Part(weight, 0, 2 * n));
    if (bias.ok()) recur = recur + Part(bias, 0, 2 * n);
    V z = Apply(f[0], Clip(Part(g, 0, n) + Part(recur, 0, n)));
    V r = Apply(f[0], Clip(Part(g, 1, n) + Part(recur, 1, n)));
    V wh = Part(weight, 2, n), bh = bias.ok() ? Part(bias, 2, n) : bias;
    V inner;
    if (c_.Int("linear_before_reset") != 0) {
      V linear = MatMul(h, wh);
      inner = r * (bh.ok() ? linear + bh : linear);
    } else {
      V linear = MatMul(r * h, wh);
      inner = bh.ok() ? linear + bh : linear;
    }
    V candidate = Apply(f[1], Clip(Part(g, 2, n) + inner));
    return (1.0 - z) * candidate + z * h;
  }

  NodeContext& c_;
  const Cell cell_;
  const bool quantised_;
  static constexpr int kW = 1, kR = 2, kB = 3, kP = 7, kWScale = 8, kWZero = 9, kRScale = 10,
                       kRZero = 11;  // inputs
  std::array<Val, 12> operands_;     // as the width of the state says; absent ones aren't present
  bool batch_first_ = false;
  Dim steps_, batch_, hidden_;
  std::vector<Activation> activations_;
  Val x_;  // [t, b, i]
};

}  // namespace

std::vector<Mapping> RecurrentMappings() {
  return {
      {"", "RNN", [](NodeContext& c) { Recurrent(c, Cell::kRnn).Run(); }},
      {"", "GRU", [](NodeContext& c) { Recurrent(c, Cell::kGru).Run(); }},
      {"", "LSTM", [](NodeContext& c) { Recurrent(c, Cell::kLstm).Run(); }},
      {"com.microsoft", "DynamicQuantizeLSTM",
       [](NodeContext& c) { Recurrent(c, Cell::kLstm, true).Run(); }},
  };
}

}  // namespace lathe::onnx
