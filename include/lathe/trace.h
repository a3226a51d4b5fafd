#pragma once
// The tracing DSL: a program is written as C++ expressions over Values with symbolic sizes.
//
//   lathe::Trace t("classifier");
//   lathe::Dim batch = t.dim("batch", "1..64"), seq = t.dim("seq", "1..8192, % 8 == 0");
//   lathe::Value x = t.input("x", lathe::f32, {batch, seq, 768});
//   lathe::Value y = softmax(matmul(x, t.constant(w)) + t.constant(b), -1);
//   absl::StatusOr<lathe::Program> p = t.finish({y});
//
// Operators carry the caller's source line. An error poisons the value, and `finish` returns the
// first one. A Dim has no conversion to bool: use t.if_(seq > 10, then, otherwise). Elementwise
// operators broadcast as numpy does; dtypes are never promoted. One thread at a time.
#include <concepts>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lathe/dim.h"
#include "lathe/dtype.h"
#include "lathe/shape.h"
#include "lathe/tensor.h"

namespace lathe {

namespace ir {
class Graph;
struct Staged;
}  // namespace ir
class TraceState;

// A traced, parsed or imported program, ready to compile. Move-only owner of its graph, or of an
// imported one's stages if later sizes or steps depend on data. Once moved from or released it has
// neither: `compile` refuses it, and its text is empty.
class Program {
 public:
  explicit Program(std::unique_ptr<ir::Graph> graph);
  explicit Program(std::unique_ptr<ir::Staged> staged);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();
  // From the text form (docs/text_form.md).
  static absl::StatusOr<Program> parse(const std::string& text, const std::string& file = "");
  std::string to_string() const;
  bool is_staged() const { return staged_ != nullptr; }
  const ir::Graph& graph() const { return *graph_; }     // unless is_staged()
  const ir::Staged& staged() const { return *staged_; }  // if is_staged()
  std::unique_ptr<ir::Graph> release();
  std::unique_ptr<ir::Staged> release_staged();

 private:
  std::unique_ptr<ir::Graph> graph_;
  std::unique_ptr<ir::Staged> staged_;  // one of the two
};

using Loc = std::source_location;

class Value {
 public:
  Value() = default;
  bool ok() const;  // false once poisoned
  DType dtype() const;
  Shape shape() const;  // symbolic; empty when poisoned
  int rank() const { return static_cast<int>(shape().size()); }
  Dim dim(int axis) const;                // negative axes count from the end
  Value& named(const std::string& name);  // for printing and explain

