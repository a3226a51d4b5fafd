// Calls: operands, attributes by the op table's rows, and constants.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"
#include "ir/text_internal.h"
#include "ir/visit_dtype.h"

namespace lathe::ir {
namespace {

// Short names for an op with some attributes set.
struct Sugar {
  std::string_view name;
  Op op;
  void (*preset)(Attrs&);
};

constexpr Sugar kSugar[] = {
    {"rand", Op::k_random,
     [](Attrs& a) { a.dtype = DType::kF32, a.distribution = "uniform", a.seed = 0; }},
    {"randn", Op::k_random,
     [](Attrs& a) { a.dtype = DType::kF32, a.distribution = "normal", a.seed = 0; }},
};

const Sugar* FindSugar(std::string_view name) {
  for (const Sugar& s : kSugar) {
    if (s.name == name) return &s;
  }
  return nullptr;
}

std::string AttrNames(const OpInfo& row) {
  return absl::StrJoin(row.attrs, ", ", [](std::string* out, const AttrSpec& s) {
    out->append(s.name.data(), s.name.size());
  });
}

// Whether a value that begins with `t` can be one of the member's type.
template <typename T>
bool Fits(const Token& t, T Attrs::*) {
  const bool is_dtype = t.kind == TokenKind::kName && FindDType(t.text).has_value();
  if constexpr (std::is_same_v<T, std::string>) return t.kind == TokenKind::kString;
  if constexpr (std::is_same_v<T, std::optional<DType>>) return is_dtype;
  if constexpr (std::is_same_v<T, bool>) return t.IsName("true") || t.IsName("false");
  if (is_dtype || t.kind == TokenKind::kString) return false;
  if constexpr (std::is_same_v<T, std::vector<int64_t>>) return true;  // [0, 1], or 0 alone
  if constexpr (std::is_same_v<T, std::optional<Shape>>) {
    return t.Is("[") || t.kind == TokenKind::kName || t.kind == TokenKind::kValue;
  }
  if constexpr (std::is_same_v<T, std::vector<Dim>>) return t.Is("[");
  return !t.Is("[");
}

template <typename T>
inline constexpr bool kIsReal = std::is_floating_point_v<T> || kIsNarrowFloat<T>;

template <typename T>
T Negated(T v) {
  return std::bit_cast<T>(
      static_cast<BitsOf<T>>(std::bit_cast<BitsOf<T>>(v) ^ BitsOf<T>{1} << (8 * sizeof(T) - 1)));
}

}  // namespace

absl::StatusOr<ValueId> TextParser::Call(const Token& name) {
  if (name.IsName("constant")) return Constant(name);
  const Sugar* sugar = FindSugar(name.text);
  const auto op = sugar != nullptr ? absl::StatusOr<Op>(sugar->op) : FindOp(name.text);
  if (!op.ok()) return At(name, op.status());
  if (*op == Op::k_input || *op == Op::k_if) {
    return Fault(name, *op == Op::k_input
                           ? "an input is written as x: f32[n]"
                           : "an if is written as if CLAIM { yield a } else { ... }");
  }
  const OpInfo& row = Info(*op);
  std::vector<Operand> operands;
  Attrs attrs;
  if (sugar != nullptr) sugar->preset(attrs);
  std::vector<std::string_view> given;
  LATHE_RETURN_IF_ERROR(Expect("(", "after an op"));
  while (!token_.Is(")")) {
    LATHE_RETURN_IF_ERROR(Argument(row, &operands, &attrs, &given));
    if (!token_.Is(",")) break;
    Next();
  }
  LATHE_RETURN_IF_ERROR(Expect(")", "after the arguments"));
  const int count = static_cast<int>(operands.size());
  if (count < row.min_operands || count > row.max_operands) {
    const std::string wanted = row.min_operands == row.max_operands ? absl::StrCat(row.min_operands)
                               : count < row.min_operands
                                   ? absl::StrCat("at least ", row.min_operands)
                                   : absl::StrCat("at most ", row.max_operands);
    return Fault(name,
                 absl::StrCat(name.Describe(), " takes ", wanted, " operands, found ", count));
  }
  const bool adopt = row.emission == Emission::kElementwise;
  LATHE_ASSIGN_OR_RETURN(std::vector<ValueId> values, MaterializeAll(operands, adopt));
  const bool given_axes = std::find(given.begin(), given.end(), "axes") != given.end();
  if (*op == Op::k_broadcast && !given_axes && attrs.shape.has_value()) {  // as numpy aligns
    builder_.set_location(LocationOf(name));
    auto v = builder_.BroadcastTo(values[0], *attrs.shape);
    if (!v.ok()) return At(name, v.status());
    return *v;
  }
  return Apply(name, *op, std::move(values), std::move(attrs));
}

absl::Status TextParser::Argument(const OpInfo& row, std::vector<Operand>* operands, Attrs* attrs,
                                  std::vector<std::string_view>* given) {
  const Token at = token_;
  char second = 0;
  const AttrField* field = nullptr;
  if (at.kind == TokenKind::kName && lexer_.PeekChar(&second) == '=' && second != '=') {
    LATHE_ASSIGN_OR_RETURN(field, KeywordAttr(row, at));
    Next();
    Next();
  } else if (at.Is("[") || at.kind == TokenKind::kString ||
             (at.kind == TokenKind::kName && FindDType(at.text).has_value()) ||
             static_cast<int>(operands->size()) >= row.max_operands) {
    LATHE_ASSIGN_OR_RETURN(field, PositionalAttr(row, *given));
  } else {
    LATHE_ASSIGN_OR_RETURN(Operand operand, Expression());
    operands->push_back(std::move(operand));
    return absl::OkStatus();
  }
  if (std::find(given->begin(), given->end(), field->name) != given->end()) {
    return Fault(at, absl::StrCat("'", std::string(field->name), "' is given twice"));
  }
  given->push_back(field->name);
  return AttrValue(*field, attrs);
}

absl::StatusOr<const AttrField*> TextParser::KeywordAttr(const OpInfo& row, const Token& name) {
  const AttrField* axes = nullptr;
  for (const AttrSpec& spec : row.attrs) {
    if (spec.name == name.text) {
      const AttrField* field = FindAttrField(spec.name);
      if (field != nullptr) return field;
    }
    if (spec.name == "axes") axes = FindAttrField("axes");
  }
  if (axes != nullptr && name.text == "axis") return axes;  // sum(x, axis=1)
  std::vector<std::string_view> names;
  for (const AttrSpec& spec : row.attrs) names.push_back(spec.name);
  if (axes != nullptr) names.push_back("axis");
  return Fault(name, absl::StrCat("'", std::string(row.name), "' has no attribute ",
                                  name.Describe(), row.attrs.empty() ? "" : "; it has: ",
                                  AttrNames(row), DidYouMean(name.text, names)));
}

absl::StatusOr<const AttrField*> TextParser::PositionalAttr(
    const OpInfo& row, const std::vector<std::string_view>& given) {
  for (const AttrSpec& spec : row.attrs) {
    const AttrField* field = FindAttrField(spec.name);
    if (field == nullptr) continue;
    if (std::find(given.begin(), given.end(), spec.name) != given.end()) continue;
    if (std::visit([&](auto member) { return Fits(token_, member); }, field->member)) return field;
  }
  return Fault(token_, absl::StrCat("'", std::string(row.name), "' has no use for ",
                                    token_.Describe(), " after ", row.max_operands, " operands",
                                    row.attrs.empty() ? "" : "; its attributes: ", AttrNames(row)));
}

absl::Status TextParser::AttrValue(const AttrField& field, Attrs* attrs) {
  return std::visit([&](auto member) { return Value(&(attrs->*member)); }, field.member);
}

absl::Status TextParser::Value(std::optional<int64_t>* out) { return Integer(&out->emplace()); }

absl::Status TextParser::Value(std::vector<int64_t>* out) {
  out->clear();
  if (!token_.Is("[")) return Integer(&out->emplace_back());
  Next();
  while (!token_.Is("]")) {
    LATHE_RETURN_IF_ERROR(Integer(&out->emplace_back()));
    if (!token_.Is(",")) break;
    Next();
  }
  return Expect("]", "at the end of the list");
}

// A list of sizes, or a value whose elements are sizes.
absl::Status TextParser::Value(std::optional<Shape>* out) {
  if (token_.Is("[")) return Value(&out->emplace());
  const Token at = token_;
  LATHE_ASSIGN_OR_RETURN(const Operand operand, Expression());
  if (operand.kind != Operand::kValue) {
    return Fault(at, "a shape is a list of sizes, or a value of whole numbers");
  }
  LATHE_ASSIGN_OR_RETURN(*out, ShapeOfValue(at, operand.value));
  return absl::OkStatus();
}

absl::Status TextParser::Value(std::vector<Dim>* out) {
  out->clear();
  LATHE_RETURN_IF_ERROR(Expect("[", "before a list of sizes"));
  while (!token_.Is("]")) {
    LATHE_ASSIGN_OR_RETURN(const Dim d, SizeText());
    out->push_back(d);
    if (!token_.Is(",")) break;
    Next();
  }
  return Expect("]", "at the end of the list");
}

absl::Status TextParser::Value(std::optional<Dim>* out) {
  LATHE_ASSIGN_OR_RETURN(*out, SizeText());
  return absl::OkStatus();
}

absl::Status TextParser::Value(std::optional<Claim>* out) {
  const Token at = token_;
  LATHE_ASSIGN_OR_RETURN(const std::vector<Claim> claims, ClaimsText());
  if (claims.size() != 1) return Fault(at, "one claim about sizes is needed here");
  *out = claims[0];
  return absl::OkStatus();
}

absl::Status TextParser::Value(std::optional<DType>* out) {
  *out = token_.kind == TokenKind::kName ? FindDType(token_.text) : std::nullopt;
  if (!out->has_value()) {
    return WithHint(Unexpected("an element type such as f32"), {Hint::Kind::kWord, "f32", ""});
  }
  Next();
  return absl::OkStatus();
}

absl::Status TextParser::Value(std::optional<double>* out) { return Element(&out->emplace()); }

absl::Status TextParser::Value(std::string* out) {
  LATHE_ASSIGN_OR_RETURN(*out, StringValue());
  return absl::OkStatus();
}

absl::Status TextParser::Value(bool* out) {
  if (!token_.IsName("true") && !token_.IsName("false")) return Unexpected("true or false");
  *out = token_.IsName("true");
  Next();
  return absl::OkStatus();
}

absl::Status TextParser::Value(Tensor*) { return Unexpected("no tensor"); }

absl::StatusOr<ValueId> TextParser::Constant(const Token& name) {
  LATHE_RETURN_IF_ERROR(Expect("(", "after constant"));
  if (token_.kind != TokenKind::kName || !FindDType(token_.text).has_value()) {
    LATHE_ASSIGN_OR_RETURN(const Operand number, Expression());
    const bool literal = number.kind == Operand::kReal ||
                         (number.kind == Operand::kSizes && number.size.is_constant());
    if (!literal) return Fault(number.at, "a constant is a number or f32[2]{1, 2}");
    LATHE_RETURN_IF_ERROR(Expect(")", "after the constant"));
    return Materialize(number, std::nullopt);
  }
  const Token type_at = token_;
  LATHE_ASSIGN_OR_RETURN(const ValueType type, TypeSpec("", /*declare=*/false));
  std::vector<int64_t> shape;
  int64_t count = 1;
  bool zero = false;
  for (const Dim d : type.shape) {
    if (!d.is_constant() || d.constant() < 0) {
      return Fault(type_at, absl::StrCat("a constant's sizes are numbers, found ", d.ToString()));
    }
    shape.push_back(d.constant());
    zero |= d.constant() == 0;
  }
  const int64_t limit = kMaxConstantBytes / SizeOf(type.dtype);
  for (const int64_t extent : shape) {
    if (zero) break;
    if (extent > limit / count) {
      return Fault(type_at,
                   absl::StrCat("a constant of type ", type.ToString(), " has more than the ",
                                kMaxConstantBytes, " bytes that a text may give"));
    }
    count *= extent;
  }
  if (zero) count = 0;
  std::string bytes;
  const Token brace = token_;
  LATHE_RETURN_IF_ERROR(Expect("{", "before the elements"));
  LATHE_RETURN_IF_ERROR(VisitDType(
      type.dtype, [&](auto element) { return Elements<decltype(element)>(count, &bytes); }));
  LATHE_RETURN_IF_ERROR(Expect("}", "after the elements"));
  const int64_t found = static_cast<int64_t>(bytes.size()) / SizeOf(type.dtype);
  if (found != count) {
    absl::Status error =
        Fault(brace, absl::StrCat(type.ToString(), " has ", count, " elements, found ", found));
    if (type.rank() == 1) {
      error = WithHint(error, {Hint::Kind::kDims, absl::StrCat(count), absl::StrCat(found)});
    }
    return error;
  }
  LATHE_RETURN_IF_ERROR(Expect(")", "after the constant"));
  auto tensor = Tensor::Make(type.dtype, shape);
  if (!tensor.ok()) return At(type_at, tensor.status());
  if (!bytes.empty()) std::memcpy(tensor->raw(), bytes.data(), bytes.size());
  builder_.set_location(LocationOf(name));
  auto v = builder_.Constant(*std::move(tensor));
  if (!v.ok()) return At(name, v.status());
  return *v;
}

template <typename T>
absl::Status TextParser::Elements(int64_t count, std::string* bytes) {
  int64_t found = 0;
  auto skip = [&] {
    while (token_.kind == TokenKind::kSeparator && token_.text == "\n") Next();
  };
  for (skip(); !token_.Is("}"); skip()) {
    const Token at = token_;
    T value{};
    LATHE_RETURN_IF_ERROR(Element(&value));
    int64_t repeat = 1;
    if (token_.Is("*")) {
      Next();
      LATHE_RETURN_IF_ERROR(Integer(&repeat));
    }
    if (repeat < 1 || repeat > count - found) {
      return Fault(at, absl::StrCat("the shape has room for ", count, " elements, found more"));
    }
    found += repeat;
    for (; repeat > 0; --repeat) bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
    skip();
    if (!token_.Is(",")) break;
    Next();
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status TextParser::Element(T* out) {
  const Token start = token_;
  const bool negative = token_.Is("-");
  if (negative || token_.Is("+")) Next();
  const Token at = token_;
  if constexpr (std::is_same_v<T, bool>) {
    const bool yes = at.IsName("true") || at.text == "1";
    if (negative || !(yes || at.IsName("false") || at.text == "0"))
      return Unexpected("true or false");
    *out = yes;
    Next();
    return absl::OkStatus();
  } else {
    if constexpr (kIsReal<T>) {
      if (at.IsName("inf") || at.IsName("nan")) {
        Next();
        *out = T(at.IsName("inf") ? std::numeric_limits<float>::infinity()
                                  : std::numeric_limits<float>::quiet_NaN());
        if (at.IsName("nan") && token_.Is("(")) {
          Next();
          BitsOf<T> bits = 0;
          const std::string_view digits =
              token_.text.substr(std::min<size_t>(2, token_.text.size()));
          const char* end = digits.data() + digits.size();
          const auto r = std::from_chars(digits.data(), end, bits, 16);
          if (!token_.text.starts_with("0x") || r.ec != std::errc() || r.ptr != end ||
              !std::isnan(static_cast<double>(std::bit_cast<T>(bits)))) {
            return Unexpected("the bits of a NaN, such as 0x7fc00001");
          }
          *out = std::bit_cast<T>(bits);
          Next();
          LATHE_RETURN_IF_ERROR(Expect(")", "after the bits"));
        }
        if (negative) *out = Negated(*out);
        return absl::OkStatus();
      }
    }
    if (at.kind != TokenKind::kNumber) return Unexpected("a number");
    const bool hex = at.text.starts_with("0x") || at.text.starts_with("0X");
    std::string_view digits = hex ? at.text.substr(2) : at.text;
    std::string with_sign;  // -2^63 has no positive counterpart
    if (negative && std::is_integral_v<T>) {
      with_sign = absl::StrCat("-", std::string(digits));
      digits = with_sign;
    }
    const char* end = digits.data() + digits.size();
    std::from_chars_result r;
    if constexpr (kIsReal<T>) {
      using Wide = std::conditional_t<kIsNarrowFloat<T>, double, T>;
      Wide value = 0;
      r = std::from_chars(digits.data(), end, value,
                          hex ? std::chars_format::hex : std::chars_format::general);
      *out = T(value);
      if (std::isinf(static_cast<double>(*out))) r.ec = std::errc::result_out_of_range;
      if (negative) *out = Negated(*out);
    } else {
      r = std::from_chars(digits.data(), end, *out, hex ? 16 : 10);
      if (negative && std::is_unsigned_v<T>) r.ec = std::errc::result_out_of_range;
    }
    if (r.ec == std::errc::result_out_of_range) {
      return Fault(start, absl::StrCat(negative ? "-" : "", std::string(at.text),
                                       " is out of the range of ", lathe::Name(DTypeOf<T>())));
    }
    if (r.ec != std::errc() || r.ptr != end) {
      return Unexpected(kIsReal<T> ? "a number" : "a whole number");
    }
    Next();
    return absl::OkStatus();
  }
}

absl::Status TextParser::Integer(int64_t* out) { return Element(out); }

template absl::Status TextParser::Element(double* out);

}  // namespace lathe::ir
