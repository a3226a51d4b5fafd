// Linear models, support vectors and the preparation of features of ai.onnx.ml. What has strings or
// maps isn't here.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/index.h"
#include "compiler/onnx/ml_parts.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

// x [N, F] @ coefficients [rows, F]^T + intercepts.
V Linear(NodeContext& c, V x, int64_t rows) {
  const std::vector<double> coefficients = Numbers(c, "coefficients");
  const std::vector<double> intercepts = Numbers(c, "intercepts");
  if (!x.ok()) return x;
  const int64_t count = static_cast<int64_t>(coefficients.size());
  if (rows < 1 || count % rows != 0) {
    c.Fail(absl::StrCat(count, " coefficients for ", rows, " results"));
    return {&c};
  }
  V y = MatMul(x, Transpose2(FloatTable(c, coefficients, x.dtype(), {rows, count / rows})));
  if (intercepts.empty()) return y;
  return y + FloatTable(c, intercepts, x.dtype(), {static_cast<int64_t>(intercepts.size())});
}

void LinearRegressor(NodeContext& c) {
  V y = Linear(c, Features(c), c.Int("targets", 1));
  c.Out(0, Cast(PostTransform(c, y, c.Str("post_transform", "NONE")), f32));
}

V Positive(V score) { return Cast(Bin(ir::Op::k_gt, score, 0.0), i64); }

void LinearClassifier(NodeContext& c) {
  V x = Features(c);
  const int64_t labels = NumLabels(c, "classlabels_ints", "classlabels_strings");
  // One score decides between two classes, unless the coefficients are those of two.
  const auto given = static_cast<int64_t>(Numbers(c, "intercepts").size());
  const auto count = static_cast<int64_t>(Numbers(c, "coefficients").size());
  const bool each = labels > 2 || (given == 0 && c.ok() && c.Known(Eq(x.dim(1) * labels, count)));
  const int64_t rows = std::max<int64_t>({given, each ? labels : 1, 1});
  V raw = Linear(c, x, rows);
  V scores = rows == 1 && labels == 2 ? Concat({-raw, raw}, 1) : raw;
  c.Out(1, Cast(PostTransform(c, scores, c.Str("post_transform", "NONE")), f32));
  if (!c.WantsOutput(0) || !c.ok()) return;
  V classes = rows == 1 ? Squeeze(Positive(raw), {1}) : BestClass(c, raw);
  const bool named = rows > 1 || labels == 2;
  c.Out(0, named ? ClassLabels(c, classes, "classlabels_ints", "classlabels_strings") : classes);
}

// -- support vectors

struct Kernel {
  std::string type;
  double gamma = 0, coef0 = 0, degree = 0;
};

Kernel KernelOf(NodeContext& c) {
  Kernel k{c.Str("kernel_type", "LINEAR")};
  const std::vector<double> params = Numbers(c, "kernel_params");
  if (params.size() == 3) {
    k.gamma = params[0];
    k.coef0 = params[1];
    k.degree = params[2];
  } else if (!params.empty()) {
    c.Fail(absl::StrCat(params.size(), " kernel_params; wanted 3"));
  }
  return k;
}

V Power(NodeContext& c, V x, double degree) {
  constexpr double kMostFactors = 8;
  if (degree != std::floor(degree) || degree < 1 || degree > kMostFactors)
    return Bin(ir::Op::k_pow, x, c.Scalar(x.dtype(), degree));
  V y = x;
  for (int i = 1; i < static_cast<int>(degree); ++i) y = y * x;
  return y;
}

// x [N, F] with vectors [S, F]: [N, S].
V Apply(NodeContext& c, const Kernel& k, V x, V vectors) {
  if (!x.ok() || !vectors.ok()) return {&c};
  if (k.type == "RBF") {
    V d = Unsqueeze(x, {1}) - vectors;
    return Exp(Reduce(ir::Op::k_sum, d * d, {2}, false) * -k.gamma);
  }
  V dot = MatMul(x, Transpose2(vectors));
  if (k.type == "LINEAR") return dot;
  V s = dot * k.gamma + k.coef0;
  if (k.type == "POLY") return Power(c, s, k.degree);
  if (k.type == "SIGMOID") return Tanh(s);
  c.Fail(absl::StrCat("there is no kernel_type '", k.type, "'"));
  return {&c};
}

