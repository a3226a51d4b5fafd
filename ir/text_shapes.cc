// Types, dims and claims in texts. The arithmetic itself is read by ir/dim (ParseDim, ParseClaims,
// AddSpec); here its extent is found, its names are checked, and what it declares becomes facts.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/text_internal.h"

namespace lathe::ir {
namespace {

constexpr size_t kMaxDimTokens = 1 << 16;

bool IsRelation(const Token& t) {
  return t.IsName("in") || t.Is("==") || t.Is("!=") || t.Is("<") || t.Is("<=") || t.Is(">") ||
         t.Is(">=");
}

// The first relation outside brackets at or after `from`; tokens.size() if there is none.
size_t FindRelation(const std::vector<Token>& tokens, size_t from) {
  int depth = 0;
  for (size_t i = from; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.Is("(") || t.Is("[") || t.Is("{")) ++depth;
    if (t.Is(")") || t.Is("]") || t.Is("}")) --depth;
    if (depth == 0 && IsRelation(t)) return i;
  }
  return tokens.size();
}

}  // namespace

std::string TextParser::DimText::Part(size_t first, size_t last) const {
  if (first >= last) return "";
  const char* begin = tokens.front().text.data();
  const std::string_view end = tokens[last - 1].text;
  const size_t from = static_cast<size_t>(tokens[first].text.data() - begin);
  const size_t to = static_cast<size_t>(end.data() + end.size() - begin);
  return text.substr(from, to - from);
}

absl::StatusOr<TextParser::DimText> TextParser::ReadDimText(bool stop_at_colon) {
  DimText out;
  int depth = 0;
  for (;; Next()) {
    const Token& t = token_;
    if (depth == 0) {
      if (t.IsEnd() || t.Is(",") || t.Is(")") || t.Is("]") || t.Is("}") || t.Is("=")) break;
      if (t.Is("{") && (out.tokens.empty() || !out.tokens.back().IsName("in"))) break;
      if (stop_at_colon && t.Is(":")) break;
    }
    if (t.kind == TokenKind::kSeparator && t.text == "\n") continue;
    if (t.IsEnd()) return Unexpected("a closing bracket");
    if (t.kind == TokenKind::kBad || t.kind == TokenKind::kString) return Unexpected("a size");
    if (t.Is("(") || t.Is("[") || t.Is("{")) ++depth;
    if (t.Is(")") || t.Is("]") || t.Is("}")) --depth;
    if (depth > kMaxTextDepth) {
      return Fault(t, absl::StrCat("more than ", kMaxTextDepth, " brackets inside each other"));
    }
    if (out.tokens.size() >= kMaxDimTokens) {
      return Fault(t, absl::StrCat("a size of more than ", kMaxDimTokens, " words"));
    }
    out.tokens.push_back(t);
  }
  if (out.tokens.empty()) return Unexpected("a size");
  const char* begin = out.tokens.front().text.data();
  const std::string_view last = out.tokens.back().text;
  out.text.assign(begin, last.data() + last.size());
  bool comment = false;
  for (char& c : out.text) {
    comment = c == '#' || (comment && c != '\n');
    if (comment || c == '\n' || c == '\r') c = ' ';
  }
  return out;
}

// The dim parser says "column 5: ..." of its own text; here it becomes the place in the whole text.
absl::Status TextParser::AtColumn(const Token& start, const absl::Status& s) const {
  absl::string_view message = s.message();
  if (s.ok() || !absl::ConsumePrefix(&message, "column ")) return At(start, s);
  const size_t digits = std::min(message.find(": "), message.size());
  int64_t column = 0;
  if (!absl::SimpleAtoi(message.substr(0, digits), &column)) return At(start, s);
  Token place = start;
  const char* p = start.text.data();
  const char* end = lexer_.text().data() + lexer_.text().size();
  for (int64_t i = 1; i < column && p < end; ++i, ++p) {
    place.line += *p == '\n' ? 1 : 0;
    place.column = *p == '\n' ? 1 : place.column + 1;
  }
  message.remove_prefix(std::min(digits + 2, message.size()));
  return At(place, absl::Status(s.code(), message));
}

