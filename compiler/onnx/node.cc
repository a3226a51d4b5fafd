#include "compiler/onnx/node.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/onnx/importer.h"
#include "ir/element_dims.h"
#include "ir/shape_rules.h"

namespace lathe::onnx {

using ir::kNoValue;
using ir::ValueId;

namespace {

std::string KindName(Attribute::Kind kind) {
  switch (kind) {
    case Attribute::Kind::kFloat:
      return "a float";
    case Attribute::Kind::kInt:
      return "an int";
    case Attribute::Kind::kString:
      return "a string";
    case Attribute::Kind::kFloats:
      return "floats";
    case Attribute::Kind::kInts:
      return "ints";
    default:
      return absl::StrCat("of kind ", static_cast<int>(kind));
  }
}

}  // namespace

ir::ValueType V::type() const {
  return ok() ? c->graph().type(id) : ir::ValueType{DType::kF32, {}};
}

Dim V::dim(int axis) const {
  const ir::ValueType t = type();
  if (axis >= 0 && axis < t.rank()) return t.shape[static_cast<size_t>(axis)];
  if (c != nullptr) c->Fail(absl::StrCat("axis ", axis, " of ", t.ToString(), " is missing"));
  return 1;
}

void NodeContext::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
}
void NodeContext::Fail(const std::string& message) { Fail(absl::InvalidArgumentError(message)); }
void NodeContext::Unsupported(const std::string& message) {
  Fail(absl::UnimplementedError(message));
}

bool NodeContext::MayMake(int64_t rows, int64_t columns, DType type) {
  const int64_t most = importer_.options().max_folded_bytes;
  int64_t bytes = 0;
  if (!__builtin_mul_overflow(rows, columns, &bytes) &&
      !__builtin_mul_overflow(bytes, lathe::SizeOf(type), &bytes) && bytes <= most)
    return true;
  Fail(absl::ResourceExhaustedError(
      absl::StrCat("the attributes make a table of ", rows, " by ", columns, " elements of type ",
                   Name(type), ", more than max_folded_bytes = ", most, " bytes")));
  return false;
}

void NodeContext::Restart() {
  status_ = absl::OkStatus();
  outputs_.clear();
  pending_.reset();
}

// -- inputs and attributes

Val NodeContext::InVal(int input) {
  if (input >= num_inputs() || node_.inputs[static_cast<size_t>(input)].empty()) return Val();
  return importer_.Lookup(node_.inputs[static_cast<size_t>(input)]);
}

bool NodeContext::Has(int input) const {
  if (input >= num_inputs() || node_.inputs[static_cast<size_t>(input)].empty()) return false;
  return importer_.Lookup(node_.inputs[static_cast<size_t>(input)]).present();
}

bool NodeContext::WantsOutput(int output) const {
  return output < num_outputs() && !node_.outputs[static_cast<size_t>(output)].empty();
}

V NodeContext::Use(const Val& v) {
  if (!ok()) return {this};
  return Wrap(scope_->Use(v));
}

Val NodeContext::InTensor(int input) {
  const Val v = InVal(input);
  if (v.kind == Val::Kind::kTensor) return v;
  Fail(absl::StrCat("input ", input,
                    v.present() ? " is a sequence; wanted a tensor" : " is missing"));
  return Val();
}

ir::ValueType NodeContext::TypeOf(int input) {
  const Val v = InTensor(input);
  return v.present() ? scope_->TypeOf(v) : ir::ValueType{DType::kF32, {}};
}

V NodeContext::In(int input) {
  if (!ok()) return {this};
  const Val v = InTensor(input);
  return v.present() ? Use(v) : V{this};
}

V NodeContext::InOr(int input, const std::function<V()>& otherwise) {
  return Has(input) ? In(input) : otherwise();
}

std::vector<V> NodeContext::InAll(int first) {
  std::vector<V> all;
  for (int i = first; i < num_inputs(); ++i) all.push_back(In(i));
  return all;
}

const Attribute* NodeContext::Find(const std::string& name) const {
  const Attribute* a = node_.Find(name);
  if (a == nullptr || a->ref_attr_name.empty()) return a;
  return importer_.AttributeOfCall(a->ref_attr_name);
}

int64_t NodeContext::Int(const std::string& name, int64_t otherwise) {
  const Attribute* a = Find(name);
  if (a == nullptr) return otherwise;
  if (a->kind != Attribute::Kind::kInt)
    Fail(absl::StrCat("attribute ", name, " is ", KindName(a->kind), "; wanted an int"));
  return a->i;
}

