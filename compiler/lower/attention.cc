// Attention, f32: dense, causal or masked, any strides of q, k, v. Lanes run over queries, so that
// the softmax needs no reduction across lanes and neither k nor v is packed: scores are kept
// transposed, S^T[key][query] = K Q^T and O^T[e][query] += V^T P^T, both by micro-kernels.
//
// Order (a value of its own, whatever version runs): blocks of kKeyBlock keys ascend; scores are
// (scale * q) . k ascending; per block the running maximum, then probabilities summed in key order,
// then rescale and products ascending in keys; one multiplication by 1 / sum at the end.
#include <cassert>
#include <limits>

#include "absl/strings/str_cat.h"
#include "codegen/kernel/math.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/micro.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using ir::Op;
using ir::ValueId;
using kernel::KOp;
using kernel::Reg;

constexpr int64_t kKeyBlock = 64;
constexpr int kValueTile = 8;   // rows of V^T per micro-kernel
constexpr int kFewQueries = 8;  // as many lanes then: a decoder's step has one
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

class AttentionLowering {
 public:
  AttentionLowering(const LowerContext& c, const Group& group)
      : c_(c),
        group_(group),
        n_(c.graph.node(group.anchor)),
        tile_(QueryTile(c.target, HasFewQueries() ? kFewQueries : 0)),
        width_(tile_.width),
        scope_(c, n_.attrs.causal ? "attention_causal" : "attention"),
        b_(scope_.b()) {}

  LoweredKernel Run() {
    const Shape& q = c_.graph.type(n_.operands[0]).shape;
    const Shape& v = c_.graph.type(n_.operands[2]).shape;
    const size_t rank = q.size();
    const Shape batch(q.begin(), q.end() - 2);
    Shape batch_sizes;
    for (Dim d : batch) batch_sizes.push_back(scope_.Param("n", d));
    const Dim graph_queries = q[rank - 2], graph_keys = v[rank - 2];
    queries_ = scope_.Param("queries", graph_queries);
    keys_ = scope_.Param("keys", graph_keys);
    dim_ = scope_.Param("d", q[rank - 1]);
    value_dim_ = scope_.Param("e", v[rank - 1]);
    OpenBuffers(q[rank - 1], v[rank - 1]);

    const Dim blocks = CeilDiv(queries_, width_);
    const Dim divisor = Max(blocks, 1);
    const Coords batch_coords = Delinearize(batch_sizes, FloorDiv(b_.task(), divisor));
    const Dim first = Mod(b_.task(), divisor) * width_;
    // One trip: gives the lanes their symbol.
    b_.For("q", first, Min(first + width_, queries_), width_, [&](Dim query) {
      coords_ = batch_coords;
      coords_.push_back(query);
      coords_.push_back(0);
      Block(query);
    });
    const Dim graph_batch = Volume(batch);
    const Dim graph_blocks = CeilDiv(graph_queries, width_);
    // Lanes without a query cost as much as the others.
    const Dim flops =
        graph_batch * graph_blocks * width_ * graph_keys * (q[rank - 1] + v[rank - 1]);
    return scope_.Finish(graph_batch * graph_blocks, Volume(batch_sizes) * blocks,
                         FloorDiv(flops, 30),
                         absl::StrCat(width_, " queries x ", kKeyBlock, " keys"));
  }

 private:
  // A guess alone: any number of queries is right with any width. A bound of the queries of all
  // sequences says it too, since with 0 sequences there is nothing to do.
  bool HasFewQueries() const {
    const Shape& q = c_.graph.type(n_.operands[0]).shape;
    Dim queries = q[q.size() - 2], all = queries;
    for (size_t i = 0; i + 2 < q.size(); ++i)
      if (!q[i].is_constant()) all *= q[i];
    return c_.query.Ask(queries <= kFewQueries) || c_.query.Ask(all <= kFewQueries);
  }

  void OpenBuffers(Dim graph_dim, Dim graph_value_dim) {
    for (int i = 0; i < 3; ++i) {
      base_[i] = n_.operands[i];
      // Under a view that has a buffer for another reader there may be the one to read in strides.
      while (!c_.plan.IsBuffer(base_[i]) || !IsStrided(c_.graph, n_.operands[i], base_[i]))
        base_[i] = c_.graph.node(base_[i]).operands[0];
      in_[i] = scope_.Input(base_[i]);
    }
    assert(group_.outputs.size() == 1);
    out_ = scope_.Output(group_.outputs[0]);
    qt_ = scope_.Scratch("qt", f32, dim_ * width_, graph_dim * width_);
    st_ = scope_.Scratch("st", f32, kKeyBlock * width_, kKeyBlock * width_);
    ot_ = scope_.Scratch("ot", f32, value_dim_ * width_, graph_value_dim * width_);
  }

  // Position in its buffer of element (batch, row, column) of operand i.
  Dim At(int i, Dim row, Dim column) {
    Coords coords = coords_;
    coords[coords.size() - 2] = row;
    coords[coords.size() - 1] = column;
    return IndexUnderViews(c_.graph, n_.operands[i], base_[i], coords, scope_.map());
  }
  Dim RowStride(int i) { return At(i, 1, 0) - At(i, 0, 0); }