absl::StatusOr<Dim> TextParser::ToDim(const DimText& text, size_t first, size_t last) {
  auto d = dim::ParseDim(text.Part(first, last), state_->graph->dims(), /*make_symbols=*/false);
  if (!d.ok()) return AtColumn(text.tokens[std::min(first, text.tokens.size() - 1)], d.status());
  if (!d->ok()) return At(text.tokens[first], d->status());
  return *d;
}

absl::StatusOr<Dim> TextParser::ToDim(const DimText& text) {
  return ToDim(text, 0, text.tokens.size());
}

absl::StatusOr<std::vector<Claim>> TextParser::ToClaims(const DimText& text) {
  auto claims = dim::ParseClaims(text.text, state_->graph->dims(), /*make_symbols=*/false);
  if (!claims.ok()) return AtColumn(text.at(), claims.status());
  return claims;
}

absl::Status TextParser::CheckNames(const DimText& text, bool declare) {
  const std::vector<Token>& tokens = text.tokens;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.kind != TokenKind::kName || t.text == "in") continue;
    if (i + 1 < tokens.size() && tokens[i + 1].Is("(")) continue;  // ceildiv, min, max
    if (state_->dims.contains(std::string(t.text))) continue;
    if (declare) {
      LATHE_RETURN_IF_ERROR(DeclareDim(t));
      continue;
    }
    std::vector<std::string_view> known(state_->dims.begin(), state_->dims.end());
    return Fault(t, absl::StrCat("there is no dim ", t.Describe(), DidYouMean(t.text, known),
                                 known.empty() ? "; declare it: dim " + std::string(t.text) : ""));
  }
  return absl::OkStatus();
}

absl::Status TextParser::DeclareDim(const Token& name) {
  if (name.kind != TokenKind::kName || name.text == "in") return Fault(name, "a dim needs a name");
  if (name.text.size() > kMaxNameBytes) {
    return Fault(name, absl::StrCat("a name of more than ", kMaxNameBytes, " bytes"));
  }
  if (!state_->dims.insert(std::string(name.text)).second) return absl::OkStatus();
  declared_.emplace_back(name.text);
  const Dim d = state_->graph->dims()->Symbol(name.text);
  return d.ok() ? absl::OkStatus() : At(name, d.status());
}

absl::StatusOr<ValueType> TextParser::TypeSpec(std::string_view subject, bool declare) {
  ValueType type;
  if (token_.kind == TokenKind::kName) {
    const auto dtype = FindDType(token_.text);
    if (!dtype.has_value()) {
      return Unexpected("an element type (f32, f64, i32, i64, bool)");
    }
    type.dtype = *dtype;
    Next();
  }
  const std::string_view close = token_.Is("(") ? ")" : "]";
  if (!token_.Is("(") && !token_.Is("[")) return Unexpected("'[' and a shape");
  Next();
  while (!token_.Is(close)) {
    if (type.shape.size() >= kMaxRank) {
      return Fault(token_, absl::StrCat("a shape of more than ", kMaxRank, " dims"));
    }
    LATHE_ASSIGN_OR_RETURN(const Dim d, ShapeEntry(subject, type.shape.size(), declare));
    type.shape.push_back(d);
    if (!token_.Is(",")) break;
    Next();
  }
  LATHE_RETURN_IF_ERROR(Expect(close, "at the end of the shape"));
  return type;
}

