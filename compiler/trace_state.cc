#include "compiler/trace_state.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/edit.h"
#include "ir/hint.h"
#include "ir/staged.h"
#include "ir/visit_dtype.h"
#include "runtime/control_word.h"

namespace lathe {
namespace {

// A number as a rank 0 constant of that type, without rounding unless the type is a float.
absl::StatusOr<ir::ValueId> Number(ir::Builder& b, DType dtype, double number) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  if (IsInt(dtype)) {
    const bool whole = number == std::floor(number) && std::fabs(number) < kExactIntegers;
    if (!whole || !FitsInt(dtype, static_cast<int64_t>(number))) {
      return absl::InvalidArgumentError(
          absl::StrCat("the number ", number, " is no exact ", Name(dtype),
                       "; cast the other operand, or make a constant"));
    }
    return b.IntConstant(dtype, static_cast<int64_t>(number));
  }
  if (dtype == bool_ && number != 0 && number != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number ", number, " beside a bool; wanted 0 or 1"));
  }
  return b.ScalarConstant(dtype, number);
}

// What to write in the traced program, after the error's first hint that says so.
std::string MendOf(const absl::Status& status) {
  std::string said;
  ir::WithoutMend({status.message().data(), status.message().size()}, &said);
  if (!said.empty()) return "";
  for (const ir::Hint& hint : ir::HintsOf(status)) {
    switch (hint.kind) {
      case ir::Hint::Kind::kAssume:
        return absl::StrCat("declare it: assume(\"", hint.a, "\")");
      case ir::Hint::Kind::kWrap:
        return absl::StrCat("write ", hint.a, "operand ", hint.index, hint.b);
      case ir::Hint::Kind::kNumber:
        return absl::StrCat("write ", hint.b, " in place of ", hint.a);
      case ir::Hint::Kind::kAttr:
        return absl::StrCat("give ", hint.a, " as ", hint.b);
      case ir::Hint::Kind::kDims:
        return absl::StrCat("make the extents ", hint.a, " and ", hint.b, " equal");
      default:
        break;
    }
  }
  return "";
}

absl::Status Located(std::string_view what, const Loc& loc, const absl::Status& status) {
  const std::string where = LocationOf(loc).ToString();
  std::string text(status.message());
  if (text.find(absl::StrCat(" at ", where, ": ")) == std::string::npos) {  // the builder says it
    text = absl::StrCat(std::string(what), " at ", where, ": ", text);
  }
  if (const std::string mend = MendOf(status); !mend.empty()) {
    absl::StrAppend(&text, "\n", std::string(ir::kToMendIt), mend);
  }
  return ir::WithMessage(status, text);
}

}  // namespace

ir::Location LocationOf(const Loc& loc) {
  std::string_view file(loc.file_name());
  if (const size_t slash = file.rfind('/'); slash != std::string_view::npos)
    file.remove_prefix(slash + 1);
  return {std::string(file), static_cast<int>(loc.line()), 0};
}

std::vector<int64_t> ToInt64(const std::vector<int>& v) { return {v.begin(), v.end()}; }

TraceState::TraceState(const std::string& name)
    : graph_(std::make_unique<ir::Graph>()), builder_(graph_.get()) {
  graph_->name = name;
}