  VectorAxis Lanes(Dim query) {
    dim::SymbolId symbol = 0;
    dim::IsSymbol(query, &symbol);
    return {symbol, width_, b_.Mask(queries_ - query, width_), queries_ - query};
  }

  Reg Constant(double value) { return b_.Float({f32, width_}, value); }
  Reg Exp(Reg x) { return kernel::EmitExpNonPositive(b_, x); }

  void Block(Dim query) {
    ElementEmitter e(scope_, Lanes(query));
    PackQueries(e, query);
    b_.For("e", 0, value_dim_, 1, [&](Dim i) { b_.Store(ot_, i * width_, Constant(0)); });
    const int maximum = b_.Var(Constant(kMinusInf)), total = b_.Var(Constant(0));
    // Causal: no query of the block sees a key at or behind `end`.
    const Dim end = n_.attrs.causal ? Min(keys_, query + width_ + keys_ - queries_) : keys_;
    b_.For("key", 0, end, kKeyBlock, [&](Dim key) {
      e.Open();
      KeyBlock(e, query, key, Min(kKeyBlock, end - key), maximum, total);
      e.Close();
    });
    Finish(e, query, total);
  }

  void PackQueries(ElementEmitter& e, Dim query) {
    const Reg scale = b_.Float({f32, width_}, Scale());
    b_.For("d", 0, dim_, 1, [&](Dim d) {
      e.Open();
      const Reg x = e.LoadAt(in_[0], At(0, query, d));
      b_.Store(qt_, d * width_, b_.Bin(KOp::kMul, x, scale));
      e.Close();
    });
    b_.Barrier();
  }

  double Scale() const { return n_.attrs.scale.value_or(1.0); }

  void KeyBlock(ElementEmitter& e, Dim query, Dim key, Dim count, int maximum, int total) {
    ForEachTile(b_, count, tile_.max_rows, [&](Dim at, Dim rows) {
      MicroCall call;
      call.a = in_[1];
      call.b = qt_;
      call.c = st_;
      call.a_offset = At(1, key + at, 0);
      call.c_offset = at * width_;
      call.lda = RowStride(1);
      call.ldc = width_;
      call.k = dim_;
      EmitMicroSwitch(b_, c_.micro, tile_, rows, tile_.max_rows, call);
    });
    b_.Barrier();
    const int block_max = b_.Var(Constant(kMinusInf));
    b_.For("i", 0, count, 1, [&](Dim i) {
      e.Open();
      const Reg raw = b_.Load(st_, i * width_, width_);
      const Reg score = Visible(e, query, key + i, raw);
      if (score != raw) b_.Store(st_, i * width_, score);
      b_.Set(block_max, b_.Bin(KOp::kMax, b_.Get(block_max), score));
      e.Close();
    });
    const Reg old_max = b_.Get(maximum);
    const Reg new_max = b_.Bin(KOp::kMax, old_max, b_.Get(block_max));
    const Reg nothing = b_.Bin(KOp::kEq, new_max, Constant(kMinusInf));
    const Reg shift = b_.Select(nothing, Constant(0), new_max);
    const Reg rescale = Exp(b_.Bin(KOp::kSub, old_max, shift));
    b_.Set(maximum, new_max);
    const int sum = b_.Var(Constant(0));
    b_.For("i", 0, count, 1, [&](Dim i) {
      const Reg p = Exp(b_.Bin(KOp::kSub, b_.Load(st_, i * width_, width_), shift));
      b_.Store(st_, i * width_, p);
      b_.Set(sum, b_.Bin(KOp::kAdd, b_.Get(sum), p));
    });
    b_.Set(total, b_.Fma(b_.Get(total), rescale, b_.Get(sum)));
    b_.If(key > 0, [&] {
      b_.For("e", 0, value_dim_, 1, [&](Dim i) {
        b_.Store(ot_, i * width_, b_.Bin(KOp::kMul, b_.Load(ot_, i * width_, width_), rescale));
      });
    });
    AddValues(e, query, key, count);
  }

  Reg Visible(ElementEmitter& e, Dim query, Dim key, Reg score) {
    Coords coords = coords_;
    coords[coords.size() - 2] = query;
    return e.VisibleScore(n_, coords, key, score);
  }

  // A hidden key adds nothing, whatever its value holds: 0 * inf must not count. Blocks that may
  // hide a key are looked through first; one with a NaN or an infinity takes the slow way.
  void AddValues(ElementEmitter& emit, Dim query, Dim key, Dim count) {
    if (n_.operands.size() <= 3 && !n_.attrs.causal) return AddVisibleValues(key, count);
    const int odd = b_.Var(Constant(0));
    auto look = [&] {
      b_.For("i", 0, count, 1, [&](Dim i) {
        b_.For("e", 0, value_dim_, width_, [&](Dim e) {
          const Reg mask = b_.Mask(value_dim_ - e, width_);
          const Reg v = b_.Load(in_[2], At(2, key + i, e), width_, 1, mask);
          b_.Set(odd, b_.Fma(v, Constant(0), b_.Get(odd)));
        });
      });
    };
    if (n_.operands.size() > 3) {
      look();
    } else {  // causal: a block before the first query's last key hides nothing
      b_.If(key + count > query + keys_ - queries_ + 1, look);
    }
    const Reg sum = b_.Get(odd);
    b_.If(
        b_.Any(b_.Bin(KOp::kNe, sum, sum)), [&] { AddSeenValues(emit, query, key, count); },
        [&] { AddVisibleValues(key, count); });
  }

