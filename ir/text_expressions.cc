// Expressions: operators by precedence, literals, slices. Integers and dims stay symbolic until an
// operator or a call needs a value, so that `x * 2` takes the type of x and `batch*seq` is one
// size.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/text_internal.h"
#include "ir/visit_dtype.h"

namespace lathe::ir {
namespace {

struct InfixRow {
  std::string_view text;
  int precedence;  // higher binds tighter
  Op op;
};

constexpr int kNotPrecedence = 3;
constexpr int kComparison = 4;
constexpr InfixRow kInfix[] = {
    {"or", 1, Op::k_or},       {"and", 2, Op::k_and}, {"==", 4, Op::k_eq},    {"!=", 4, Op::k_ne},
    {"<", 4, Op::k_lt},        {"<=", 4, Op::k_le},   {">", 4, Op::k_gt},     {">=", 4, Op::k_ge},
    {"+", 5, Op::k_add},       {"-", 5, Op::k_sub},   {"*", 6, Op::k_mul},    {"/", 6, Op::k_div},
    {"//", 6, Op::k_floordiv}, {"%", 6, Op::k_mod},   {"@", 6, Op::k_matmul},
};

const InfixRow* FindInfix(const Token& t) {
  if (t.kind != TokenKind::kPunct && t.kind != TokenKind::kName) return nullptr;
  for (const InfixRow& row : kInfix) {
    if (row.text == t.text) return &row;
  }
  return nullptr;
}

// The op on two numbers or sizes, where it can be said without a tensor.
std::optional<Dim> FoldSizes(Op op, Dim a, Dim b) {
  switch (op) {
    case Op::k_add:
      return a + b;
    case Op::k_sub:
      return a - b;
    case Op::k_mul:
      return a * b;
    case Op::k_floordiv:
      return FloorDiv(a, b);
    case Op::k_mod:
      return Mod(a, b);
    default:
      return std::nullopt;
  }
}

std::optional<double> FoldReals(Op op, double a, double b) {
  switch (op) {
    case Op::k_add:
      return a + b;
    case Op::k_sub:
      return a - b;
    case Op::k_mul:
      return a * b;
    case Op::k_div:
      return a / b;
    default:
      return std::nullopt;
  }
}

}  // namespace

// Counts how deep expressions stand inside each other, so that no text exhausts the stack.
struct TextParser::ScopedDepth {
  explicit ScopedDepth(int* d) : depth(d) { ++*depth; }
  ~ScopedDepth() { --*depth; }
  int* depth;
};

absl::StatusOr<ValueId> TextParser::ValueExpression() {
  LATHE_ASSIGN_OR_RETURN(const Operand operand, Expression());
  return Materialize(operand, std::nullopt);
}

absl::StatusOr<TextParser::Operand> TextParser::Infix(int precedence) {
  LATHE_ASSIGN_OR_RETURN(Operand left, Prefix());
  for (;;) {
    const InfixRow* row = FindInfix(token_);
    if (row == nullptr || row->precedence < precedence) return left;
    const Token at = token_;
    Next();
    LATHE_ASSIGN_OR_RETURN(const Operand right, Infix(row->precedence + 1));
    LATHE_ASSIGN_OR_RETURN(left, Combine(at, row->op, left, right));
    const InfixRow* next = FindInfix(token_);
    if (row->precedence == kComparison && next != nullptr && next->precedence == kComparison) {
      return Fault(token_, "comparisons don't chain: write (a < b) and (b < c)");
    }
  }
}

absl::StatusOr<TextParser::Operand> TextParser::Prefix() {
  const ScopedDepth scope(&depth_);
  if (depth_ > kMaxTextDepth) {
    return Fault(token_, absl::StrCat("an expression nested more than ", kMaxTextDepth,
                                      " deep; name its parts"));
  }
  const Token at = token_;
  if (at.Is("-") || at.Is("+")) {
    Next();
    LATHE_ASSIGN_OR_RETURN(const Operand operand, Prefix());
    if (at.Is("+")) return operand;
    return Negate(at, operand);
  }
  if (at.IsName("not")) {
    Next();
    LATHE_ASSIGN_OR_RETURN(const Operand operand, Infix(kNotPrecedence));
    LATHE_ASSIGN_OR_RETURN(const ValueId v, Materialize(operand, std::nullopt));
    LATHE_ASSIGN_OR_RETURN(const ValueId result, Apply(at, Op::k_not, {v}));
    return Operand{.value = result, .at = at};
  }
  LATHE_ASSIGN_OR_RETURN(Operand operand, Primary());
  return Postfix(std::move(operand));
}

absl::StatusOr<TextParser::Operand> TextParser::Primary() {
  const Token at = token_;
  switch (at.kind) {
    case TokenKind::kNumber:
      return NumberLiteral();
    case TokenKind::kName:
    case TokenKind::kValue:
      return NamedOperand();
    default:
      break;
  }
  if (!at.Is("(")) return Unexpected("a value");
  Next();
  LATHE_ASSIGN_OR_RETURN(const Operand operand, Expression());
  LATHE_RETURN_IF_ERROR(Expect(")", "after the expression"));
  return operand;
}

absl::StatusOr<TextParser::Operand> TextParser::NumberLiteral() {
  const Token at = token_;
  Operand operand{.at = at};
  const std::string_view text = at.text;
  const bool real = text.find('.') != std::string_view::npos ||
                    text.find_first_of(text.starts_with("0x") ? "pP" : "eE") != text.npos;
  if (real) {
    operand.kind = Operand::kReal;
    LATHE_RETURN_IF_ERROR(Element(&operand.real));
    return operand;
  }
  operand.kind = Operand::kSizes;
  int64_t value = 0;
  LATHE_RETURN_IF_ERROR(Integer(&value));
  operand.size = Dim(value);
  return operand;
}

absl::StatusOr<TextParser::Operand> TextParser::NamedOperand() {
  const Token at = token_;
  Operand operand{.at = at};
  if (at.kind == TokenKind::kName) {
    if (at.IsName("inf") || at.IsName("nan")) {
      operand.kind = Operand::kReal;
      LATHE_RETURN_IF_ERROR(Element(&operand.real));
      return operand;
    }
    if (at.IsName("true") || at.IsName("false")) {
      Next();
      builder_.set_location(LocationOf(at));
      auto v = builder_.IntConstant(DType::kBool, at.IsName("true") ? 1 : 0);
      if (!v.ok()) return At(at, v.status());
      operand.value = *v;
      return operand;
    }
    if (lexer_.PeekChar() == '(') {
      Next();
      LATHE_ASSIGN_OR_RETURN(operand.value, Call(at));
      return operand;
    }
  }
  operand.value = LookupValue(at.text);
  if (operand.value == kNoValue) {
    if (at.kind != TokenKind::kName || !state_->dims.contains(std::string(at.text))) {
      return UnknownName(at);
    }
    operand.kind = Operand::kSizes;
    operand.size = state_->graph->dims()->Symbol(at.text);
  }
  Next();
  return operand;
}

absl::StatusOr<TextParser::Operand> TextParser::Postfix(Operand operand) {
  while (token_.Is("[")) {
    if (operand.kind != Operand::kValue) return Fault(token_, "only a tensor can be sliced");
    LATHE_ASSIGN_OR_RETURN(operand.value, SliceItems(operand.value));
  }
  return operand;
}

absl::StatusOr<ValueId> TextParser::SliceItems(ValueId v) {
  const Token at = token_;
  const Location location = LocationOf(at);
  Next();
  if (token_.Is("]")) return Unexpected("an index or a slice");
  Shape kept;  // the shape after the axes that an index takes away
  bool indexed = false;
  int64_t axis = 0;
  for (; !token_.Is("]"); ++axis) {
    const int rank = state_->graph->type(v).rank();
    if (axis >= rank) {
      return WithHint(Fault(token_, absl::StrCat("more than ", rank, " slices for a value of type ",
                                                 state_->graph->type(v).ToString())),
                      {Hint::Kind::kDropItem, "", ""});
    }
    const Token item = token_;
    const Dim extent = state_->graph->type(v).shape[axis];
    std::optional<Dim> start, limit;
    int64_t step = 1;
    bool is_range = false;
    for (int part = 0; part < 3; ++part) {
      if (!token_.Is(":") && !token_.Is(",") && !token_.Is("]")) {
        LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText(/*stop_at_colon=*/true));
        LATHE_RETURN_IF_ERROR(CheckNames(text, /*declare=*/false));
        LATHE_ASSIGN_OR_RETURN(const Dim d, ToDim(text));
        if (part == 0) start = d;
        if (part == 1) limit = d;
        if (part == 2) {
          if (!d.is_constant() || d.constant() == 0) {
            return WithHint(Fault(text.at(), "the step of a slice is a whole number other than 0"),
                            {Hint::Kind::kNumber, "0", "1"});
          }
          step = d.constant();
        }
      }
      if (!token_.Is(":")) break;
      if (part == 2) return Unexpected("',' or ']'");
      is_range = true;
      Next();
    }
    builder_.set_location(location);
    absl::StatusOr<ValueId> sliced;
    if (!is_range) {
      if (!start.has_value()) return Unexpected("an index or a slice");
      indexed = true;
      builder_.set_location(LocationOf(item));
      sliced = builder_.Index(v, axis, *start);
    } else {
      const Dim first = step > 0 ? Dim(0) : Dim(std::numeric_limits<int64_t>::max());
      const Dim last = step > 0 ? extent : Dim(std::numeric_limits<int64_t>::min());
      const bool whole = !start.has_value() && !limit.has_value() && step == 1;
      sliced = whole ? absl::StatusOr<ValueId>(v)
                     : builder_.Slice(v, axis, start.value_or(first), limit.value_or(last), step);
    }
    if (!sliced.ok()) return At(item, sliced.status());
    v = *sliced;
    if (is_range) kept.push_back(state_->graph->type(v).shape[axis]);
    if (!token_.Is(",")) {
      ++axis;
      break;
    }
    Next();
  }
  LATHE_RETURN_IF_ERROR(Expect("]", "after the slices"));
  if (!indexed) return v;
  const Shape& shape = state_->graph->type(v).shape;
  kept.insert(kept.end(), shape.begin() + axis, shape.end());
  builder_.set_location(location);
  auto reshaped = builder_.Reshape(v, kept);
  if (!reshaped.ok()) return At(at, reshaped.status());
  return *reshaped;
}