absl::Status TraceState::CheckOpen() const {
  if (graph_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("the trace is finished; start another Trace");
}

Value TraceState::Poisoned() {
  Value v;
  v.state_ = this;
  return v;
}

Value TraceState::Wrap(ir::ValueId id) {
  if (side_of_.size() <= id) side_of_.resize(id + 1, -1);
  if (side_of_[id] < 0) side_of_[id] = open_sides_.back();
  Value v = Poisoned();
  v.id_ = id;
  return v;
}

Value TraceState::Fail(std::string_view what, Loc loc, const absl::Status& status) {
  if (status_.ok()) status_ = Located(what, loc, status);
  return Poisoned();
}

Value TraceState::Fail(const Value& v, std::string_view what, Loc loc, const std::string& message) {
  if (v.state_ == nullptr) return v;
  if (v.id_ == ir::kNoValue) return v.state_->Poisoned();
  return v.state_->Fail(what, loc, absl::InvalidArgumentError(message));
}

const ir::Node* TraceState::NodeOf(const Value& v) {
  if (v.state_ == nullptr || v.id_ == ir::kNoValue || v.state_->graph_ == nullptr) return nullptr;
  return &v.state_->graph_->node(v.id_);
}

absl::Status TraceState::CheckVisible(ir::ValueId id) const {
  const int side = id < side_of_.size() ? side_of_[id] : 0;
  for (int open : open_sides_) {
    if (open == side) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(graph_->ValueName(id),
                   " was traced in a side of an if_ that is closed; return it "
                   "from the side, or trace it before the if_"));
}

Value TraceState::Run(std::string_view what, const Ids& ids, Loc loc, Build build) {
  const rt::ControlWordScope control_word;  // numbers are rounded to their types here
  if (absl::Status s = CheckOpen(); !s.ok()) return Fail(what, loc, s);
  for (ir::ValueId id : ids) {
    if (absl::Status s = CheckVisible(id); !s.ok()) return Fail(what, loc, s);
  }
  builder_.set_location(LocationOf(loc));
  absl::StatusOr<ir::ValueId> result = build(builder_, ids);
  if (!result.ok()) return Fail(what, loc, result.status());
  return Wrap(*result);
}

Value TraceState::Source(std::string_view what, Loc loc, Build build) {
  return Run(what, {}, loc, build);
}

Value TraceState::Op(std::string_view what, absl::Span<const Value> operands, Loc loc,
                     Build build) {
  TraceState* state = nullptr;
  for (const Value& v : operands) {
    if (v.state_ != nullptr) state = v.state_;
  }
  if (state == nullptr) return Value();  // `finish` or the next op tells
  Ids ids;
  bool poisoned = false;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Value& v = operands[i];
    const bool empty = v.state_ == nullptr;
    if (empty || v.state_ != state) {
      return state->Fail(
          what, loc,
          absl::InvalidArgumentError(
              absl::StrCat("operand ", i, empty ? " is an empty Value" : " is of another Trace")));
    }
    poisoned |= v.id_ == ir::kNoValue;
    ids.push_back(v.id_);
  }
  if (poisoned) return state->Poisoned();
  return state->Run(what, ids, loc, build);
}

Value TraceState::Elementwise(ir::Op op, absl::Span<const Operand> operands, size_t first) {
  std::vector<Value> values;
  const Operand* typed = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number) continue;
    values.push_back(operands[i].value);
    if (i >= first && typed == nullptr) typed = &operands[i];
  }
  const std::string_view what = ir::Name(op);
  const auto build = [&](ir::Builder& b, const Ids& ids) -> absl::StatusOr<ir::ValueId> {
    if (typed == nullptr) {
      return absl::InvalidArgumentError(
          "all operands are numbers, which have no element type; make one with Trace::scalar");
    }
    Ids all;
    size_t next = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i].is_number) {
        all.push_back(ids[next++]);
        continue;
      }
      const DType dtype = i < first ? bool_ : NodeOf(typed->value)->type.dtype;
      absl::StatusOr<ir::ValueId> number = Number(b, dtype, operands[i].number);
      if (!number.ok()) return number.status();
      all.push_back(*number);
    }
    return b.Elementwise(op, std::move(all));
  };
  return Op(what, values, operands.front().loc, build);
}

absl::StatusOr<ir::ValueId> TraceState::Side(const std::function<Value()>& side, const char* name) {
  if (side == nullptr) return absl::InvalidArgumentError(absl::StrCat("the ", name, " is missing"));
  open_sides_.push_back(num_sides_++);
  const Value v = side();
  if (absl::Status s = CheckOpen(); !s.ok()) return s;
  absl::Status visible = absl::OkStatus();
  if (v.state_ == this && v.id_ != ir::kNoValue) visible = CheckVisible(v.id_);
  open_sides_.pop_back();
  if (!visible.ok()) return visible;
  if (v.state_ == this && v.id_ != ir::kNoValue) return v.id_;
  if (!status_.ok()) return status_;
  return absl::InvalidArgumentError(absl::StrCat("the ", name, " gives no value of this trace"));
}

