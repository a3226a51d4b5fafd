#pragma once
// What the mapping of one ONNX operator (ops_*.cc) sees of its node: inputs, attributes, and the
// current graph to append to. Nothing is returned on the way: the first fault is kept, and all that
// follows does nothing, so a mapping reads like the operator's formula.
//
//   void Softsign(NodeContext& c) { V x = c.In(0); c.Out(0, x / (1.0 + Abs(x))); }
//
// A mapping may run more than once: when it asks for a size that only data gives, the graph is cut
// there (scope.h) and the mapping starts again in the next graph. What must not be computed again
// is kept by Keep.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/onnx/model.h"
#include "compiler/onnx/scope.h"
#include "ir/op.h"

namespace lathe::onnx {

class Importer;
class NodeContext;

// A value of the current graph; poisoned after a fault.
struct V {
  NodeContext* c = nullptr;
  ir::ValueId id = ir::kNoValue;
  bool ok() const { return id != ir::kNoValue; }
  ir::ValueType type() const;  // f32[] if poisoned
  DType dtype() const { return type().dtype; }
  Shape shape() const { return type().shape; }
  int rank() const { return type().rank(); }
  Dim dim(int axis) const;  // a fault and 1 if there is no such axis
};

class NodeContext {
 public:
  NodeContext(Importer& importer, Scope& scope, const NodeDef& node, int64_t opset)
      : importer_(importer), scope_(&scope), node_(node), opset_(opset) {}

  // -- the node
  const NodeDef& node() const { return node_; }
  int64_t opset() const { return opset_; }  // version of the node's domain
  Importer& importer() { return importer_; }
  Scope& scope() { return *scope_; }
  ir::Graph& graph() { return scope_->graph(); }
  ir::Builder& builder() { return scope_->builder(); }
  int num_inputs() const { return static_cast<int>(node_.inputs.size()); }
  int num_outputs() const { return static_cast<int>(node_.outputs.size()); }
  bool Has(int input) const;  // given, and not by an empty name or as an empty optional
  bool WantsOutput(int output) const;
  Val InVal(int input);
  Val InTensor(int input);          // a fault, and nothing, if it isn't a tensor
  ir::ValueType TypeOf(int input);  // a fault, and f32[], if it isn't a tensor
  V In(int input);                  // a fault if it isn't a tensor
  V InOr(int input, const std::function<V()>& otherwise);
  std::vector<V> InAll(int first = 0);

  // -- attributes; the default where there is none, a fault where the kind is another
  bool HasAttr(const std::string& name) const { return Find(name) != nullptr; }
  int64_t Int(const std::string& name, int64_t otherwise = 0);
  double Float(const std::string& name, double otherwise = 0);
  std::string Str(const std::string& name, const std::string& otherwise = "");
  std::vector<int64_t> Ints(const std::string& name);
  // The same for numbers that sizes are computed from: a fault if one is beyond +-ir::kMaxDim. A
  // few of them can be added and subtracted; products are made as Dims, which see an overflow.
  int64_t SizeInt(const std::string& name, int64_t otherwise = 0);
  std::vector<int64_t> SizeInts(const std::string& name);
  bool IsSize(const std::string& name, Dim entry);  // a fault if it is a number beyond that
  // The element type that the number stands for; a fault and f32 if it stands for none.
  DType DTypeAttr(const std::string& name, int64_t otherwise = 0);
  std::vector<float> Floats(const std::string& name);
  const Attribute* Find(const std::string& name) const;

  // -- structure from inputs: ask before computing anything
  // The integers of an input that must be known while importing: a constant, or an input of the
  // model whose content the options give. A fault names the input that would have to be fixed.
  std::optional<std::vector<int64_t>> Constants(int input);
  std::optional<Tensor> ConstantTensor(int input);
  // The integers of an input as sizes; from data if need be. Where contents of inputs are given,
  // those with an element below `least` are constants: they mean more than a size.
  std::optional<std::vector<Dim>> Dims(int input, int64_t least = 0);
  // As an attribute of older opsets or an input of newer ones.
  std::vector<int64_t> IntsOrInput(const std::string& attribute, int input);
  // `axis` in 0..rank-1; otherwise a fault and 0, which a scalar doesn't have either.
  int Axis(int64_t axis, int rank);
  std::vector<int> Axes(std::vector<int64_t> axes, int rank);

  // -- values that outlive a restart
  Val Keep(const std::string& key, const std::function<V()>& compute);
  // The integers of `compute()`, i64 of static shape, as symbols with upper bounds: from data.
  std::vector<Dim> SizesFromData(const std::string& key, const std::function<V()>& compute,
                                 const std::vector<Dim>& bounds);
  V Use(const Val& v);

  // -- results
  void Out(int output, V v);
  void OutVal(int output, Val v);
  const std::map<int, Val>& outputs() const { return outputs_; }

  // -- faults
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status);
  void Fail(const std::string& message);         // InvalidArgument
  void Unsupported(const std::string& message);  // Unimplemented
  // Whether a constant of rows * columns elements may be made; a fault if it is beyond
  // OnnxOptions::max_folded_bytes. Ask before allocating what attributes ask for.
  bool MayMake(int64_t rows, int64_t columns, DType type);
  // A cut was asked for: `pending` is the value whose integers become symbols in the next graph.
  struct Pending {
    std::string key;
    Val value;
    std::vector<Dim> bounds;
  };
  std::optional<Pending>& pending() { return pending_; }
  void Restart();  // after the cut
  std::map<std::string, std::vector<Dim>>& sizes() { return sizes_; }

