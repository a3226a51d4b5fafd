// argsort: a bottom-up merge sort of positions, a row a task. Runs of 1, 2, 4, .. sorted positions
// are merged from the result's row into scratch and back, two passes a turn, so that the result
// ends in its place; a pass whose runs hold the whole row copies it.
#include "codegen/kernel/builder.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/scope.h"
#include "compiler/lower/space.h"

namespace lathe::compiler {
namespace {

using ir::Node;
using kernel::KernelBuilder;
using kernel::KOp;
using kernel::Reg;

constexpr int kLanes = 32;
constexpr int kTurns = 21;  // 4^21 > 2^40, the longest row

class Argsort {
 public:
  Argsort(const LowerContext& c, const Group& group)
      : node_(c.graph.node(group.anchor)), scope_(c, "argsort"), b_(scope_.b()) {
    const Shape& shape = node_.type.shape;
    graph_rows_ = Volume(Shape(shape.begin(), shape.end() - 1));
    graph_length_ = shape.back();
    rows_ = scope_.Param("rows", graph_rows_);
    length_ = scope_.Param("n", graph_length_);
    in_ = scope_.FlatInput(node_.operands[0]);
    out_ = scope_.Output(group.anchor);
    scratch_ = scope_.Scratch("positions", i64, length_, graph_length_);
  }

  LoweredKernel Run() {
    first_ = b_.task() * length_;
    b_.For("j", 0, length_, kLanes, [&](Dim j) {
      const Reg positions = b_.Bin(KOp::kAdd, b_.Index(j), b_.Lane({i64, kLanes}));
      b_.Store(out_, first_ + j, positions, 1, b_.Mask(length_ - j, kLanes));
    });
    const int width = b_.Var(b_.Int({i64, 1}, 1));
    b_.For("turn", 0, kTurns, 1, [&](Dim) {
      const Reg now = b_.Get(width);
      b_.If(b_.Bin(KOp::kLt, now, b_.Index(length_)), [&] {
        const Dim run = b_.Bind("run", now);
        Pass(run, out_, first_, scratch_, 0);
        Pass(2 * run, scratch_, 0, out_, first_);
        b_.Set(width, b_.Index(4 * run));
      });
    });
    // A comparison costs a few ns; log2 of the length is at most 40 and about 10.
    return scope_.Finish(graph_rows_, rows_, Work(graph_rows_ * graph_length_, 40),
                         "a row a task, merge sort");
  }

 private:
  // Merges neighbouring runs of `run` positions, of `from` at `from_begin`, into `to`.
  void Pass(Dim run, int from, Dim from_begin, int to, Dim to_begin) {
    b_.For("pair", 0, CeilDiv(length_, 2 * run), 1, [&](Dim pair) {
      const Dim begin = pair * 2 * run;
      const Dim middle = Min(begin + run, length_), end = Min(begin + 2 * run, length_);
      const int left = b_.Var(b_.Index(begin)), right = b_.Var(b_.Index(middle));
      const Reg last = b_.Index(length_ - 1);
      b_.For("k", begin, end, 1, [&](Dim k) {
        const Reg i = b_.Get(left), j = b_.Get(right);
        // Where a run has no element left, any position will do.
        const Dim at_i = b_.Bind("i", b_.Bin(KOp::kMin, i, last));
        const Dim at_j = b_.Bind("j", b_.Bin(KOp::kMin, j, last));
        const Reg x = b_.Load(from, from_begin + at_i), y = b_.Load(from, from_begin + at_j);
        const Reg comes_first = Before(Element(y), Element(x));
        const Reg left_is_over = b_.Bin(KOp::kGe, i, b_.Index(middle));
        const Reg right_is_over = b_.Bin(KOp::kGe, j, b_.Index(end));
        const Reg take_right = b_.Bin(KOp::kAnd, b_.Un(KOp::kNot, right_is_over),
                                      b_.Bin(KOp::kOr, left_is_over, comes_first));
        b_.Store(to, to_begin + k, b_.Select(take_right, y, x));
        const Reg one = b_.Int({i64, 1}, 1), zero = b_.Int({i64, 1}, 0);
        b_.Set(left, b_.Bin(KOp::kAdd, i, b_.Select(take_right, zero, one)));
        b_.Set(right, b_.Bin(KOp::kAdd, j, b_.Select(take_right, one, zero)));
      });
    });
  }

  Reg Element(Reg position) { return b_.Load(in_, first_ + b_.Bind("p", position)); }

  // Whether x must come before y: they differ, in this order. NaN is the greatest.
  Reg Before(Reg x, Reg y) {
    if (node_.attrs.descending) std::swap(x, y);
    const Reg less = b_.Bin(KOp::kLt, x, y);
    if (!IsFloat(b_.type(x).dtype)) return less;
    return b_.Bin(KOp::kOr, less,
                  b_.Bin(KOp::kAnd, b_.Bin(KOp::kNe, y, y), b_.Bin(KOp::kEq, x, x)));
  }

  const Node& node_;
  KernelScope scope_;
  KernelBuilder& b_;
  Dim graph_rows_, graph_length_, rows_, length_, first_;
  int in_ = -1, out_ = -1, scratch_ = -1;
};

}  // namespace

LoweredKernel LowerArgsort(const LowerContext& c, const Group& group) {
  return Argsort(c, group).Run();
}

}  // namespace lathe::compiler
