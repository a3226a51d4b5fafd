#include "tests/compiler/random_graph.h"

#include <cmath>

#include "tests/compiler/random_pool.h"
#include "tests/compiler/random_sequential.h"

namespace lathe::fuzz {
namespace {

class Generator : public SequentialSteps {
 public:
  using SequentialSteps::SequentialSteps;

  Graph Run() {
    MakeSymbols();
    MakeInputs();
    const int drawn = 3 + static_cast<int>(random_.Below(10));
    const int ops = options_.ops > 0 ? options_.ops : drawn;
    for (int i = 0; i < ops; ++i) {
      for (int tries = 0; tries < 20 && !Step(); ++tries) {
      }
    }
    MakeOutputs();
    return std::move(graph_);
  }

 private:
  // -- steps: each tries to add one value to the pool (or a few)

  bool Step() {
    struct Choice {
      int weight;
      bool (Generator::*make)();
    };
    static constexpr Choice kChoices[] = {
        {14, &Generator::Unary},    {20, &Generator::Binary},   {5, &Generator::Select},
        {6, &Generator::Cast},      {6, &Generator::Broadcast}, {8, &Generator::Reshape},
        {7, &Generator::Permute},   {8, &Generator::Slice},     {4, &Generator::Pad},
        {6, &Generator::Concat},    {4, &Generator::Gather},    {10, &Generator::Reduce},
        {6, &Generator::Normalize}, {6, &Generator::MatMul},    {5, &Generator::Products},
        {3, &Generator::Attention}, {2, &Generator::Embedding}, {4, &Generator::If},
        {4, &Generator::Source},    {3, &Generator::Again},     {3, &Generator::Split},
        {5, &Generator::Ragged},    {5, &Generator::Windows},   {6, &Generator::Sequential},
    };
    int total = 0;
    for (const Choice& c : kChoices) total += c.weight;
    int64_t roll = random_.Below(total);
    for (const Choice& c : kChoices) {
      if ((roll -= c.weight) < 0) return (this->*c.make)();
    }
    return false;
  }

  Op UnaryOp(DType dtype) {
    if (dtype == bool_) return Op::k_not;
    if (IsInt(dtype))
      return random_.Of({Op::k_neg, Op::k_abs, Op::k_relu, Op::k_sign, Op::k_bit_not});
    if (options_.integer_valued || random_.Percent(35))
      return random_.Of({Op::k_neg, Op::k_abs, Op::k_relu, Op::k_floor, Op::k_ceil, Op::k_round,
                         Op::k_trunc, Op::k_sign, Op::k_is_nan, Op::k_is_inf});
    return random_.Of({Op::k_exp,   Op::k_log,   Op::k_sqrt,  Op::k_rsqrt, Op::k_tanh,
                       Op::k_erf,   Op::k_sin,   Op::k_cos,   Op::k_tan,   Op::k_sigmoid,
                       Op::k_silu,  Op::k_gelu,  Op::k_exp2,  Op::k_expm1, Op::k_log2,
                       Op::k_log1p, Op::k_asin,  Op::k_acos,  Op::k_atan,  Op::k_sinh,
                       Op::k_cosh,  Op::k_asinh, Op::k_acosh, Op::k_atanh});
  }

  bool Unary() {
    const size_t i = PickAny();
    return !None(i) && Keep(b_.Create(UnaryOp(Type(i).dtype), {pool_[i].id}), pool_[i].bound);
  }

  Op BinaryOp(DType dtype) {
    if (dtype == bool_) return random_.Of({Op::k_and, Op::k_or, Op::k_xor, Op::k_eq, Op::k_ne});
    if (random_.Percent(15)) {
      return random_.Of({Op::k_eq, Op::k_ne, Op::k_lt, Op::k_le, Op::k_gt, Op::k_ge});
    }
    if (IsInt(dtype) && random_.Percent(30))
      return random_.Of({Op::k_div, Op::k_rem, Op::k_floordiv, Op::k_mod, Op::k_pow, Op::k_bit_and,
                         Op::k_bit_or, Op::k_bit_xor, Op::k_shift_left, Op::k_shift_right});
    if (IsFloat(dtype) && random_.Percent(5))
      return random_.Of({Op::k_rem, Op::k_floordiv, Op::k_mod});
    if (!options_.integer_valued && random_.Percent(15))
      return random_.Of({Op::k_div, Op::k_pow, Op::k_atan2});
    return random_.Of(
        {Op::k_add, Op::k_add, Op::k_sub, Op::k_mul, Op::k_mul, Op::k_maximum, Op::k_minimum});
  }

