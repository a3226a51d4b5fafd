#include "ir/builder.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/shape_rules.h"
#include "ir/visit_dtype.h"

namespace lathe::ir {
namespace {

bool IsWord(const std::string& name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (name.empty() || !is_letter(name[0])) return false;
  for (char c : name) {
    if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '.') return false;
  }
  return true;
}

absl::Status CheckName(const std::string& what, const std::string& name) {
  if (IsWord(name)) return absl::OkStatus();
  constexpr size_t kLongestShown = 64;
  return absl::InvalidArgumentError(
      absl::StrCat("'", name.substr(0, kLongestShown), "' is no name for an ", what,
                   "; wanted letters, digits, '_' and '.', not starting with a digit"));
}

template <typename T>
Tensor ScalarOf(DType dtype, T value) {
  return VisitDType(dtype, [&](auto type) {
    using To = decltype(type);
    if constexpr (std::is_same_v<To, bool>) {
      return Tensor::Scalar<bool>(value != 0);
    } else {
      return Tensor::Scalar<To>(static_cast<To>(value));
    }
  });
}

// "i8 (-128..127)"
std::string RangeText(DType dtype) {
  return VisitDType(dtype, [&](auto type) {
    using Limits = std::numeric_limits<decltype(type)>;
    return absl::StrCat(Name(dtype), " (", +Limits::min(), "..", +Limits::max(), ")");
  });
}

}  // namespace

InferContext Builder::Context(Node* n) {
  return {.graph = graph_, .node = n, .side = sides_.empty() ? nullptr : &sides_.back()};
}

Builder::Attempt::~Attempt() {
  if (kept_) return;
  b_.stack_.back()->nodes.resize(nodes_);
  if (b_.graph_->facts().facts().size() == facts_) return;
  b_.graph_->facts().KeepFirst(facts_);
  b_.checked_dims_.clear();  // some were known by what went
}

bool Builder::Names::Has(const std::string& name, size_t count,
                         absl::FunctionRef<const std::string&(size_t)> at) {
  if (std::exchange(is_first_, false)) {  // many builders make one input or output alone
    for (size_t i = 0; i < count; ++i)
      if (at(i) == name) return true;
    return false;
  }
  if (names_.size() != count || (count > 0 && at(count - 1) != last_)) {
    names_.clear();
    for (size_t i = 0; i < count; ++i) names_.insert(at(i));
    last_ = count > 0 ? at(count - 1) : "";
  }
  return names_.contains(name);
}

void Builder::Names::Add(const std::string& name) {
  names_.insert(name);
  last_ = name;
}

absl::StatusOr<ValueId> Builder::Append(Node n) {
  n.location = location_;
  if (static_cast<int64_t>(graph_->num_nodes()) >= graph_->max_nodes) {
    return ErrorAt(n, absl::StatusCode::kResourceExhausted,
                   absl::StrCat("the graph has ", graph_->num_nodes(),
                                " nodes already, the limit is ", graph_->max_nodes));
  }
  Attempt attempt(*this);
  InferContext c = Context(&n);
  // What a side's condition makes true may not be remembered beyond it.
  absl::flat_hash_set<Dim> in_side;
  absl::Status inferred = Infer(c, sides_.empty() ? &checked_dims_ : &in_side);
  if (!inferred.ok()) return inferred;
  const ValueId v = graph_->AppendNode(std::move(n));
  stack_.back()->nodes.push_back(v);
  return attempt.Kept(v);
}

absl::StatusOr<ValueId> Builder::Create(Op op, std::vector<ValueId> operands, Attrs attrs) {
  Node n{.op = op, .operands = std::move(operands), .attrs = std::move(attrs)};
  if (op == Op::k_input || op == Op::k_constant || op == Op::k_if) {
    n.location = location_;
    return ErrorAt(n, absl::StatusCode::kInvalidArgument,
                   "is not made with Create; wanted Input, Constant or OpenIf");
  }
  return Append(std::move(n));
}

absl::StatusOr<ValueId> Builder::Input(const std::string& name, ValueType type, Attrs attrs) {
  if (absl::Status s = CheckName("input", name); !s.ok()) return s;
  if (stack_.size() != 1)
    return absl::InvalidArgumentError(absl::StrCat("input '", name, "' stands inside an if"));
  const auto name_of = [&](size_t i) -> const std::string& {
    return graph_->node(graph_->inputs[i]).attrs.name;
  };
  if (input_names_.Has(name, graph_->inputs.size(), name_of))
    return absl::AlreadyExistsError(absl::StrCat("there is an input '", name, "' already"));
  Node n{.op = Op::k_input, .attrs = std::move(attrs), .type = std::move(type)};
  n.name = n.attrs.name = name;
  absl::StatusOr<ValueId> v = Append(std::move(n));
  if (!v.ok()) return v;
  graph_->inputs.push_back(*v);
  input_names_.Add(name);
  return v;
}

