// Random numbers, of Lathe's own generator: a seed gives the same numbers on every device, though
// not those of other runtimes. And Det, which nobody else has.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/attention_parts.h"
#include "compiler/onnx/node.h"

namespace lathe::onnx {
namespace {

// As given, or one that tells nodes apart.
int64_t Seed(NodeContext& c) {
  if (c.HasAttr("seed")) {
    const float seed = static_cast<float>(c.Float("seed"));
    uint32_t bits = 0;
    std::memcpy(&bits, &seed, sizeof bits);
    return bits;
  }
  uint64_t hash = 14695981039346656037u;  // FNV-1a of the name of what is computed
  for (const std::string& name : c.node().outputs)
    for (char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return static_cast<int64_t>(hash >> 1);
}

V Random(NodeContext& c, const Shape& shape, const std::string& distribution, DType type) {
  ir::Attrs attrs;
  attrs.shape = shape;
  attrs.seed = Seed(c);
  attrs.distribution = distribution;
  attrs.dtype = ComputeType(type);
  return c.Create(ir::Op::k_random, {}, std::move(attrs));
}

// The attribute dtype; `otherwise` if it isn't there.
DType TypeOr(NodeContext& c, DType otherwise) {
  return c.HasAttr("dtype") ? c.DTypeAttr("dtype") : otherwise;
}

Mapper Numbers(bool normal, bool like) {
  return [normal, like](NodeContext& c) {
    Shape shape;
    DType type = f32;
    if (like) {
      V x = c.In(0);
      if (!x.ok()) return;
      shape = x.shape();
      type = TypeOr(c, x.dtype());
    } else {
      for (int64_t n : c.Ints("shape")) {
        if (n < 0) return c.Fail(absl::StrCat("an extent is ", n));
        shape.emplace_back(n);
      }
      type = TypeOr(c, f32);
    }
    if (!IsFloat(type)) return c.Fail(absl::StrCat("dtype is ", Name(type), "; wanted a float"));
    const double scale = normal ? c.Float("scale", 1) : c.Float("high", 1) - c.Float("low", 0);
    const double offset = normal ? c.Float("mean", 0) : c.Float("low", 0);
    V y = Random(c, shape, normal ? "normal" : "uniform", type);
    c.Out(0, Cast(y * scale + offset, type));
  };
}

void Bernoulli(NodeContext& c) {
  V p = c.In(0);
  if (!p.ok()) return;
  const DType type = TypeOr(c, p.dtype());
  V u = Random(c, p.shape(), "uniform", p.dtype());
  c.Out(0, Cast(Bin(ir::Op::k_lt, u, Cast(p, u.dtype())), type));
}

// Samples of logarithms of probabilities: the largest with Gumbel noise.
void Multinomial(NodeContext& c) {
  V x = c.In(0);
  if (!x.ok()) return;
  const int64_t samples = c.Int("sample_size", 1);
  if (x.rank() != 2) return c.Fail(absl::StrCat(x.type().ToString(), " isn't [N, classes]"));
  if (samples < 1) return c.Fail("sample_size isn't positive");
  const DType type = TypeOr(c, i32);
  V u = Random(c, {x.dim(0), samples, x.dim(1)}, "uniform", x.dtype());
  ir::Attrs attrs;
  attrs.axis = 2;
  V noisy = Unsqueeze(Cast(x, u.dtype()), {1}) - Log(-Log(u));
  c.Out(0, Cast(c.Create(ir::Op::k_argmax, {noisy}, std::move(attrs)), type));
}

// By elimination with row exchanges, unrolled: the size of the matrices is known.
void Det(NodeContext& c) {
  constexpr int64_t kMostRows = 64;
  V x = c.In(0);
  if (!x.ok()) return;
  if (x.rank() < 2) return c.Fail(absl::StrCat(x.type().ToString(), " has no matrices"));
  const Dim rows = x.dim(x.rank() - 2), columns = x.dim(x.rank() - 1);
  c.Require(Eq(rows, columns), "the matrices of a determinant are square");
  const Dim extent = rows.is_constant() ? rows : columns;
  if (!extent.is_constant() || extent.constant() > kMostRows)
    return c.Unsupported(absl::StrCat("the determinant of ", extent.ToString(), " rows; wanted ",
                                      kMostRows, " or less, known when the model is loaded"));
  const int64_t n = extent.constant();
  const DType type = x.dtype();
  Shape batch = x.shape();
  batch.resize(batch.size() - 2);
  const Dim count = Product(batch, 0, static_cast<int>(batch.size()));
  V a = Cast(ReshapeTo(x, {count, n, n}), ComputeType(type));
  V det = c.Fill({count}, ComputeType(type), 1);
  for (int64_t left = n; left > 0 && c.ok(); --left) {
    V column = Squeeze(SliceAxis(a, 2, 0, 1), {2});  // [B, left]
    ir::Attrs attrs;
    attrs.axis = 1;
    attrs.keep_dims = true;
    V at = c.Create(ir::Op::k_argmax, {Abs(column)}, std::move(attrs));  // [B, 1]
    V top = GatherPerBatch(c, a, 1, at);                                 // [B, 1, left]
    V pivot = ReshapeTo(SliceAxis(top, 2, 0, 1), {count});
    V same = ReshapeTo(Bin(ir::Op::k_eq, at, c.ScalarInt(i64, 0)), {count});
    det = det * Select(same, pivot, -pivot);
    if (left == 1) break;
    // The row that goes to the pivot's place is the first one.
    V here = Bin(ir::Op::k_eq, c.Iota({count, left}, 1), at);
    V others = SliceAxis(Select(Unsqueeze(here, {2}), SliceAxis(a, 1, 0, 1), a), 1, 1, left);
    V none = Bin(ir::Op::k_eq, pivot, 0.0);
    V factor = SliceAxis(others, 2, 0, 1) /
               Unsqueeze(Select(none, c.Scalar(pivot.dtype(), 1), pivot), {1, 2});
    a = SliceAxis(others, 2, 1, left) - factor * SliceAxis(top, 2, 1, left);
  }
  c.Out(0, Cast(ReshapeTo(det, batch), type));
}

}  // namespace

std::vector<Mapping> RandomMappings() {
  return {
      {"", "RandomNormal", Numbers(true, false)},
      {"", "RandomNormalLike", Numbers(true, true)},
      {"", "RandomUniform", Numbers(false, false)},
      {"", "RandomUniformLike", Numbers(false, true)},
      {"", "Bernoulli", Bernoulli},
      {"", "Multinomial", Multinomial},
      {"", "Det", Det},
  };
}

}  // namespace lathe::onnx