  // Whether numpy broadcasts the shapes without a question left open.
  static bool Compatible(const Shape& a, const Shape& b) {
    const size_t common = std::min(a.size(), b.size());
    for (size_t i = 1; i <= common; ++i) {
      const Dim x = a[a.size() - i], y = b[b.size() - i];
      if (x != y && x != Dim(1) && y != Dim(1)) return false;
    }
    return true;
  }

  // Something to put beside value i.
  absl::StatusOr<Pooled> Partner(size_t i) {
    const ir::ValueType type = Type(i);
    const auto pooled = [](const absl::StatusOr<ValueId>& v,
                           double bound) -> absl::StatusOr<Pooled> {
      if (!v.ok()) return v.status();
      return Pooled{*v, bound};
    };
    switch (random_.Below(6)) {
      case 0:
        return pooled(Scalar(type.dtype), 3);
      case 1:
        if (type.rank() > 0 && type.shape.back().is_constant())
          return pooled(Constant(type.dtype, {type.shape.back().constant()}), 2);
        return pooled(Scalar(type.dtype), 3);
      case 2:
        return pool_[i];
      default:
        break;
    }
    const bool open = random_.Percent(10);  // equal or 1 only known when it runs
    const size_t j = Pick([&](const ir::ValueType& t) {
      return t.dtype == type.dtype && (open || Compatible(t.shape, type.shape));
    });
    if (None(j)) return pooled(Scalar(type.dtype), 3);
    return pool_[j];
  }

  static double BinaryBound(Op op, DType dtype, double a, double b) {
    switch (op) {
      case Op::k_add:
      case Op::k_sub:
        return a + b;
      case Op::k_mul:
        return a * b;
      case Op::k_maximum:
      case Op::k_minimum:
        return std::max(a, b);
      case Op::k_pow:
      case Op::k_bit_and:
      case Op::k_bit_or:
      case Op::k_bit_xor:
      case Op::k_shift_left:
        return 0x1p63;
      default:
        return IsInt(dtype) ? std::max(a, b) : a;
    }
  }

  bool Binary() {
    const size_t i = PickAny();
    if (None(i)) return false;
    const Pooled first = pool_[i];
    const DType dtype = Type(i).dtype;
    const absl::StatusOr<Pooled> second = Partner(i);
    if (!second.ok()) return false;
    const Op op = BinaryOp(dtype);
    const bool swap = random_.Percent(30);
    const ValueId a = swap ? second->id : first.id, b = swap ? first.id : second->id;
    const bool compares = (ir::Info(op).traits & ir::kBoolResult) != 0;
    return Keep(b_.Binary(op, a, b),
                compares ? 1 : BinaryBound(op, dtype, first.bound, second->bound));
  }

  bool Select() {
    const size_t i = PickAny();
    if (None(i)) return false;
    const Pooled a = pool_[i];
    const absl::StatusOr<Pooled> b = Partner(i);
    if (!b.ok()) return false;
    const Shape shape = Type(i).shape;
    const size_t p = Pick(
        [&](const ir::ValueType& t) { return t.dtype == bool_ && Compatible(t.shape, shape); });
    absl::StatusOr<ValueId> condition = Scalar(bool_);
    if (!None(p)) {
      condition = pool_[p].id;
    } else if (random_.Percent(85)) {
      condition = b_.Binary(graph_.type(a.id).dtype == bool_ ? Op::k_ne : Op::k_lt, a.id, b->id);
    }
    if (!condition.ok()) return false;
    return Keep(b_.Elementwise(Op::k_select, {*condition, a.id, b->id}),
                std::max(a.bound, b->bound));
  }