 private:
  friend class TraceState;
  friend class Trace;
  TraceState* state_ = nullptr;
  uint32_t id_ = UINT32_MAX;
};

// A Value or a number, which becomes a scalar of the other operand's dtype.
struct Operand {
  Operand(const Value& v, Loc l = Loc::current()) : value(v), loc(l) {}  // NOLINT: implicit
  Operand(double n, Loc l = Loc::current()) : number(n), is_number(true), loc(l) {}  // NOLINT
  Value value;
  double number = 0;
  bool is_number = false;
  Loc loc;
};

Value operator+(Operand a, Operand b);
Value operator-(Operand a, Operand b);
Value operator*(Operand a, Operand b);
Value operator/(Operand a, Operand b);
Value operator-(Operand a);
Value rem(Operand a, Operand b), floordiv(Operand a, Operand b), mod(Operand a, Operand b);
Value pow(Operand a, Operand b), atan2(Operand y, Operand x);
Value maximum(Operand a, Operand b), minimum(Operand a, Operand b);
Value logical_and(Operand a, Operand b), logical_or(Operand a, Operand b), logical_not(Operand a);
Value logical_xor(Operand a, Operand b);
Value bit_and(Operand a, Operand b), bit_or(Operand a, Operand b), bit_xor(Operand a, Operand b);
Value bit_not(Operand a), shift_left(Operand a, Operand b), shift_right(Operand a, Operand b);
Value is_nan(Operand x), is_inf(Operand x);
Value equal(Operand a, Operand b), not_equal(Operand a, Operand b), less(Operand a, Operand b);
Value less_equal(Operand a, Operand b), greater(Operand a, Operand b),
    greater_equal(Operand a, Operand b);
Value select(Operand condition, Operand a, Operand b);
Value clamp(Operand x, Operand low, Operand high);  // min(max(x, low), high)
Value abs(Operand x), exp(Operand x), log(Operand x), sqrt(Operand x), rsqrt(Operand x);
Value exp2(Operand x), expm1(Operand x), log2(Operand x), log1p(Operand x);
Value tanh(Operand x), erf(Operand x), sin(Operand x), cos(Operand x), tan(Operand x);
Value asin(Operand x), acos(Operand x), atan(Operand x);
Value sinh(Operand x), cosh(Operand x), asinh(Operand x), acosh(Operand x), atanh(Operand x);
Value floor(Operand x), ceil(Operand x), round(Operand x), trunc(Operand x), sign(Operand x);
Value relu(Operand x), sigmoid(Operand x), silu(Operand x), gelu(Operand x);
Value cast(const Value& x, DType to, Loc loc = Loc::current());
// The bits of an element as another type of the same size; not bool, f16 or bf16.
Value bitcast(const Value& x, DType to, Loc loc = Loc::current());

// Views. `shape` may hold one -1 in reshape.
Value broadcast_to(const Value& x, const Shape& shape, Loc loc = Loc::current());
Value reshape(const Value& x, const Shape& shape, Loc loc = Loc::current());
Value permute(const Value& x, const std::vector<int>& axes, Loc loc = Loc::current());
Value slice(const Value& x, int axis, Dim start, Dim limit, int64_t step = 1,
            Loc loc = Loc::current());
Value pad(const Value& x, const std::vector<Dim>& low, const std::vector<Dim>& high,
          double value = 0, Loc loc = Loc::current());
// Windows over the last axes of x[.., d1, ..]: [.., o1, .., w1, ..] with the elements of each
// window behind its position; element (o, w) of an axis is x at o*stride - low + w*dilation, or
// `value` outside. Pooling reduces the window axes; a convolution multiplies them with its weights.
struct WindowOptions {
  std::vector<int64_t> strides, dilations;  // empty: all 1
  std::vector<Dim> low, high;               // padding, >= 0; empty: none
  double value = 0;
};
Value windows(const Value& x, const std::vector<Dim>& sizes, const WindowOptions& options = {},
              Loc loc = Loc::current());
Value concat(const std::vector<Value>& xs, int axis, Loc loc = Loc::current());
Value gather(const Value& data, const Value& indices, int axis, Loc loc = Loc::current());
// The same without a check: an index outside, negative ones included, gives 0.
Value gather_unchecked(const Value& data, const Value& indices, int axis, Loc loc = Loc::current());
// Indices (i32 or i64) into n elements, negative ones counted from the end; an error of the call if
// one is out of range.
Value check_index(const Value& indices, Dim n, Loc loc = Loc::current());
// data[n] with data[indices[i]] replaced by, or combined with, updates[i] in order; an index
// outside writes nothing. Indices are i64. reduction: "none" (the last wins), "add", "mul", "max",
// "min".
Value scatter(const Value& data, const Value& indices, const Value& updates,
              const std::string& reduction = "none", Loc loc = Loc::current());
// Positions (i64) along the last axis in the order of their elements; equal ones keep their order,
// NaN is the greatest.
Value argsort(const Value& x, bool descending = false, Loc loc = Loc::current());

struct PrefixOptions {
  bool exclusive = false;  // without the element itself
  bool reverse = false;    // from the end
};
// Sums and products of the elements up to each one, in their type.
Value cumsum(const Value& x, int axis, PrefixOptions options = {}, Loc loc = Loc::current());
Value cumprod(const Value& x, int axis, PrefixOptions options = {}, Loc loc = Loc::current());
Value embedding(const Value& table, const Value& ids, Loc loc = Loc::current());
std::vector<Value> split(const Value& x, int parts, int axis, Loc loc = Loc::current());

// Reductions; `axes` may be negative.
Value sum(const Value& x, const std::vector<int>& axes, bool keep_dims = false,
          Loc loc = Loc::current());
Value prod(const Value& x, const std::vector<int>& axes, bool keep_dims = false,
           Loc loc = Loc::current());
Value max(const Value& x, const std::vector<int>& axes, bool keep_dims = false,
          Loc loc = Loc::current());
Value min(const Value& x, const std::vector<int>& axes, bool keep_dims = false,
          Loc loc = Loc::current());
Value mean(const Value& x, const std::vector<int>& axes, bool keep_dims = false,
           Loc loc = Loc::current());
Value all(const Value& x, const std::vector<int>& axes, bool keep_dims = false,
          Loc loc = Loc::current());
Value any(const Value& x, const std::vector<int>& axes, bool keep_dims = false,
          Loc loc = Loc::current());
// `last`: of equal elements the last one, not the first.
Value argmax(const Value& x, int axis, bool keep_dims = false, bool last = false,
             Loc loc = Loc::current());
Value argmin(const Value& x, int axis, bool keep_dims = false, bool last = false,
             Loc loc = Loc::current());

// Products. matmul follows numpy's rules for ranks and batch dims.
Value matmul(const Value& a, const Value& b, Loc loc = Loc::current());
Value softmax(const Value& x, int axis, Loc loc = Loc::current());
Value layer_norm(const Value& x, const Value& gamma, const Value& beta, double epsilon = 1e-5,
                 Loc loc = Loc::current());
Value rms_norm(const Value& x, const Value& gamma, double epsilon = 1e-6, Loc loc = Loc::current());

struct AttentionOptions {
  double scale = 0;            // 0: 1 / sqrt(head dim)
  bool causal = false;         // aligned bottom-right: the last query sees every key
  bool empty_row_nan = false;  // NaN instead of 0 where nothing can be attended to
  Value mask;                  // optional: f32 added to the scores, or bool (true: visible)
};
// q [.., S, D], k [.., T, D], v [.., T, E] -> [.., S, E].
Value attention(const Value& q, const Value& k, const Value& v,
                const AttentionOptions& options = {}, Loc loc = Loc::current());

// -- sizes from data (docs/sizes_from_data.md)

// The dims of `x` as i64[rank].
Value shape_of(const Value& x, Loc loc = Loc::current());
// The elements of a small i32 or i64 value as dims: shape arithmetic from shape_of, constants and
// inputs. An input's elements become the sizes `name.0`, `name.1`, .. that a call reads from it.
Shape element_dims(const Value& v, Loc loc = Loc::current());
// Of a value with one element.
Dim element_dim(const Value& v, Loc loc = Loc::current());
// The target as a value, i32 or i64[rank]: its elements are sizes.
template <std::same_as<Value> V>
Value reshape(const Value& x, const V& target, Loc loc = Loc::current()) {
  return reshape(x, element_dims(target, loc), loc);
}
template <std::same_as<Value> V>
Value broadcast_to(const Value& x, const V& target, Loc loc = Loc::current()) {
  return broadcast_to(x, element_dims(target, loc), loc);
}

// A ragged dim: rows of different lengths, one behind the other without padding. Made by
// Trace::ragged. A value with it is packed, [total, ..], and whatever doesn't look along a row is
// written as on any dense value: elementwise ops, matmul, norms, softmax over a later axis.
class Ragged {
 public:
  Dim batch() const { return batch_; }               // rows
  Dim total() const { return total_; }               // elements of all rows together
  Dim max() const { return max_; }                   // of the longest row
  const Value& offsets() const { return offsets_; }  // [batch + 1]: where each row starts