V Vectors(NodeContext& c, int64_t count, DType type) {
  const std::vector<double> numbers = Numbers(c, "support_vectors");
  const int64_t all = static_cast<int64_t>(numbers.size());
  if (count < 1 || all % count != 0) {
    c.Fail(absl::StrCat(all, " numbers for ", count, " support vectors"));
    return {&c};
  }
  return FloatTable(c, numbers, type, {count, all / count});
}

void SvmRegressor(NodeContext& c) {
  V x = Features(c);
  const std::vector<double> coefficients = Numbers(c, "coefficients"), rho = Numbers(c, "rho");
  const int64_t supports = c.Int("n_supports"), count = static_cast<int64_t>(coefficients.size());
  if (!c.ok()) return;
  if (rho.empty()) return c.Fail("attribute rho is missing");
  if (supports > 0 && supports != count)
    return c.Fail(absl::StrCat(count, " coefficients for ", supports, " support vectors"));
  V weights = FloatTable(c, coefficients, x.dtype(), {count, 1});
  V kernel = supports > 0 ? Apply(c, KernelOf(c), x, Vectors(c, supports, x.dtype())) : x;
  V y = MatMul(kernel, weights) + rho[0];
  if (c.Int("one_class") != 0) {
    y = Select(Bin(ir::Op::k_gt, y, 0.0), c.Scalar(x.dtype(), 1), c.Scalar(x.dtype(), -1));
  } else {
    y = PostTransform(c, y, c.Str("post_transform", "NONE"));
  }
  c.Out(0, Cast(y, f32));
}

// Tables over the pairs of classes i < j, in order.
struct Pairs {
  std::vector<double> weights;      // [vectors, pairs]: the score's factors of the kernels
  std::vector<double> first, last;  // [pairs, classes]: whose vote a pair is
  int64_t count = 0;
};

Pairs PairsOf(const std::vector<int64_t>& per_class, const std::vector<double>& coefficients,
              int64_t vectors) {
  const int64_t classes = static_cast<int64_t>(per_class.size());
  Pairs p;
  p.count = classes * (classes - 1) / 2;
  p.weights.resize(static_cast<size_t>(vectors * p.count));
  p.first.resize(static_cast<size_t>(p.count * classes));
  p.last = p.first;
  std::vector<int64_t> start(1, 0);
  for (int64_t n : per_class) start.push_back(start.back() + n);
  int64_t pair = 0;
  for (int64_t i = 0; i < classes; ++i) {
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      const auto add = [&](int64_t of, int64_t row) {
        for (int64_t v = start[static_cast<size_t>(of)]; v < start[static_cast<size_t>(of) + 1];
             ++v)
          p.weights[static_cast<size_t>(v * p.count + pair)] =
              coefficients[static_cast<size_t>(row * vectors + v)];
      };
      add(i, j - 1);
      add(j, i);
      p.first[static_cast<size_t>(pair * classes + i)] = 1;
      p.last[static_cast<size_t>(pair * classes + j)] = 1;
    }
  }
  return p;
}