absl::StatusOr<TextParser::Operand> TextParser::Negate(const Token& minus, const Operand& a) {
  Operand result = a;
  result.at = minus;
  switch (a.kind) {
    case Operand::kReal:
      result.real = -a.real;
      return result;
    case Operand::kSizes:
      if (a.size == Dim(0)) {  // -0 is a number of its own as soon as it is a float
        result.kind = Operand::kReal;
        result.real = -0.0;
        return result;
      }
      result.size = -a.size;
      if (!result.size.ok()) return At(minus, result.size.status());
      return result;
    case Operand::kValue:
      break;
  }
  LATHE_ASSIGN_OR_RETURN(result.value, Apply(minus, Op::k_neg, {a.value}));
  return result;
}

absl::StatusOr<TextParser::Operand> TextParser::Combine(const Token& op_token, Op op,
                                                        const Operand& a, const Operand& b) {
  Operand result{.at = a.at};
  if (a.kind == Operand::kSizes && b.kind == Operand::kSizes) {
    if (const auto folded = FoldSizes(op, a.size, b.size)) {
      if (!folded->ok()) return At(op_token, folded->status());
      result.kind = Operand::kSizes;
      result.size = *folded;
      return result;
    }
    if (op == Op::k_div && !(a.size.is_constant() && b.size.is_constant())) {
      return WithHint(
          Fault(op_token, "sizes divide with //; for a fraction write cast(size(dim=n), f32)"),
          {Hint::Kind::kWord, "//", ""});
    }
  }
  auto number = [](const Operand& o, double* value) {
    if (o.kind == Operand::kValue || (o.kind == Operand::kSizes && !o.size.is_constant())) {
      return false;
    }
    *value = o.kind == Operand::kReal ? o.real : static_cast<double>(o.size.constant());
    return true;
  };
  double x = 0, y = 0;
  if (number(a, &x) && number(b, &y)) {
    if (const auto folded = FoldReals(op, x, y)) {
      result.kind = Operand::kReal;
      result.real = *folded;
      return result;
    }
  }
  const bool adopt = Info(op).emission == Emission::kElementwise;
  LATHE_ASSIGN_OR_RETURN(std::vector<ValueId> values, MaterializeAll({a, b}, adopt));
  LATHE_ASSIGN_OR_RETURN(result.value, Apply(op_token, op, std::move(values)));
  return result;
}