absl::StatusOr<Dim> TextParser::ShapeEntry(std::string_view subject, size_t axis, bool declare) {
  LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
  const std::string what = absl::StrCat("shape of ", std::string(subject));
  if (text.at().Is("?")) {
    if (!declare) return Fault(text.at(), "'?' can stand only in the shape of an input");
    std::string hint = IsPlainName(subject) ? std::string(subject) : "x";
    const Dim fresh = state_->graph->dims()->FreshSymbol(absl::StrCat(hint, "_d", axis));
    state_->dims.insert(fresh.ToString());
    declared_.push_back(fresh.ToString());
    LATHE_RETURN_IF_ERROR(Spec(text, 1, fresh, what));
    return fresh;
  }
  LATHE_RETURN_IF_ERROR(CheckNames(text, declare));
  const std::vector<Token>& tokens = text.tokens;
  size_t relation = FindRelation(tokens, 0);
  if (relation == tokens.size()) return ToDim(text);
  if (!declare) return Fault(tokens[relation], "bounds can stand only in the shape of an input");
  // "8 <= seq <= 64": the dim is the first side that isn't a number.
  size_t first = 0;
  LATHE_ASSIGN_OR_RETURN(Dim d, ToDim(text, first, relation));
  while (d.is_constant() && relation < tokens.size()) {
    first = relation + 1;
    relation = FindRelation(tokens, first);
    LATHE_ASSIGN_OR_RETURN(d, ToDim(text, first, relation));
  }
  // "seq % 8 == 0" says something of seq.
  const dim::Expr e = dim::Decompose(d);
  const bool congruence =
      relation < tokens.size() && tokens[relation].Is("==") && e.kind == dim::ExprKind::kMod;
  if (first == 0 && !congruence) {
    LATHE_RETURN_IF_ERROR(Spec(text, relation, d, what));
  } else {
    LATHE_RETURN_IF_ERROR(AddClaims(text, what));
  }
  return congruence ? e.operands[0] : d;
}

absl::Status TextParser::Spec(const DimText& text, size_t first, Dim subject,
                              const std::string& what) {
  const size_t count = text.tokens.size();
  if (first >= count) return absl::OkStatus();
  const Token& at = text.tokens[first];
  // "in 1..64" is the range itself; "in {1, 2}" stays.
  if (at.IsName("in") && first + 1 < count && !text.tokens[first + 1].Is("{")) ++first;
  const dim::Source source{what, LocationOf(at).ToString()};
  return AtColumn(text.tokens[std::min(first, count - 1)],
                  facts().AddSpec(&subject, text.Part(first, count), source));
}

absl::Status TextParser::AddClaims(const DimText& text, const std::string& what) {
  LATHE_ASSIGN_OR_RETURN(const std::vector<Claim> claims, ToClaims(text));
  for (const Claim& c : claims) {
    const dim::Source source{what, LocationOf(text.at()).ToString()};
    auto added = facts().Add(c, dim::Standing::kDeclared, source);
    if (!added.ok()) return At(text.at(), added.status());
  }
  return absl::OkStatus();
}

absl::Status TextParser::Constraint(const DimText& text, const std::string& what) {
  LATHE_RETURN_IF_ERROR(CheckNames(text, /*declare=*/false));
  const std::vector<Token>& tokens = text.tokens;
  const size_t relation = FindRelation(tokens, 0);
  const bool range = relation > 0 && relation + 1 < tokens.size() &&
                     tokens[relation].IsName("in") && !tokens[relation + 1].Is("{");
  if (!range) return AddClaims(text, what);
  LATHE_ASSIGN_OR_RETURN(const Dim subject, ToDim(text, 0, relation));
  return Spec(text, relation, subject, what);
}

absl::StatusOr<Dim> TextParser::SizeText() {
  LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
  LATHE_RETURN_IF_ERROR(CheckNames(text, /*declare=*/false));
  return ToDim(text);
}

absl::StatusOr<std::vector<Claim>> TextParser::ClaimsText() {
  std::vector<Claim> all;
  for (;;) {
    LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
    LATHE_RETURN_IF_ERROR(CheckNames(text, /*declare=*/false));
    LATHE_ASSIGN_OR_RETURN(const std::vector<Claim> claims, ToClaims(text));
    all.insert(all.end(), claims.begin(), claims.end());
    if (!token_.Is(",")) return all;
    Next();
  }
}

}  // namespace lathe::ir