void SvmClassifier(NodeContext& c) {
  V x = Features(c);
  const std::vector<int64_t> per_class = c.Ints("vectors_per_class");
  const std::vector<double> coefficients = Numbers(c, "coefficients"), rho = Numbers(c, "rho");
  const std::vector<double> prob_a = Numbers(c, "prob_a"), prob_b = Numbers(c, "prob_b");
  if (!c.ok()) return;
  const int64_t labels =
      std::max<int64_t>(NumLabels(c, "classlabels_ints", "classlabels_strings"), 1);
  const DType type = x.dtype();
  if (rho.empty()) return c.Fail("attribute rho is missing");
  V scores, classes;
  const int64_t given = static_cast<int64_t>(coefficients.size());
  int64_t vectors = 0;
  for (int64_t n : per_class) {
    if (n < 0 || n > given - vectors)
      return c.Fail(absl::StrCat("vectors_per_class has the entry ", n, ", beyond the ", given,
                                 " coefficients"));
    vectors += n;
  }
  if (vectors == 0) {
    if (given % labels != 0)
      return c.Fail(absl::StrCat(given, " coefficients for ", labels, " classes"));
    V table = FloatTable(c, coefficients, type, {labels, given / labels});
    scores = MatMul(x, Transpose2(table)) + rho[0];
    classes = labels == 1 ? Squeeze(Positive(scores), {1}) : BestClass(c, scores);
  } else {
    const int64_t count = static_cast<int64_t>(per_class.size());
    if (count < 2 || count != labels || given != vectors * (count - 1))
      return c.Fail(absl::StrCat(given, " coefficients for ", vectors, " support vectors of ",
                                 count, " classes"));
    const int64_t pairs = count * (count - 1) / 2;
    if (static_cast<int64_t>(rho.size()) != pairs)
      return c.Fail(absl::StrCat(rho.size(), " numbers in rho; wanted ", pairs));
    if (!c.MayMake(pairs, std::max(count, vectors), type)) return;
    const Pairs p = PairsOf(per_class, coefficients, vectors);
    V kernels = Apply(c, KernelOf(c), x, Vectors(c, vectors, type));
    V pair_scores = MatMul(kernels, FloatTable(c, p.weights, type, {vectors, p.count})) +
                    FloatTable(c, rho, type, {p.count});
    V wins = Cast(Bin(ir::Op::k_gt, pair_scores, 0.0), type);
    V votes = MatMul(wins, FloatTable(c, p.first, type, {p.count, count})) +
              MatMul(1.0 - wins, FloatTable(c, p.last, type, {p.count, count}));
    classes = BestClass(c, votes);
    if (!prob_a.empty()) {
      if (count > 2) return c.Unsupported("probabilities of more than two classes");
      if (prob_a.size() != 1 || prob_b.size() != 1)
        return c.Fail("prob_a and prob_b have other lengths than rho");
      V p0 = Sigmoid(-(pair_scores * prob_a[0] + prob_b[0]));
      p0 = Minimum(Maximum(p0, c.Scalar(type, 1e-7)), c.Scalar(type, 1 - 1e-7));
      scores = Concat({p0, 1.0 - p0}, 1);
    } else {
      scores = count == 2 ? Concat({-pair_scores, pair_scores}, 1) : pair_scores;
    }
  }
  c.Out(1, Cast(PostTransform(c, scores, c.Str("post_transform", "NONE")), f32));
  if (c.WantsOutput(0))
    c.Out(0, ClassLabels(c, classes, "classlabels_ints", "classlabels_strings"));
}

// -- features

// One number for all, or one for each place of the last axis.
V PerFeature(NodeContext& c, const std::string& name, DType type) {
  const std::vector<double> numbers = Numbers(c, name);
  if (numbers.empty()) {
    c.Fail(absl::StrCat("attribute ", name, " is missing"));
    return {&c};
  }
  return FloatTable(c, numbers, type, {static_cast<int64_t>(numbers.size())});
}

void Scaler(NodeContext& c) {
  V x = Cast(c.In(0), f32);
  if (c.HasAttr("offset")) x = x - PerFeature(c, "offset", f32);
  if (c.HasAttr("scale")) x = x * PerFeature(c, "scale", f32);
  c.Out(0, x);
}

void Normalizer(NodeContext& c) {
  V x = Cast(c.In(0), f32);
  if (!x.ok() || x.rank() == 0) return c.Fail("wanted an input of rank 1 or 2");
  const std::string norm = c.Str("norm", "MAX");
  const std::vector<int> last = {x.rank() - 1};
  V by;
  if (norm == "MAX") {
    by = Reduce(ir::Op::k_max, x, last, true);
  } else if (norm == "L1") {
    by = Reduce(ir::Op::k_sum, Abs(x), last, true);
  } else if (norm == "L2") {
    by = Sqrt(Reduce(ir::Op::k_sum, x * x, last, true));
  } else {
    return c.Fail(absl::StrCat("there is no norm '", norm, "'"));
  }
  c.Out(0, Select(Bin(ir::Op::k_eq, by, 0.0), x, x / by));
}