double NodeContext::Float(const std::string& name, double otherwise) {
  const Attribute* a = Find(name);
  if (a == nullptr) return otherwise;
  if (a->kind != Attribute::Kind::kFloat)
    Fail(absl::StrCat("attribute ", name, " is ", KindName(a->kind), "; wanted a float"));
  return static_cast<double>(a->f);
}

std::string NodeContext::Str(const std::string& name, const std::string& otherwise) {
  const Attribute* a = Find(name);
  if (a == nullptr) return otherwise;
  if (a->kind != Attribute::Kind::kString)
    Fail(absl::StrCat("attribute ", name, " is ", KindName(a->kind), "; wanted a string"));
  return a->s;
}

std::vector<int64_t> NodeContext::Ints(const std::string& name) {
  const Attribute* a = Find(name);
  if (a == nullptr) return {};
  if (a->kind != Attribute::Kind::kInts && !(a->ints.empty() && a->floats.empty()))
    Fail(absl::StrCat("attribute ", name, " is ", KindName(a->kind), "; wanted ints"));
  return a->ints;
}

bool NodeContext::IsSize(const std::string& name, Dim entry) {
  if (!entry.is_constant() || (entry.constant() >= -ir::kMaxDim && entry.constant() <= ir::kMaxDim))
    return true;
  Fail(absl::StrCat(name, " has the number ", entry.constant(), "; wanted ", ir::kMaxDim,
                    " or less in magnitude"));
  return false;
}

int64_t NodeContext::SizeInt(const std::string& name, int64_t otherwise) {
  const int64_t number = Int(name, otherwise);
  return IsSize(name, number) ? number : otherwise;
}

std::vector<int64_t> NodeContext::SizeInts(const std::string& name) {
  std::vector<int64_t> numbers = Ints(name);
  for (int64_t& n : numbers)
    if (!IsSize(name, n)) n = 1;
  return numbers;
}

DType NodeContext::DTypeAttr(const std::string& name, int64_t otherwise) {
  const int64_t number = Int(name, otherwise);
  const auto narrow = static_cast<int32_t>(number);
  absl::StatusOr<DType> type = absl::InvalidArgumentError(
      absl::StrCat("attribute ", name, " is ", number, ", which is no element type"));
  if (narrow == number) type = ToDType(narrow);
  if (!type.ok()) Fail(type.status());
  return type.ok() ? *type : f32;
}

std::vector<float> NodeContext::Floats(const std::string& name) {
  const Attribute* a = Find(name);
  return a == nullptr ? std::vector<float>() : a->floats;
}

// -- structure

std::optional<Tensor> NodeContext::ConstantTensor(int input) {
  if (!ok()) return std::nullopt;
  const Val v = InVal(input);
  if (v.kind != Val::Kind::kTensor) {
    Fail(absl::StrCat("input ", input, " is missing"));
    return std::nullopt;
  }
  absl::StatusOr<std::optional<Tensor>> t = importer_.Content(v);
  if (!t.ok()) {
    Fail(t.status());
    return std::nullopt;
  }
  if (!t->has_value()) {
    Unsupported(absl::StrCat(
        "input ", input, " ('", node_.inputs[static_cast<size_t>(input)],
        "') decides what is computed, so its content must be known when the model is loaded; "
        "give it as a constant, or as the content of the model's input"));
    return std::nullopt;
  }
  return **t;
}

std::optional<std::vector<int64_t>> NodeContext::Constants(int input) {
  if (!ok()) return std::nullopt;
  const Val v = InVal(input);
  if (v.kind == Val::Kind::kTensor && !v.constant) {
    if (const auto dims = importer_.SizesOf(v)) {
      std::vector<int64_t> numbers;
      for (Dim d : *dims)
        if (d.is_constant()) numbers.push_back(d.constant());
      if (numbers.size() == dims->size()) return numbers;
    }
  }
  const std::optional<Tensor> t = ConstantTensor(input);
  if (!t) return std::nullopt;
  absl::StatusOr<std::vector<int64_t>> numbers = Integers(*t);
  if (!numbers.ok()) {
    Fail(absl::StrCat("input ", input, ": ", std::string(numbers.status().message())));
    return std::nullopt;
  }
  return *std::move(numbers);
}