  // -- emission
  V Wrap(absl::StatusOr<ir::ValueId> id);
  V Create(ir::Op op, const std::vector<V>& operands, ir::Attrs attrs = {});
  V Constant(Tensor t) { return Wrap(ok() ? builder().Constant(std::move(t)) : status_); }
  V Scalar(DType dtype, double value);
  V ScalarInt(DType dtype, int64_t value);
  V I64(const std::vector<int64_t>& values);  // rank 1
  V FromDims(const std::vector<Dim>& dims);   // i64, rank 1
  V SizeOf(Dim d, DType dtype = i64);         // rank 0
  V Iota(const Shape& shape, int axis, DType dtype = i64);
  V Fill(const Shape& shape, DType dtype, double value);
  bool Known(const Claim& claim);
  // The sizes must satisfy it, by the facts or by a check at the call's entry.
  void Require(const Claim& claim, const std::string& why);

 private:
  std::optional<std::vector<Dim>> DimsOf(const Val& v, const std::string& key, int64_t least);

  Importer& importer_;
  Scope* scope_;
  const NodeDef& node_;
  int64_t opset_;
  absl::Status status_;
  std::map<int, Val> outputs_;
  std::map<std::string, Val> kept_;
  std::map<std::string, std::vector<Dim>> sizes_;
  std::optional<Pending> pending_;
};

// -- the vocabulary of mappings; shapes broadcast as in numpy
V operator+(V a, V b);
V operator-(V a, V b);
V operator*(V a, V b);
V operator/(V a, V b);
V operator-(V a);
V operator+(V a, double b);
V operator-(V a, double b);
V operator*(V a, double b);
V operator/(V a, double b);
V operator+(double a, V b);
V operator-(double a, V b);
V operator*(double a, V b);
V operator/(double a, V b);
V Un(ir::Op op, V x);
V Bin(ir::Op op, V a, V b);
V Bin(ir::Op op, V a, double b);
inline V Exp(V x) { return Un(ir::Op::k_exp, x); }
inline V Log(V x) { return Un(ir::Op::k_log, x); }
inline V Abs(V x) { return Un(ir::Op::k_abs, x); }
inline V Sqrt(V x) { return Un(ir::Op::k_sqrt, x); }
inline V Tanh(V x) { return Un(ir::Op::k_tanh, x); }
inline V Sigmoid(V x) { return Un(ir::Op::k_sigmoid, x); }
inline V Maximum(V a, V b) { return Bin(ir::Op::k_maximum, a, b); }
inline V Minimum(V a, V b) { return Bin(ir::Op::k_minimum, a, b); }
V Select(V condition, V a, V b);
V Cast(V x, DType to);
V ReshapeTo(V x, const Shape& shape);
V Permute(V x, const std::vector<int>& axes);
V ChannelsLast(V x);   // [n, c, ..] -> [n, .., c]
V ChannelsFirst(V x);  // and back
V Broadcast(V x, const Shape& shape);
V Unsqueeze(V x, const std::vector<int>& axes);  // ascending, of the result
V Squeeze(V x, const std::vector<int>& axes);
V Concat(const std::vector<V>& xs, int axis);
V SliceAxis(V x, int axis, Dim start, Dim limit, int64_t step = 1);  // numpy's rules
V PadBy(V x, const std::vector<Dim>& low, const std::vector<Dim>& high, double value = 0);
V Gather(V data, V indices, int axis);
// `value`: what max and min give where there is no element (none: such a call fails).
V Reduce(ir::Op op, V x, const std::vector<int>& axes, bool keep,
         std::optional<double> value = std::nullopt);
V MatMul(V a, V b);
V Softmax(V x, int axis);
V Transpose2(V x);  // the last two axes
V Reversed(V x, int axis);
V Clamp(V x, double low, double high);
V PerChannel(V v, int rank);  // [c] beside [n, c, ..] of that rank; a scalar as it is
// The type that values of type `t` are computed in: f32 for shorter floats.
DType ComputeType(DType t);
Dim Product(const Shape& shape, int begin, int end);

// -- the table of operators
using Mapper = std::function<void(NodeContext& c)>;
struct Mapping {
  std::string_view domain, op_type;
  Mapper map;
};
// Null if there is none.
const Mapper* FindMapper(std::string_view domain, std::string_view op_type);
// One list a family; mapping.cc joins them.
std::vector<Mapping> ElementwiseMappings();
std::vector<Mapping> ShapeMappings();
std::vector<Mapping> ReduceMappings();
std::vector<Mapping> ProductMappings();
std::vector<Mapping> NormMappings();
std::vector<Mapping> ControlMappings();
std::vector<Mapping> AttentionMappings();
std::vector<Mapping> ResizeMappings();
std::vector<Mapping> WindowMappings();
std::vector<Mapping> DeformMappings();
std::vector<Mapping> QuantMappings();
std::vector<Mapping> QLinearMappings();
std::vector<Mapping> IndexMappings();
std::vector<Mapping> RecurrentMappings();
std::vector<Mapping> LossMappings();
std::vector<Mapping> SequenceMappings();
std::vector<Mapping> SignalMappings();
std::vector<Mapping> RegionMappings();
std::vector<Mapping> ImageMappings();
std::vector<Mapping> TreeMappings();
std::vector<Mapping> MlMappings();
std::vector<Mapping> RandomMappings();
std::vector<Mapping> MicrosoftAttentionMappings();

}  // namespace lathe::onnx