absl::StatusOr<ValueId> Builder::Constant(Tensor t) {
  Attrs attrs;
  attrs.tensor = t.ok() ? t.Contiguous() : std::move(t);
  return Append({.op = Op::k_constant, .attrs = std::move(attrs)});
}

absl::StatusOr<ValueId> Builder::ScalarConstant(DType dtype, double value) {
  if (IsInt(dtype)) {
    const int bits = static_cast<int>(8 * SizeOf(dtype)) - (IsSigned(dtype) ? 1 : 0);
    const double limit = std::ldexp(1, bits);
    if (value != std::floor(value) || value < (IsSigned(dtype) ? -limit : 0) || value >= limit) {
      return absl::InvalidArgumentError(
          absl::StrCat("the constant ", value, " is no ", Name(dtype), "; cast it or round it"));
    }
  }
  return Constant(ScalarOf(dtype, value));
}

absl::StatusOr<ValueId> Builder::IntConstant(DType dtype, int64_t value) {
  if (!FitsInt(dtype, value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the constant ", value, " is no ", RangeText(dtype), "; wanted i64"));
  }
  return Constant(ScalarOf(dtype, value));
}

absl::Status Builder::Output(const std::string& name, ValueId v) {
  if (absl::Status s = CheckName("output", name); !s.ok()) return s;
  if (stack_.size() != 1)
    return absl::InvalidArgumentError(absl::StrCat("output '", name, "' stands inside an if"));
  if (v >= graph_->num_nodes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("output '", name, "': ", graph_->ValueName(v), " is no value of this graph"));
  }
  const auto name_of = [&](size_t i) -> const std::string& { return graph_->output_names[i]; };
  if (output_names_.Has(name, graph_->output_names.size(), name_of))
    return absl::AlreadyExistsError(absl::StrCat("there is an output '", name, "' already"));
  graph_->body.results.push_back(v);
  graph_->output_names.push_back(name);
  output_names_.Add(name);
  return absl::OkStatus();
}

absl::StatusOr<ValueId> Builder::Apply(Op op, std::vector<ValueId> operands, Attrs attrs) {
  const size_t count = operands.size();
  switch (Info(op).emission) {
    case Emission::kElementwise:
      return Elementwise(op, std::move(operands), std::move(attrs));
    case Emission::kContraction:
      if (count == 2) return MatMul(operands[0], operands[1]);
      break;
    case Emission::kAttention:
      if (count == 3 || count == 4) {
        return Attention(operands[0], operands[1], operands[2], count == 4 ? operands[3] : kNoValue,
                         std::move(attrs));
      }
      break;
    case Emission::kView:
      if (op == Op::k_reshape && count == 1 && attrs.shape)
        return Reshape(operands[0], std::move(*attrs.shape));
      break;
    default:
      break;
  }
  return Create(op, std::move(operands), std::move(attrs));
}

absl::Status Builder::OpenIf(const Claim& claim) {
  Node n{.op = Op::k_if, .attrs = {.claim = claim}};
  n.location = location_;
  if (open_ifs_.size() >= kMaxBlockDepth) {
    return ErrorAt(n, absl::StatusCode::kResourceExhausted,
                   absl::StrCat("is nested deeper than the limit of ", kMaxBlockDepth));
  }
  InferContext c = Context(&n);
  if (absl::Status s = CheckAttrDims(c); !s.ok()) return s;
  n.blocks.resize(2);
  open_ifs_.reserve(kMaxBlockDepth);  // so that pointers to blocks stay valid
  open_ifs_.push_back(std::move(n));
  stack_.push_back(&open_ifs_.back().blocks[0]);
  sides_.push_back(SideOf(*graph_, sides_.empty() ? nullptr : &sides_.back(), claim, true,
                          location_.ToString()));
  return absl::OkStatus();
}

absl::Status Builder::Else(ValueId then_result) {
  if (open_ifs_.empty() || stack_.back() != &open_ifs_.back().blocks[0])
    return absl::FailedPreconditionError("else without an open if");
  Node& n = open_ifs_.back();
  n.blocks[0].results = {then_result};
  stack_.back() = &n.blocks[1];
  sides_.pop_back();
  sides_.push_back(SideOf(*graph_, sides_.empty() ? nullptr : &sides_.back(), *n.attrs.claim, false,
                          location_.ToString()));
  return absl::OkStatus();
}

absl::StatusOr<ValueId> Builder::CloseIf(ValueId else_result) {
  if (open_ifs_.empty() || stack_.back() != &open_ifs_.back().blocks[1])
    return absl::FailedPreconditionError("the end of an if without its else");
  Node n = std::move(open_ifs_.back());
  open_ifs_.pop_back();
  stack_.pop_back();
  sides_.pop_back();
  n.blocks[1].results = {else_result};
  for (const Block& block : n.blocks) {
    if (block.results[0] < graph_->num_nodes()) continue;
    n.location = location_;
    return ErrorAt(n, absl::StatusCode::kInvalidArgument, "a side's result is no value");
  }
  return Append(std::move(n));
}

}  // namespace lathe::ir