std::optional<std::vector<Dim>> NodeContext::DimsOf(const Val& v, const std::string& key,
                                                    int64_t least) {
  if (!ok()) return std::nullopt;
  const auto found = sizes_.find(key);
  if (found != sizes_.end()) return found->second;
  absl::StatusOr<std::optional<std::vector<Dim>>> dims = importer_.Dims(v, least);
  if (!dims.ok()) {
    Fail(dims.status());
    return std::nullopt;
  }
  if (dims->has_value()) return **dims;
  pending_ = Pending{key, v, {}};
  Fail(absl::InternalError("the graph has to be cut"));
  return std::nullopt;
}

std::optional<std::vector<Dim>> NodeContext::Dims(int input, int64_t least) {
  if (!ok()) return std::nullopt;
  const Val v = InVal(input);
  if (v.kind != Val::Kind::kTensor) {
    Fail(absl::StrCat("input ", input, " is missing"));
    return std::nullopt;
  }
  return DimsOf(v, absl::StrCat("input", input), least);
}

std::vector<int64_t> NodeContext::IntsOrInput(const std::string& attribute, int input) {
  if (HasAttr(attribute)) return Ints(attribute);
  if (!Has(input)) return {};
  return Constants(input).value_or(std::vector<int64_t>());
}

int NodeContext::Axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    Fail(absl::StrCat("axis ", axis, " of a tensor of rank ", rank));
    return 0;
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<int> NodeContext::Axes(std::vector<int64_t> axes, int rank) {
  std::vector<int> result;
  for (int64_t a : axes) result.push_back(Axis(a, rank));
  std::sort(result.begin(), result.end());
  for (size_t i = 1; i < result.size(); ++i)
    if (result[i] == result[i - 1]) Fail(absl::StrCat("axis ", result[i], " stands twice"));
  return result;
}

Val NodeContext::Keep(const std::string& key, const std::function<V()>& compute) {
  const auto found = kept_.find(key);
  if (found != kept_.end()) return found->second;
  const V v = compute();
  if (!ok() || !v.ok()) return Val();
  return kept_[key] = scope_->Here(v.id);
}

std::vector<Dim> NodeContext::SizesFromData(const std::string& key,
                                            const std::function<V()>& compute,
                                            const std::vector<Dim>& bounds) {
  const auto found = sizes_.find(key);
  if (found != sizes_.end()) return found->second;
  const V v = compute();
  if (!ok()) return std::vector<Dim>(bounds.size());
  const Val here = scope_->Here(v.id);
  if (const auto dims = importer_.SizesOf(here)) return *dims;
  pending_ = Pending{key, here, bounds};
  Fail(absl::InternalError("the graph has to be cut"));
  return std::vector<Dim>(bounds.size());
}

// -- results

void NodeContext::OutVal(int output, Val v) {
  if (ok() && WantsOutput(output)) outputs_[output] = std::move(v);
}
void NodeContext::Out(int output, V v) {
  if (ok() && v.ok()) OutVal(output, scope_->Here(v.id));
}

// -- emission

V NodeContext::Wrap(absl::StatusOr<ValueId> id) {
  if (ok() && id.ok()) return {this, *id};
  if (!id.ok()) Fail(id.status());
  return {this};
}

V NodeContext::Create(ir::Op op, const std::vector<V>& operands, ir::Attrs attrs) {
  std::vector<ValueId> ids;
  for (const V& v : operands) ids.push_back(v.id);
  for (ValueId id : ids)
    if (id == kNoValue) return {this};
  if (!ok()) return {this};
  return Wrap(builder().Create(op, std::move(ids), std::move(attrs)));
}

V NodeContext::Scalar(DType dtype, double value) {
  if (!ok()) return {this};
  return Wrap(builder().ScalarConstant(dtype, value));
}
V NodeContext::ScalarInt(DType dtype, int64_t value) {
  if (!ok()) return {this};
  return Wrap(builder().IntConstant(dtype, value));
}
V NodeContext::I64(const std::vector<int64_t>& values) {
  return Constant(Tensor::FromVector<int64_t>({static_cast<int64_t>(values.size())}, values));
}

V NodeContext::SizeOf(Dim d, DType dtype) {
  if (d.is_constant()) return ScalarInt(dtype, d.constant());
  ir::Attrs attrs;
  attrs.dim = d;
  return Cast(Create(ir::Op::k_size, {}, std::move(attrs)), dtype);
}