absl::StatusOr<ValueId> TextParser::Materialize(const Operand& operand,
                                                std::optional<DType> dtype) {
  if (operand.kind == Operand::kValue) return operand.value;
  if (dtype == DType::kBool) dtype = std::nullopt;
  const bool real = operand.kind == Operand::kReal;
  const DType type = dtype.value_or(real ? DType::kF32 : DType::kI64);
  builder_.set_location(LocationOf(operand.at));
  absl::StatusOr<ValueId> v;
  if (real) {
    if (!IsFloat(type)) {
      return WithHint(
          Fault(operand.at, absl::StrCat(NumberText(operand.real), " is no ", Name(type),
                                         "; cast the other operand to f32")),
          {Hint::Kind::kWrap, "cast(", ", dtype=f32)"});
    }
    v = builder_.ScalarConstant(type, operand.real);
  } else if (operand.size.is_constant()) {
    const int64_t value = operand.size.constant();
    if (!FitsInt(type, value)) {
      const std::string_view article = Name(type)[0] == 'i' ? "an " : "a ";
      return Fault(operand.at,
                   absl::StrCat(value, " doesn't fit ", std::string(article), Name(type)));
    }
    v = IsFloat(type) ? builder_.ScalarConstant(type, static_cast<double>(value))
                      : builder_.IntConstant(type, value);
  } else {
    Attrs size;
    size.dim = operand.size;
    v = builder_.Apply(Op::k_size, {}, size);
    if (v.ok() && type != DType::kI64) {
      Attrs cast;
      cast.dtype = type;
      v = builder_.Apply(Op::k_cast, {*v}, cast);
    }
  }
  if (!v.ok()) return At(operand.at, v.status());
  return *v;
}