  bool Cast() {
    const size_t i = PickAny();
    if (None(i)) return false;
    Attrs attrs;
    const DType type = Type(i).dtype;
    if (random_.Percent(15) && (type == f32 || type == i32)) {  // as another type, and back
      attrs.dtype = type == f32 ? i32 : f32;
      const auto bits = b_.Create(Op::k_bitcast, {pool_[i].id}, attrs);
      if (!bits.ok()) return false;
      attrs.dtype = type;
      return Keep(b_.Create(Op::k_bitcast, {*bits}, attrs), pool_[i].bound);
    }
    attrs.dtype = random_.Percent(60)
                      ? random_.Of({f32, f32, f64, i32, i64, bool_})
                      : random_.Of({i8, i16, u8, u16, u32, u64, f16, bf16, f32, f32});
    const double bound = attrs.dtype == bool_ ? 1 : pool_[i].bound;
    return Keep(b_.Create(Op::k_cast, {pool_[i].id}, attrs), bound);
  }

  bool Gather() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1 && t.rank() <= 3; });
    if (None(i)) return false;
    const Pooled data = pool_[i];
    Attrs attrs;
    attrs.axis = random_.Below(Type(i).rank());
    const Dim extent = Type(i).shape[static_cast<size_t>(*attrs.axis)];
    absl::StatusOr<ValueId> indices = absl::NotFoundError("");
    if (extent.is_constant() && extent.constant() > 0 && random_.Percent(50)) {
      Tensor t(i64, {3});
      for (int k = 0; k < 3; ++k) t.data<int64_t>()[k] = random_.Below(extent.constant()) - k % 2;
      indices = b_.Constant(t);
    } else if (AddInput(random_.Of({i32, i64}), {InputDim()})) {
      indices = pool_.back().id;
      pool_.pop_back();
    }
    if (!indices.ok()) return false;
    return Keep(b_.Create(Op::k_gather, {data.id, *indices}, attrs), data.bound);
  }

  bool Reduce() {
    const size_t i = PickAny();
    if (None(i) || Type(i).rank() == 0) return false;
    const bool is_float = IsFloat(Type(i).dtype);
    Op op = random_.Of(
        {Op::k_sum, Op::k_sum, Op::k_max, Op::k_min, Op::k_argmax, Op::k_argmin, Op::k_prod});
    if (Type(i).dtype == bool_) op = random_.Of({Op::k_all, Op::k_any});
    if (is_float && !options_.integer_valued && random_.Percent(15)) op = Op::k_mean;
    Attrs attrs;
    attrs.keep_dims = random_.Percent(50);
    int64_t count = 1;
    const bool is_index = op == Op::k_argmax || op == Op::k_argmin;
    if (is_index) {
      attrs.last = random_.Percent(50);
      attrs.axis = random_.Below(Type(i).rank());
    } else {
      for (int axis = 0; axis < Type(i).rank(); ++axis) {
        if (random_.Percent(45)) attrs.axes.push_back(axis);
      }
      if (attrs.axes.empty()) attrs.axes.push_back(Type(i).rank() - 1);
      for (int64_t axis : attrs.axes)
        count *= std::max<int64_t>(1, AtEight(Type(i).shape[static_cast<size_t>(axis)]));
    }
    double bound = pool_[i].bound;
    if (op == Op::k_sum) bound *= static_cast<double>(count);
    if (op == Op::k_prod) bound = std::pow(bound, static_cast<double>(count));
    if (is_index) bound = static_cast<double>(kMostElements);
    return Keep(b_.Create(op, {pool_[i].id}, attrs), bound);
  }

  bool Normalize() {
    if (options_.integer_valued) return false;
    const size_t i = PickFloat(1);
    if (None(i)) return false;
    const ir::ValueType type = Type(i);
    const ValueId x = pool_[i].id;
    Attrs attrs;
    if (!type.shape.back().is_constant() || random_.Percent(50)) {
      attrs.axis = random_.Percent(70) ? type.rank() - 1 : random_.Below(type.rank());
      return Keep(b_.Create(Op::k_softmax, {x}, attrs), 1);
    }
    attrs.epsilon = 1e-5;
    std::vector<ValueId> operands{x};
    const bool rms = random_.Percent(40);
    for (int k = 0; k < (rms ? 1 : 2); ++k) {
      const absl::StatusOr<ValueId> c = Constant(type.dtype, {type.shape.back().constant()});
      if (!c.ok()) return false;
      operands.push_back(*c);
    }
    return Keep(b_.Create(rms ? Op::k_rms_norm : Op::k_layer_norm, operands, attrs), 1);
  }

  bool MatMul() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1 && t.dtype != bool_; });
    if (None(i)) return false;
    const Pooled a = pool_[i];
    const ir::ValueType type = Type(i);
    const double terms = static_cast<double>(std::max<int64_t>(1, AtEight(type.shape.back())));
    if (type.shape.back().is_constant() && random_.Percent(60)) {
      const absl::StatusOr<ValueId> w =
          Constant(type.dtype, {type.shape.back().constant(), 1 + random_.Below(6)});
      return w.ok() && Keep(b_.MatMul(a.id, *w), 2 * terms * a.bound);
    }
    if (type.rank() < 2) return Keep(b_.MatMul(a.id, a.id), terms * a.bound * a.bound);
    Attrs attrs;
    for (int axis = 0; axis < type.rank(); ++axis) attrs.axes.push_back(axis);
    std::swap(attrs.axes[attrs.axes.size() - 1], attrs.axes[attrs.axes.size() - 2]);
    const absl::StatusOr<ValueId> transposed = b_.Create(Op::k_permute, {a.id}, attrs);
    return transposed.ok() && Keep(b_.MatMul(a.id, *transposed), terms * a.bound * a.bound);
  }

  // Products of one value with two or three matrices, with or without rows added.
  bool Products() {
    const size_t i = Pick([](const ir::ValueType& t) {
      return IsFloat(t.dtype) && t.rank() >= 2 && t.shape.back().is_constant();
    });
    if (None(i)) return false;
    const Pooled a = pool_[i];
    const ir::ValueType type = Type(i);
    const int64_t k = type.shape.back().constant(), parts = 2 + random_.Below(2);
    const bool with_rows = random_.Percent(60);
    bool any = false;
    for (int64_t p = 0; p < parts; ++p) {
      const int64_t columns = random_.Of<int64_t>({1, 3, 4, 4, 8});
      const absl::StatusOr<ValueId> w = Constant(type.dtype, {k, columns});
      absl::StatusOr<ValueId> y = w.ok() ? b_.MatMul(a.id, *w) : w;
      if (with_rows || random_.Percent(10)) {
        const absl::StatusOr<ValueId> row = Constant(type.dtype, {columns});
        if (y.ok() && row.ok()) y = b_.Binary(Op::k_add, *y, *row);
      }
      any |= Keep(y, 2 * static_cast<double>(std::max<int64_t>(1, k)) * a.bound + 2);
    }
    return any;
  }

  bool Attention() {
    if (options_.integer_valued) return false;
    const size_t i = PickFloat(2);
    if (None(i) || !Type(i).shape.back().is_constant() || Type(i).shape.back() == Dim(0))
      return false;
    const ValueId q = pool_[i].id;
    const ir::ValueType type = Type(i);
    const size_t j = Pick([&](const ir::ValueType& t) { return t == type; });
    const ValueId v = None(j) ? q : pool_[j].id;
    Attrs attrs;
    attrs.causal = random_.Percent(40);
    if (random_.Percent(30)) attrs.scale = 0.25;
    ValueId mask = ir::kNoValue;
    if (random_.Percent(30)) {
      Attrs wide;
      wide.shape = Shape{type.shape[type.shape.size() - 2]};
      wide.axis = 0;
      wide.dtype = type.dtype;
      const absl::StatusOr<ValueId> added = b_.Create(Op::k_iota, {}, wide);
      if (!added.ok()) return false;
      mask = *added;
    }
    return Keep(b_.Attention(q, v, v, mask, attrs), kInputBound);
  }

  bool Embedding() {
    const size_t i = Pick([](const ir::ValueType& t) { return IsIndex(t.dtype) && t.rank() <= 2; });
    if (None(i)) return false;
    const int64_t rows = 1 + random_.Below(6);
    const ValueId ids = pool_[i].id;
    const absl::StatusOr<ValueId> count = b_.IntConstant(Type(i).dtype, rows);
    if (!count.ok()) return false;
    const absl::StatusOr<ValueId> valid = b_.Binary(Op::k_mod, ids, *count);
    const absl::StatusOr<ValueId> table = Constant(f32, {rows, 4});
    if (!valid.ok() || !table.ok()) return false;
    return Keep(b_.Create(Op::k_embedding, {*table, *valid}), 2);
  }

  Claim RandomClaim() {
    const Dim d = Symbol();
    switch (random_.Below(5)) {
      case 0:
        return d >= random_.Below(9);
      case 1:
        return Eq(Mod(d, 2), random_.Below(2));
      case 2:
        return In(d, {1, 2, 8});
      case 3:
        return d < Symbol();
      default:
        return Eq(d, random_.Below(4));
    }
  }

  // One side: a few elementwise ops that keep the type.
  absl::StatusOr<ValueId> SideOf(ValueId v, int depth) {
    const DType dtype = graph_.type(v).dtype;
    absl::StatusOr<ValueId> result = v;
    if (dtype != bool_ && random_.Percent(60)) {
      const absl::StatusOr<ValueId> c = Scalar(dtype);
      if (!c.ok()) return c;
      result = b_.Binary(random_.Of({Op::k_add, Op::k_mul, Op::k_maximum}), v, *c);
    }
    if (result.ok() && random_.Percent(60)) result = b_.Create(UnaryOp(dtype), {*result});
    if (result.ok() && depth == 0 && random_.Percent(25)) result = MakeIf(*result, depth + 1);
    return result;
  }

  absl::StatusOr<ValueId> MakeIf(ValueId v, int depth) {
    if (absl::Status s = b_.OpenIf(RandomClaim()); !s.ok()) return s;
    absl::StatusOr<ValueId> side = SideOf(v, depth);
    const absl::Status s = b_.Else(side.value_or(v));
    if (!s.ok()) return s;
    side = SideOf(v, depth);
    return b_.CloseIf(side.value_or(v));
  }

  bool If() {
    const size_t i = PickAny();
    return !None(i) && Keep(MakeIf(pool_[i].id, 0), pool_[i].bound * 9 + 6);
  }

  bool Source() {
    const size_t i = Pick([](const ir::ValueType& t) { return t.rank() >= 1; });
    if (None(i)) return false;
    Attrs attrs;
    if (random_.Percent(15))
      return Keep(b_.Create(Op::k_shape_of, {pool_[i].id}), static_cast<double>(kMostElements));
    const int64_t kind = random_.Below(options_.integer_valued ? 2 : 3);
    if (kind == 0) {
      attrs.dim = random_.Percent(50) ? Symbol() : Symbol() * 2 + 1;
      const absl::StatusOr<ValueId> size = b_.Create(Op::k_size, {}, attrs);
      if (!size.ok()) return false;
      Attrs to;
      to.dtype = random_.Of({f32, i32, f64});
      return Keep(b_.Create(Op::k_cast, {*size}, to), 17);
    }
    attrs.shape = Type(i).shape;
    if (kind == 1) {
      attrs.axis = random_.Below(Type(i).rank());
      attrs.dtype = random_.Of({f32, f32, f64, i32, i64, u8, bf16});
      return Keep(b_.Create(Op::k_iota, {}, attrs), static_cast<double>(kMostElements));
    }
    attrs.dtype = random_.Of({f32, f64});
    attrs.seed = random_.Below(3);
    attrs.distribution = random_.Percent(50) ? "normal" : "uniform";
    return Keep(b_.Create(Op::k_random, {}, attrs), 7);
  }

  // The same op on the same operands once more.
  bool Again() {
    const size_t i = PickAny();
    if (None(i)) return false;
    const ir::Node n = graph_.node(pool_[i].id);
    if (n.op == Op::k_input || n.op == Op::k_constant || n.op == Op::k_if) return false;
    const absl::StatusOr<ValueId> twin = b_.Create(n.op, n.operands, n.attrs);
    if (!twin.ok()) return false;
    if (n.type.dtype == bool_) return Keep(b_.Binary(Op::k_and, pool_[i].id, *twin), 1);
    return Keep(b_.Binary(Op::k_add, pool_[i].id, *twin), 2 * pool_[i].bound);
  }

  // A packed value of the one ragged dim, made on the first use; or one of an element a row.
  size_t PickRows(Dim first, int rank) {
    return Pick([&](const ir::ValueType& t) { return t.rank() >= rank && t.shape[0] == first; });
  }

  bool Ragged() {
    if (!ragged_) {
      const absl::StatusOr<ir::RaggedDim> made =
          ir::DeclareRagged(b_, "r", Symbol(), "", {"fuzz", ""}, random_.Of({i32, i64}));
      if (!made.ok()) return false;
      ragged_ = *made;
      Shape shape = {made->total};
      if (random_.Percent(70)) shape.push_back(random_.Of<int64_t>({1, 3, 4}));
      return AddInput(InputType(), shape);
    }
    const ValueId offsets = ragged_->offsets;
    const double rows = 8;
    switch (random_.Below(8)) {
      case 0:
        return Keep(b_.Create(Op::k_segment_ids, {offsets}), rows);
      case 1: {
        const size_t i = PickRows(ragged_->batch, 1);
        return !None(i) &&
               Keep(b_.Create(Op::k_segment_rows, {pool_[i].id, offsets}), pool_[i].bound);
      }
      case 2: {
        const size_t i = PickRows(ragged_->total, 1);
        if (None(i)) return false;
        Attrs attrs;
        attrs.value = 1;
        const absl::StatusOr<ValueId> padded =
            b_.Create(Op::k_to_padded, {pool_[i].id, offsets}, attrs);
        return padded.ok() && Keep(b_.Create(Op::k_to_ragged, {*padded, offsets}), pool_[i].bound);
      }
      case 3: {
        const size_t i = PickRows(ragged_->total, 1);
        Attrs attrs;
        attrs.value = 1;
        return !None(i) && Keep(b_.Create(Op::k_to_padded, {pool_[i].id, offsets}, attrs),
                                std::max(1.0, pool_[i].bound));
      }
      default:
        break;
    }
    const size_t i = PickRows(ragged_->total, 1);
    if (None(i) || Type(i).dtype == bool_) return false;
    Op op = random_.Of({Op::k_segment_sum, Op::k_segment_max});
    Attrs attrs;
    if (IsFloat(Type(i).dtype) && !options_.integer_valued && random_.Percent(50))
      op = random_.Of({Op::k_segment_mean, Op::k_segment_softmax});
    if (op == Op::k_segment_max) attrs.value = -2;
    const double bound = pool_[i].bound * (op == Op::k_segment_sum ? rows : 1) + 2;
    return Keep(b_.Create(op, {pool_[i].id, offsets}, attrs), bound);
  }
};