 private:
  friend class Trace;
  Ragged(Dim batch, Dim total, Dim longest, Value offsets)
      : batch_(batch), total_(total), max_(longest), offsets_(offsets) {}
  Dim batch_, total_, max_;
  Value offsets_;
};

// Along each row of packed [total, ..]; the result is [batch, ..]. Over a row without elements the
// sum is 0, the mean NaN, the maximum `empty`.
Value sum(const Value& x, const Ragged& rows, Loc loc = Loc::current());
Value mean(const Value& x, const Ragged& rows, Loc loc = Loc::current());
Value max(const Value& x, const Ragged& rows, Loc loc = Loc::current());  // the type's least value
Value max(const Value& x, const Ragged& rows, double empty, Loc loc = Loc::current());
Value softmax(const Value& x, const Ragged& rows, Loc loc = Loc::current());
// [batch, ..] -> [total, ..]: each row's element for all of its positions.
Value spread(const Value& per_row, const Ragged& rows, Loc loc = Loc::current());
// [total, ..] -> [batch, max, ..], `value` behind the end of each row, and back from an axis 1 of
// max or more.
Value to_padded(const Value& x, const Ragged& rows, double value = 0, Loc loc = Loc::current());
Value to_ragged(const Value& x, const Ragged& rows, Loc loc = Loc::current());

class Trace {
 public:
  explicit Trace(const std::string& name);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // A symbol with facts: "1..64", ">= 1", "1..8192, % 8 == 0", "in {1, 2, 4}", "" or "?".
  Dim dim(const std::string& name, const std::string& facts = "", Loc loc = Loc::current());
  // A relation: "batch*seq <= 65536".
  void assume(const std::string& facts, Loc loc = Loc::current());
  void assume(const Claim& claim, Loc loc = Loc::current());
  Value input(const std::string& name, DType dtype, const Shape& shape, Loc loc = Loc::current());
  // From a spec: "f32[batch, seq<=8192, 768]", or "b, 2*s, _ where s % 8 == 0" (f32). Sizes are
  // static (768), unknown (? or _ or None), bounded (seq<=8192, 1..8192), divisible (seq % 64 ==
  // 0), of a set (batch in {1, 2, 4}) or expressions (2*s); claims may follow "where".
  Value input(const std::string& name, const std::string& spec, Loc loc = Loc::current());
  // Axes of which nothing is known get sizes named after the input and the axis: x_d1.
  Value input(const std::string& name, DType dtype, const PartialShape& shape,
              Loc loc = Loc::current());
  // A ragged dim. It makes the input `<name>.offsets`, dtype[batch + 1], which stands in the call
  // before the tensors traced after it; `bounds` are facts about the longest row: "<= 8192".
  Ragged ragged(const std::string& name, Dim batch, const std::string& bounds = "",
                DType dtype = i64, Loc loc = Loc::current());
  // A packed tensor, dtype[rows.total(), then..].
  Value input(const std::string& name, DType dtype, const Ragged& rows, const Shape& then,
              Loc loc = Loc::current());
  Value constant(const Tensor& t, Loc loc = Loc::current());  // shares the tensor's buffer
  Value scalar(DType dtype, double value, Loc loc = Loc::current());
  Value iota(const Shape& shape, int axis, DType dtype, Loc loc = Loc::current());
  Value size(Dim d, DType dtype = i64, Loc loc = Loc::current());  // a size as data, rank 0
  Value random(const Shape& shape, int64_t seed, const std::string& distribution = "normal",
               Loc loc = Loc::current());
  Value if_(const Claim& condition, const std::function<Value()>& then,
            const std::function<Value()>& otherwise, Loc loc = Loc::current());

  absl::Status status() const;  // the first error so far
  absl::StatusOr<Program> finish(const std::vector<Value>& outputs,
                                 const std::vector<std::string>& names = {});

 private:
  std::unique_ptr<TraceState> state_;
};

}  // namespace lathe