void Binarizer(NodeContext& c) {
  V x = c.In(0);
  if (!x.ok()) return;
  const double threshold = c.Float("threshold");
  V above = IsFloat(x.dtype()) ? Bin(ir::Op::k_gt, x, threshold)
                               : Bin(ir::Op::k_gt, Cast(x, f64), threshold);
  c.Out(0, Cast(above, x.dtype()));
}

void ArrayFeatureExtractor(NodeContext& c) {
  V x = c.In(0), at = c.In(1);
  if (!c.ok()) return;
  if (x.rank() == 0) return c.Fail("wanted an input with a last axis");
  V y = Gather(x, Flat(at), x.rank() - 1);
  c.Out(0, x.rank() == 1 ? Unsqueeze(y, {0}) : y);
}

void Imputer(NodeContext& c) {
  V x = c.In(0);
  if (!x.ok()) return;
  const DType type = x.dtype();
  const bool floats = c.HasAttr("imputed_value_floats");
  V value, found;
  if (floats) {
    value = Cast(PerFeature(c, "imputed_value_floats", f32), type);
    const double replaced = c.Float("replaced_value_float");
    found = std::isnan(replaced) ? Bin(ir::Op::k_ne, x, x)
                                 : Bin(ir::Op::k_eq, x, c.Scalar(type, replaced));
  } else {
    const std::vector<int64_t> values = c.Ints("imputed_value_int64s");
    if (values.empty()) return c.Fail("attribute imputed_value_int64s is missing");
    value = Cast(c.I64(values), type);
    found = Bin(ir::Op::k_eq, x, Cast(c.ScalarInt(i64, c.Int("replaced_value_int64")), type));
  }
  c.Out(0, Select(found, value, x));
}

// Which of `keys` [K] an element of x is: K if none, the last one if several.
V PlaceOf(NodeContext& c, V x, V keys) {
  if (!x.ok() || !keys.ok()) return {&c};
  const int64_t count = keys.dim(0).constant();
  V wide = Unsqueeze(x, {x.rank()});
  V same = Bin(ir::Op::k_eq, wide, keys);
  if (IsFloat(x.dtype()))
    same = Bin(ir::Op::k_or, same,
               Bin(ir::Op::k_and, Bin(ir::Op::k_ne, wide, wide), Bin(ir::Op::k_ne, keys, keys)));
  V place = Select(same, c.Iota({count}, 0), c.ScalarInt(i64, -1));
  V last = Reduce(ir::Op::k_max, place, {x.rank()}, false);
  return Select(Bin(ir::Op::k_lt, last, c.ScalarInt(i64, 0)), c.ScalarInt(i64, count), last);
}

void OneHotEncoder(NodeContext& c) {
  V x = c.In(0);
  const std::vector<int64_t> categories = c.Ints("cats_int64s");
  if (!x.ok()) return;
  if (categories.empty()) return c.Unsupported("categories that are strings");
  const int64_t count = static_cast<int64_t>(categories.size());
  V place = PlaceOf(c, Cast(x, i64), c.I64(categories));
  if (c.Int("zeros", 1) == 0) place = CheckIndex(place, count);  // none of them is an error
  c.Out(0, Cast(Bin(ir::Op::k_eq, Unsqueeze(place, {x.rank()}), c.Iota({count}, 0)), f32));
}

void FeatureVectorizer(NodeContext& c) {
  const std::vector<int64_t> widths = c.Ints("inputdimensions");
  std::vector<V> parts;
  for (int i = 0; i < c.num_inputs(); ++i) {
    V x = c.In(i);
    if (!x.ok()) return;
    if (x.rank() == 1) x = Unsqueeze(x, {0});
    if (x.rank() != 2) return c.Fail("wanted inputs of rank 1 or 2");
    const Dim width = x.dim(1);
    if (static_cast<size_t>(i) < widths.size() &&
        !c.Known(Eq(width, widths[static_cast<size_t>(i)]))) {
      const Dim wanted = widths[static_cast<size_t>(i)];
      x = SliceAxis(PadBy(x, {0, 0}, {0, wanted}), 1, 0, wanted);
    }
    parts.push_back(Cast(x, f32));
  }
  if (parts.empty()) return c.Fail("there are no inputs");
  c.Out(0, Concat(parts, 1));
}