V NodeContext::FromDims(const std::vector<Dim>& dims) {
  if (std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_constant(); })) {
    std::vector<int64_t> values;
    for (Dim d : dims) values.push_back(d.constant());
    return I64(values);
  }
  std::vector<V> parts;
  for (Dim d : dims) parts.push_back(ReshapeTo(SizeOf(d), {1}));
  return Concat(parts, 0);
}

V NodeContext::Iota(const Shape& shape, int axis, DType dtype) {
  ir::Attrs attrs;
  attrs.shape = shape;
  attrs.axis = axis;
  attrs.dtype = dtype;
  return Create(ir::Op::k_iota, {}, std::move(attrs));
}

V NodeContext::Fill(const Shape& shape, DType dtype, double value) {
  return Broadcast(Scalar(dtype, value), shape);
}

bool NodeContext::Known(const Claim& claim) {
  return claim.lhs.ok() && claim.rhs.ok() &&
         graph().facts().Prove(claim, true).verdict == dim::Verdict::kProved;
}

void NodeContext::Require(const Claim& claim, const std::string& why) {
  if (!ok() || Known(claim)) return;
  absl::StatusOr<dim::FactId> added =
      graph().facts().Add(claim, dim::Standing::kRequired, {why, importer_.Where(node_)});
  if (!added.ok())
    Fail(absl::Status(added.status().code(),
                      absl::StrCat(why, ": ", std::string(added.status().message()))));
}

// -- vocabulary

namespace {

bool Usable(V a) { return a.c != nullptr && a.c->ok() && a.ok(); }

}  // namespace