Value TraceState::If(const Claim& condition, const std::function<Value()>& then,
                     const std::function<Value()>& otherwise, Loc loc) {
  // A failure inside leaves the builder within a side: nothing more can be traced then.
  if (!status_.ok()) return Poisoned();
  if (absl::Status s = CheckOpen(); !s.ok()) return Fail("if", loc, s);
  builder_.set_location(LocationOf(loc));
  if (absl::Status s = builder_.OpenIf(condition); !s.ok()) return Fail("if", loc, s);
  absl::StatusOr<ir::ValueId> result = Side(then, "then-side");
  if (!result.ok()) return Fail("if", loc, result.status());
  if (absl::Status s = builder_.Else(*result); !s.ok()) return Fail("if", loc, s);
  result = Side(otherwise, "other side");
  if (!result.ok()) return Fail("if", loc, result.status());
  builder_.set_location(LocationOf(loc));
  result = builder_.CloseIf(*result);
  if (!result.ok()) return Fail("if", loc, result.status());
  return Wrap(*result);
}

absl::StatusOr<Program> TraceState::Finish(const std::vector<Value>& outputs,
                                           const std::vector<std::string>& names) {
  if (!status_.ok()) return status_;
  if (absl::Status s = CheckOpen(); !s.ok()) return s;
  if (outputs.empty())
    return absl::InvalidArgumentError("finish: a program has one output or more");
  if (!names.empty() && names.size() != outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("finish: ", names.size(), " names for ", outputs.size(), " outputs"));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& v = outputs[i];
    if (v.state_ != this || v.id_ == ir::kNoValue)
      return absl::InvalidArgumentError(
          absl::StrCat("finish: output ", i, " is no value of this trace"));
    if (absl::Status s = CheckVisible(v.id_); !s.ok()) return s;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string name = names.empty() ? absl::StrCat("out", i) : names[i];
    absl::Status s = builder_.Output(name, outputs[i].id_);
    if (s.ok()) continue;
    graph_->body.results.clear();  // those before it: the trace stays open
    graph_->output_names.clear();
    return s;
  }
  return Program(std::move(graph_));
}

bool Value::ok() const { return TraceState::NodeOf(*this) != nullptr; }

DType Value::dtype() const {
  const ir::Node* n = TraceState::NodeOf(*this);
  return n == nullptr ? f32 : n->type.dtype;
}

Shape Value::shape() const {
  const ir::Node* n = TraceState::NodeOf(*this);
  return n == nullptr ? Shape() : n->type.shape;
}

Dim Value::dim(int axis) const {
  const ir::Node* n = TraceState::NodeOf(*this);
  if (n == nullptr) return Dim();
  const int rank = n->type.rank();
  const int index = axis < 0 ? axis + rank : axis;
  if (index >= 0 && index < rank) return n->type.shape[static_cast<size_t>(index)];
  const std::string where = n->location.ToString();
  if (state_->status_.ok()) {
    state_->status_ = absl::InvalidArgumentError(
        absl::StrCat("dim of ", state_->graph_->ValueName(id_), where.empty() ? "" : " at ", where,
                     ": axis ", axis, " is outside of rank ", rank));
  }
  return Dim();
}

Value& Value::named(const std::string& name) {
  if (ok()) state_->builder_.SetName(id_, name);
  return *this;
}

Program::Program(std::unique_ptr<ir::Graph> graph) : graph_(std::move(graph)) {}
Program::Program(std::unique_ptr<ir::Staged> staged) : staged_(std::move(staged)) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;
std::unique_ptr<ir::Graph> Program::release() { return std::move(graph_); }
std::unique_ptr<ir::Staged> Program::release_staged() { return std::move(staged_); }

absl::StatusOr<Program> Program::parse(const std::string& text, const std::string& file) {
  const rt::ControlWordScope control_word;
  absl::StatusOr<ir::Graph> graph = ir::Parse(text, file);
  if (!graph.ok()) return graph.status();
  return Program(std::make_unique<ir::Graph>(*std::move(graph)));
}

std::string Program::to_string() const {
  if (is_staged()) return ir::Print(*staged_);
  return graph_ != nullptr ? ir::Print(*graph_) : "";
}

}  // namespace lathe