// Keys, values or the default of a LabelEncoder; none if it has others.
std::optional<Tensor> Labels(NodeContext& c, const std::string& prefix, const std::string& plural) {
  if (c.HasAttr(prefix + "_tensor")) {
    const Attribute* a = c.Find(prefix + "_tensor");
    if (a->tensors.size() == 1 && a->tensors[0].element_type != kString) {
      absl::StatusOr<Tensor> t = ToTensor(a->tensors[0]);
      if (t.ok()) return *std::move(t);
      c.Fail(t.status());
    }
    return std::nullopt;
  }
  const Attribute* ints = c.Find(absl::StrCat(prefix, "_int64", plural));
  if (ints != nullptr) {
    const std::vector<int64_t> v = plural.empty() ? std::vector<int64_t>{ints->i} : ints->ints;
    return Tensor::FromVector<int64_t>({static_cast<int64_t>(v.size())}, v);
  }
  const Attribute* floats = c.Find(absl::StrCat(prefix, "_float", plural));
  if (floats != nullptr) {
    const std::vector<float> v = plural.empty() ? std::vector<float>{floats->f} : floats->floats;
    return Tensor::FromVector<float>({static_cast<int64_t>(v.size())}, v);
  }
  return std::nullopt;
}

void LabelEncoder(NodeContext& c) {
  V x = c.In(0);
  const std::optional<Tensor> keys = Labels(c, "keys", "s"), values = Labels(c, "values", "s");
  std::optional<Tensor> otherwise = Labels(c, "default", "");
  if (!x.ok()) return;
  if (!keys || !values) return c.Unsupported("keys or values that are strings");
  if (keys->rank() != 1 || keys->shape() != values->shape() || keys->num_elements() == 0)
    return c.Fail("keys and values differ in length, or there are none");
  const DType type = values->dtype();
  V none = otherwise && otherwise->dtype() == type
               ? ReshapeTo(c.Constant(*otherwise), {1})
               : ReshapeTo(c.Scalar(type, IsFloat(type) ? -0.0 : -1), {1});
  V place = PlaceOf(c, x, Cast(c.Constant(*keys), x.dtype()));
  c.Out(0, Gather(Concat({c.Constant(*values), none}, 0), place, 0));
}

// -- counts of runs of words, which are numbers here