V Un(ir::Op op, V x) {
  if (!Usable(x)) return {x.c};
  return x.c->Wrap(x.c->builder().Create(op, {x.id}));
}
V Bin(ir::Op op, V a, V b) {
  if (!Usable(a) || !Usable(b)) return {a.c};
  return a.c->Wrap(a.c->builder().Elementwise(op, {a.id, b.id}));
}
V Bin(ir::Op op, V a, double b) {
  if (!Usable(a)) return {a.c};
  return Bin(op, a, a.c->Scalar(a.dtype(), b));
}
V operator+(V a, V b) { return Bin(ir::Op::k_add, a, b); }
V operator-(V a, V b) { return Bin(ir::Op::k_sub, a, b); }
V operator*(V a, V b) { return Bin(ir::Op::k_mul, a, b); }
V operator/(V a, V b) { return Bin(ir::Op::k_div, a, b); }
V operator-(V a) { return Un(ir::Op::k_neg, a); }
V operator+(V a, double b) { return Bin(ir::Op::k_add, a, b); }
V operator-(V a, double b) { return Bin(ir::Op::k_sub, a, b); }
V operator*(V a, double b) { return Bin(ir::Op::k_mul, a, b); }
V operator/(V a, double b) { return Bin(ir::Op::k_div, a, b); }
V operator+(double a, V b) { return b + a; }
V operator-(double a, V b) { return Usable(b) ? b.c->Scalar(b.dtype(), a) - b : V{b.c}; }
V operator*(double a, V b) { return b * a; }
V operator/(double a, V b) { return Usable(b) ? b.c->Scalar(b.dtype(), a) / b : V{b.c}; }
V Select(V condition, V a, V b) {
  if (!Usable(condition) || !Usable(a) || !Usable(b)) return {condition.c};
  return a.c->Wrap(a.c->builder().Elementwise(ir::Op::k_select, {condition.id, a.id, b.id}));
}
V Cast(V x, DType to) {
  if (!Usable(x) || x.dtype() == to) return x;
  ir::Attrs attrs;
  attrs.dtype = to;
  return x.c->Create(ir::Op::k_cast, {x}, std::move(attrs));
}
V ReshapeTo(V x, const Shape& shape) {
  if (!Usable(x)) return x;
  return x.c->Wrap(x.c->builder().Reshape(x.id, shape));
}
V Permute(V x, const std::vector<int>& axes) {
  if (!Usable(x)) return x;
  ir::Attrs attrs;
  bool same = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    attrs.axes.push_back(axes[i]);
    same = same && axes[i] == static_cast<int>(i);
  }
  return same ? x : x.c->Create(ir::Op::k_permute, {x}, std::move(attrs));
}
V ChannelsLast(V x) {
  std::vector<int> order = {0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  order.push_back(1);
  return Permute(x, order);
}

V ChannelsFirst(V x) {
  std::vector<int> order = {0, x.rank() - 1};
  for (int i = 1; i + 1 < x.rank(); ++i) order.push_back(i);
  return Permute(x, order);
}

V Broadcast(V x, const Shape& shape) {
  if (!Usable(x)) return x;
  return x.c->Wrap(x.c->builder().BroadcastTo(x.id, shape));
}
V Unsqueeze(V x, const std::vector<int>& axes) {
  if (!Usable(x)) return x;
  Shape shape = x.shape();
  for (int a : axes) {
    if (a < 0 || a > static_cast<int>(shape.size())) {
      x.c->Fail(absl::StrCat("axis ", a, " can't be inserted"));
      return {x.c};
    }
    shape.insert(shape.begin() + a, Dim(1));
  }
  return ReshapeTo(x, shape);
}
V Squeeze(V x, const std::vector<int>& axes) {
  if (!Usable(x)) return x;
  Shape shape;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
      shape.push_back(x.dim(i));
    } else {
      x.c->Require(Eq(x.dim(i), 1),
                   absl::StrCat("axis ", i, " of ", x.type().ToString(), " is squeezed"));
    }
  }
  return ReshapeTo(x, shape);
}
V Concat(const std::vector<V>& xs, int axis) {
  if (xs.size() == 1) return xs[0];
  ir::Attrs attrs;
  attrs.axis = axis;
  return xs[0].c->Create(ir::Op::k_concat, xs, std::move(attrs));
}
V SliceAxis(V x, int axis, Dim start, Dim limit, int64_t step) {
  if (!Usable(x)) return x;
  return x.c->Wrap(x.c->builder().Slice(x.id, axis, start, limit, step));
}
V PadBy(V x, const std::vector<Dim>& low, const std::vector<Dim>& high, double value) {
  if (!Usable(x)) return x;
  ir::Attrs attrs;
  attrs.low = low;
  attrs.high = high;
  attrs.value = value;
  bool none = true;
  for (Dim d : low) none = none && d == Dim(0);
  for (Dim d : high) none = none && d == Dim(0);
  return none ? x : x.c->Create(ir::Op::k_pad, {x}, std::move(attrs));
}
V Gather(V data, V indices, int axis) {
  if (!Usable(data)) return data;
  ir::Attrs attrs;
  attrs.axis = axis;
  return data.c->Create(ir::Op::k_gather, {data, indices}, std::move(attrs));
}
V Reduce(ir::Op op, V x, const std::vector<int>& axes, bool keep, std::optional<double> value) {
  if (!Usable(x) || axes.empty()) return x;
  ir::Attrs attrs;
  for (int a : axes) attrs.axes.push_back(a);
  attrs.keep_dims = keep;
  attrs.value = value;
  return x.c->Create(op, {x}, std::move(attrs));
}
V MatMul(V a, V b) {
  if (!Usable(a) || !Usable(b)) return {a.c};
  return a.c->Wrap(a.c->builder().MatMul(a.id, b.id));
}
V Softmax(V x, int axis) {
  ir::Attrs attrs;
  attrs.axis = axis;
  return x.c->Create(ir::Op::k_softmax, {x}, std::move(attrs));
}
V Transpose2(V x) {
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (axes.size() >= 2) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return Permute(x, axes);
}
V Reversed(V x, int axis) {
  constexpr int64_t kFar = int64_t{1} << 41;  // beyond every extent
  return SliceAxis(x, axis, -1, -kFar, -1);
}
V Clamp(V x, double low, double high) {
  return Bin(ir::Op::k_minimum, Bin(ir::Op::k_maximum, x, low), high);
}
V PerChannel(V v, int rank) {
  if (!Usable(v) || v.rank() == 0) return v;
  if (rank < 2) {
    v.c->Require(Eq(v.dim(0), 1), "a tensor without an axis of channels has one channel");
    return ReshapeTo(v, {});
  }
  Shape shape(static_cast<size_t>(rank), 1);
  shape[1] = v.dim(0);
  return ReshapeTo(v, shape);
}
DType ComputeType(DType t) { return SizeOf(t) < 4 ? f32 : t; }
Dim Product(const Shape& shape, int begin, int end) {
  const auto first = static_cast<size_t>(begin),
             count = static_cast<size_t>(std::max(end - begin, 0));
  return ir::Volume(absl::Span<const Dim>(shape).subspan(first, count));
}

}  // namespace lathe::onnx