bool Satisfies(const Graph& graph, const std::vector<int64_t>& sizes) {
  for (const dim::Fact& fact : graph.facts().facts()) {
    const absl::StatusOr<bool> holds = dim::Evaluate(fact.claim, sizes);
    if (!holds.ok() || !*holds) return false;
  }
  return true;
}

}  // namespace

Graph RandomGraph(uint64_t seed, const RandomGraphOptions& options) {
  return Generator(seed, options).Run();
}

std::vector<int64_t> RandomSizes(const Graph& graph, uint64_t seed, std::vector<int64_t> extents) {
  Random random(seed ^ 0x5bd1e995);
  std::vector<int64_t> sizes(static_cast<size_t>(graph.dims()->num_symbols()));
  for (int tries = 0; tries < 60; ++tries) {
    for (int64_t& size : sizes) size = random.Of(extents);
    if (Satisfies(graph, sizes)) break;
  }
  return sizes;
}

namespace {

// The first value of the body that fails as the only output, with what it needs.
Graph WithOneOutput(const Graph& graph, absl::FunctionRef<bool(const Graph&)> fails) {
  for (ValueId v : graph.body.nodes) {
    Graph smaller = graph.Clone();
    smaller.body.results = {v};
    smaller.output_names = {"y"};
    smaller.RemoveDeadNodes();
    if (fails(smaller)) return smaller;
  }
  return graph.Clone();
}

// True if some node could be left out, an operand of its type in its place.
bool LeaveOutOne(Graph& graph, absl::FunctionRef<bool(const Graph&)> fails) {
  for (ValueId v : graph.body.nodes) {
    for (ValueId operand : graph.node(v).operands) {
      if (!(graph.type(operand) == graph.type(v))) continue;
      Graph smaller = graph.Clone();
      std::vector<ValueId> replacement(smaller.num_nodes());
      for (ValueId r = 0; r < replacement.size(); ++r) replacement[r] = r;
      replacement[v] = operand;
      smaller.ReplaceUses(replacement);
      std::erase(smaller.body.nodes, v);
      smaller.RemoveDeadNodes();
      if (!fails(smaller)) continue;
      graph = std::move(smaller);
      return true;
    }
  }
  return false;
}

}  // namespace

Graph Shrink(const Graph& graph, absl::FunctionRef<bool(const Graph&)> fails) {
  Graph small = WithOneOutput(graph, fails);
  while (LeaveOutOne(small, fails)) {
  }
  return small;
}

}  // namespace lathe::fuzz