void TfIdfVectorizer(NodeContext& c) {
  V x = c.In(0);
  if (!x.ok()) return;
  const std::vector<int64_t> pool = c.Ints("pool_int64s"), starts = c.Ints("ngram_counts");
  const std::vector<int64_t> places = c.Ints("ngram_indexes");
  const std::vector<double> weights = Numbers(c, "weights");
  const int64_t least = c.Int("min_gram_length"), most = c.Int("max_gram_length");
  const int64_t skips = c.Int("max_skip_count");
  const std::string mode = c.Str("mode");
  constexpr int64_t kMostPasses = 4096;
  if (pool.empty()) return c.Unsupported("a pool of strings");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    return c.Fail(absl::StrCat("there is no mode '", mode, "'"));
  if (x.rank() < 1 || x.rank() > 2) return c.Fail("wanted an input of rank 1 or 2");
  if (least < 1 || most < least || most > kMostPasses || skips < 0 || skips > kMostPasses ||
      most * (skips + 1) > kMostPasses || places.empty())
    return c.Fail("lengths or skips are out of range");
  const bool flat = x.rank() == 1;
  V words = Cast(flat ? Unsqueeze(x, {0}) : x, i64);
  const Dim rows = words.dim(0), length = words.dim(1);
  std::vector<V> counts;  // [N, runs of one length]
  size_t run = 0;
  for (size_t n = 1; n <= starts.size(); ++n) {
    const int64_t begin = starts[n - 1];
    const int64_t end = n < starts.size() ? starts[n] : static_cast<int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()))
      return c.Fail("ngram_counts is out of range");
    const int64_t size = static_cast<int64_t>(n), runs = (end - begin) / size;
    if (runs == 0) continue;
    run += static_cast<size_t>(runs);
    V sum = c.Fill({rows, runs}, f32, 0);
    std::vector<V> columns;  // word k of every run
    for (int64_t k = 0; k < size && size >= least && size <= most; ++k) {
      std::vector<int64_t> wanted;
      for (int64_t r = 0; r < runs; ++r)
        wanted.push_back(pool[static_cast<size_t>(begin + r * size + k)]);
      columns.push_back(c.I64(wanted));
    }
    for (int64_t skip = 0; skip <= (n == 1 ? 0 : skips) && size >= least && size <= most; ++skip) {
      const int64_t reach = (size - 1) * (skip + 1);
      V padded = PadBy(words, {0, 0}, {0, reach});
      V match = Bin(ir::Op::k_lt, Unsqueeze(c.Iota({length}, 0), {1}), c.SizeOf(length - reach));
      for (int64_t k = 0; k < size; ++k) {
        V here = SliceAxis(padded, 1, k * (skip + 1), length + k * (skip + 1));
        match = Bin(ir::Op::k_and, match,
                    Bin(ir::Op::k_eq, Unsqueeze(here, {2}), columns[static_cast<size_t>(k)]));
      }
      sum = sum + Reduce(ir::Op::k_sum, Cast(match, f32), {1}, false);
    }
    counts.push_back(sum);
  }
  if (run != places.size()) return c.Fail("ngram_indexes has another length than the pool");
  V all = Concat(counts, 1);
  if (mode == "IDF") all = Cast(Bin(ir::Op::k_gt, all, 0.0), f32);
  if (mode != "TF" && !weights.empty()) {
    if (weights.size() != places.size()) return c.Fail("weights has another length than the pool");
    all = all * FloatTable(c, weights, f32, {static_cast<int64_t>(weights.size())});
  }
  // To the places of the result; those that nothing has get the zero behind.
  constexpr int64_t kWidest = int64_t{1} << 24;
  const auto [first, last] = std::minmax_element(places.begin(), places.end());
  if (*first < 0 || *last >= kWidest)
    return c.Fail(absl::StrCat("ngram_indexes has entries from ", *first, " to ", *last,
                               "; wanted 0 to ", kWidest - 1));
  const int64_t width = *last + 1;
  if (!c.MayMake(1, width, i64)) return;
  std::vector<int64_t> from(static_cast<size_t>(width), static_cast<int64_t>(places.size()));
  for (size_t i = 0; i < places.size(); ++i) {
    int64_t& run_at = from[static_cast<size_t>(places[i])];
    if (run_at != static_cast<int64_t>(places.size()))
      return c.Unsupported("two runs of words have one place in ngram_indexes");
    run_at = static_cast<int64_t>(i);
  }
  V y = Gather(PadBy(all, {0, 0}, {0, 1}), c.I64(from), 1);
  c.Out(0, flat ? Squeeze(y, {0}) : y);
}

}  // namespace

std::vector<Mapping> MlMappings() {
  return {
      {"ai.onnx.ml", "LinearRegressor", LinearRegressor},
      {"ai.onnx.ml", "LinearClassifier", LinearClassifier},
      {"ai.onnx.ml", "SVMRegressor", SvmRegressor},
      {"ai.onnx.ml", "SVMClassifier", SvmClassifier},
      {"ai.onnx.ml", "Scaler", Scaler},
      {"ai.onnx.ml", "Normalizer", Normalizer},
      {"ai.onnx.ml", "Binarizer", Binarizer},
      {"ai.onnx.ml", "ArrayFeatureExtractor", ArrayFeatureExtractor},
      {"ai.onnx.ml", "Imputer", Imputer},
      {"ai.onnx.ml", "OneHotEncoder", OneHotEncoder},
      {"ai.onnx.ml", "FeatureVectorizer", FeatureVectorizer},
      {"ai.onnx.ml", "LabelEncoder", LabelEncoder},
      {"", "TfIdfVectorizer", TfIdfVectorizer},
  };
}

}  // namespace lathe::onnx