  // The same products in the same order, less those of keys that the mask or causality hides. A
  // visible key whose probability is 0 counts, as 0 * inf.
  void AddSeenValues(ElementEmitter& emit, Dim query, Dim key, Dim count) {
    b_.For("e", 0, value_dim_, 1, [&](Dim e) {
      const int acc = b_.Var(b_.Load(ot_, e * width_, width_));
      b_.For("i", 0, count, 1, [&](Dim i) {
        emit.Open();
        const Reg p = b_.Load(st_, i * width_, width_);
        const Reg v = b_.Splat(b_.Load(in_[2], At(2, key + i, e)), width_);
        const Reg old = b_.Get(acc);
        const Reg mask = Visible(emit, query, key + i, Constant(0));
        const Reg hidden = b_.Bin(KOp::kEq, mask, Constant(kMinusInf));
        b_.Set(acc, b_.Select(hidden, old, b_.Fma(v, p, old)));
        emit.Close();
      });
      b_.Store(ot_, e * width_, b_.Get(acc));
    });
  }

  void AddVisibleValues(Dim key, Dim count) {
    MicroCall call;
    call.lhs = MicroLhs::kColumnMajor;
    call.a = in_[2];
    call.b = st_;
    call.c = ot_;
    call.lda = RowStride(2);
    call.ldc = width_;
    call.k = count;
    call.accumulate = 1;
    b_.Barrier();
    const Dim whole = FloorDiv(value_dim_, kValueTile) * kValueTile;
    const int rows = std::min(kValueTile, tile_.max_rows);
    auto at = [&](Dim e) {
      call.a_offset = At(2, key, e);
      call.c_offset = e * width_;
    };
    if (rows < kValueTile) {  // fewer registers: tiles of any size
      ForEachTile(b_, value_dim_, rows, [&](Dim e, Dim count_rows) {
        at(e);
        EmitMicroSwitch(b_, c_.micro, tile_, count_rows, rows, call);
      });
      return;
    }
    b_.For("e", 0, whole, kValueTile, [&](Dim e) {
      at(e);
      EmitMicroCall(b_, c_.micro, tile_, kValueTile, call);
    });
    if (value_dim_.is_constant() && value_dim_.constant() % kValueTile == 0) return;
    b_.If(value_dim_ > whole, [&] {
      at(whole);
      EmitMicroSwitch(b_, c_.micro, tile_, value_dim_ - whole, kValueTile - 1, call);
    });
  }

  void Finish(ElementEmitter& e, Dim query, int total) {
    const Reg sum = b_.Get(total);
    const Reg inverse = b_.Bin(KOp::kDiv, Constant(1), sum);
    const Reg nothing = b_.Bin(KOp::kEq, sum, Constant(0));
    const Reg empty = EmptyAttentionRow(b_, {f32, width_}, n_.attrs.empty_row_nan, keys_);
    b_.Barrier();
    b_.For("e", 0, value_dim_, 1, [&](Dim i) {
      const Reg o = b_.Bin(KOp::kMul, b_.Load(ot_, i * width_, width_), inverse);
      e.StoreAt(out_, OutputAt(query, i), b_.Select(nothing, empty, o));
    });
  }

  // Where element (batch, query, e) ends up behind the group's permutes and reshapes.
  Dim OutputAt(Dim query, Dim column) {
    Coords coords = coords_;
    coords[coords.size() - 2] = query;
    coords[coords.size() - 1] = column;
    Shape shape = scope_.MapShape(n_.type.shape);
    for (size_t i = 1; i < group_.members.size(); ++i) {
      const Node& view = c_.graph.node(group_.members[i]);
      if (view.op == Op::k_reshape) break;  // positions stay from here on
      Coords permuted;
      for (int64_t axis : view.attrs.axes) permuted.push_back(coords[static_cast<size_t>(axis)]);
      coords = permuted;
      shape = scope_.MapShape(view.type.shape);
    }
    return FlatIndex(shape, coords);
  }

  const LowerContext& c_;
  const Group& group_;
  const Node& n_;
  const TileShape tile_;
  const int width_;
  KernelScope scope_;
  kernel::KernelBuilder& b_;
  Dim queries_, keys_, dim_, value_dim_;
  Coords coords_;
  ValueId base_[3] = {};
  int in_[3] = {}, out_ = 0, qt_ = 0, st_ = 0, ot_ = 0;
};

}  // namespace

LoweredKernel LowerAttention(const LowerContext& c, const Group& group) {
  return AttentionLowering(c, group).Run();
}

}  // namespace lathe::compiler