absl::StatusOr<std::vector<ValueId>> TextParser::MaterializeAll(
    const std::vector<Operand>& operands, bool adopt) {
  std::optional<DType> dtype;
  bool any_real = false;
  for (const Operand& o : operands) {
    any_real |= o.kind == Operand::kReal;
    // The last value decides: select's condition comes first and is no number.
    if (o.kind == Operand::kValue) dtype = state_->graph->type(o.value).dtype;
  }
  if (dtype == DType::kBool) dtype = std::nullopt;
  if (!dtype.has_value() && any_real) dtype = DType::kF32;
  std::vector<ValueId> values;
  values.reserve(operands.size());
  for (const Operand& o : operands) {
    LATHE_ASSIGN_OR_RETURN(const ValueId v, Materialize(o, adopt ? dtype : std::nullopt));
    values.push_back(v);
  }
  return values;
}

// Whether the op takes these operands without broadcasting, or a reshape without -1. Dims that are
// equal by the facts count as equal, so that what a pass built reads back as it was.
bool TextParser::IsComplete(Op op, const std::vector<ValueId>& operands, const Attrs& attrs) {
  const Graph& g = *state_->graph;
  int tail = 0;  // axes at the end that aren't broadcast
  switch (Info(op).emission) {
    case Emission::kElementwise:
      break;
    case Emission::kContraction:
    case Emission::kAttention:
      tail = 2;
      break;
    default:
      return !attrs.shape.has_value() ||
             std::find(attrs.shape->begin(), attrs.shape->end(), Dim(-1)) == attrs.shape->end();
  }
  for (const ValueId v : operands) {
    const Shape &first = g.type(operands[0]).shape, &other = g.type(v).shape;
    if (first.size() != other.size() || static_cast<int>(first.size()) < tail) return false;
    for (size_t i = 0; i + tail < first.size(); ++i) {
      if (first[i] == other[i]) continue;
      const Claim equal = Eq(first[i], other[i]);
      if (g.facts().Prove(equal, /*use_required=*/true).verdict != dim::Verdict::kProved) {
        return false;
      }
    }
  }
  return true;
}

absl::StatusOr<ValueId> TextParser::Apply(const Token& at, Op op, std::vector<ValueId> operands,
                                          Attrs attrs) {
  builder_.set_location(LocationOf(at));
  auto v = IsComplete(op, operands, attrs)
               ? builder_.Create(op, std::move(operands), std::move(attrs))
               : builder_.Apply(op, std::move(operands), std::move(attrs));
  if (!v.ok()) return At(at, v.status());
  return *v;
}

}  // namespace lathe::ir
