// Types, dims and claims in texts. The arithmetic itself is read by ir/dim (ParseDim, ParseClaims,
// AddSpec); here its extent is found, its names are checked, and what it declares becomes facts.
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/hint.h"
#include "ir/shape_spec.h"
#include "ir/text_internal.h"

namespace lathe::ir {
namespace {

constexpr size_t kMaxDimTokens = 1 << 16;

bool IsRelation(const Token& t) {
  return t.IsName("in") || t.Is("==") || t.Is("!=") || t.Is("<") || t.Is("<=") || t.Is(">") ||
         t.Is(">=");
}

// A size without a name, in the shape of an input.
bool IsUnknown(const Token& t) { return t.Is("?") || t.IsName("_") || t.IsName("None"); }

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
      if (t.IsName("where") && !out.tokens.empty()) break;
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
  return At(place, WithMessage(s, std::string(message)));
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
    if (t.kind != TokenKind::kName || t.text == "in" || IsUnknown(t)) continue;
    if (i + 1 < tokens.size() && tokens[i + 1].Is("(")) continue;  // ceildiv, min, max
    if (state_->dims.contains(std::string(t.text))) continue;
    if (NamesElement(t)) continue;
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
  if (IsUnknown(name)) {
    return Fault(name, absl::StrCat(name.Describe(), " stands for a size without a name"));
  }
  if (IsReservedWord(name.text)) return ReservedWord(name);
  if (name.text.size() > kMaxNameBytes) {
    return Fault(name, absl::StrCat("a name of more than ", kMaxNameBytes, " bytes"));
  }
  if (!state_->dims.insert(std::string(name.text)).second) return absl::OkStatus();
  declared_.emplace_back(name.text);
  const Dim d = state_->graph->dims()->Symbol(name.text);
  return d.ok() ? absl::OkStatus() : At(name, d.status());
}

absl::StatusOr<ValueType> TextParser::TypeSpec(std::string_view subject, bool declare, bool bare) {
  ValueType type;
  const bool is_dtype = token_.kind == TokenKind::kName && FindDType(token_.text).has_value();
  const bool brackets =
      is_dtype || token_.Is("(") || token_.Is("[") || lexer_.PeekChar() == '[' || token_.IsEnd();
  if (bare && !brackets) {
    LATHE_RETURN_IF_ERROR(ShapeEntries("", subject, declare, &type.shape));
    return type;
  }
  if (token_.kind == TokenKind::kName) {
    const auto dtype = FindDType(token_.text);
    if (!dtype.has_value()) {
      return WithHint(Unexpected("an element type such as f32"), {Hint::Kind::kWord, "f32", ""});
    }
    type.dtype = *dtype;
    Next();
  }
  const std::string_view close = token_.Is("(") ? ")" : "]";
  if (!token_.Is("(") && !token_.Is("[")) return Unexpected("'[' and a shape");
  Next();
  LATHE_RETURN_IF_ERROR(ShapeEntries(close, subject, declare, &type.shape));
  return type;
}

// Up to the bracket `close`, or the end if there is none; and the claims that may follow.
absl::Status TextParser::ShapeEntries(std::string_view close, std::string_view subject,
                                      bool declare, Shape* shape) {
  const bool bare = close.empty();
  while (bare || !token_.Is(close)) {
    if (shape->size() >= kMaxRank) {
      return Fault(token_, absl::StrCat("a shape of more than ", kMaxRank, " dims"));
    }
    if (token_.Is("..") && lexer_.PeekChar() == '.') {
      return Fault(token_, "'...' needs a rank, which nothing gives here: write ? for each axis");
    }
    if (token_.Is("~")) {
      LATHE_RETURN_IF_ERROR(RaggedEntry(subject, declare, shape));
    } else {
      LATHE_ASSIGN_OR_RETURN(const Dim d, ShapeEntry(subject, shape->size(), declare));
      shape->push_back(d);
    }
    if (!token_.Is(",")) break;
    Next();
  }
  if (!bare) LATHE_RETURN_IF_ERROR(Expect(close, "at the end of the shape"));
  if (!token_.IsName("where")) return absl::OkStatus();
  if (!declare) return Fault(token_, "claims can stand only beside the shape of an input");
  do {
    Next();
    LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
    LATHE_RETURN_IF_ERROR(Constraint(text, absl::StrCat("shape of ", std::string(subject))));
  } while (token_.Is(","));
  return absl::OkStatus();
}

absl::StatusOr<Dim> TextParser::ShapeEntry(std::string_view subject, size_t axis, bool declare) {
  LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
  if (!declare) {
    if (IsUnknown(text.at())) {
      return Fault(text.at(),
                   absl::StrCat(text.at().Describe(), " can stand only in the shape of an input"));
    }
    const size_t relation = FindRelation(text.tokens, 0);
    if (relation < text.tokens.size())
      return Fault(text.tokens[relation], "bounds can stand only in the shape of an input");
  }
  LATHE_RETURN_IF_ERROR(CheckNames(text, declare));
  dim::DimContext* dims = state_->graph->dims();
  dim::Parser parser(text.text, dims, /*make_symbols=*/false);
  auto spec = ReadDimSpec(&parser, dims, subject, static_cast<int>(axis));
  if (spec.ok() && !parser.AtEnd()) spec = parser.Wanted("the end of the entry");
  if (!spec.ok()) return AtColumn(text.at(), spec.status());
  if (!spec->dim.ok()) return At(text.at(), spec->dim.status());
  if (!spec->named) {
    state_->dims.insert(spec->dim.ToString());
    declared_.push_back(spec->dim.ToString());
  }
  // "seq <= 8" speaks at its relation, other forms at their beginning.
  const size_t relation = FindRelation(text.tokens, 0);
  const bool plain = relation < text.tokens.size() && text.at().kind != TokenKind::kNumber &&
                     spec->kind != DimKind::kDivisible;
  const std::string what = absl::StrCat("shape of ", std::string(subject));
  LATHE_RETURN_IF_ERROR(AddClaims(plain ? text.tokens[relation] : text.at(), spec->claims, what));
  return spec->dim;
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

absl::Status TextParser::AddClaims(const Token& at, const std::vector<Claim>& claims,
                                   const std::string& what) {
  for (const Claim& c : claims) {
    const dim::Source source{what, LocationOf(at).ToString()};
    auto added = facts().Add(c, dim::Standing::kDeclared, source);
    if (!added.ok()) return At(at, added.status());
  }
  return absl::OkStatus();
}

absl::Status TextParser::Constraint(const DimText& text, const std::string& what) {
  LATHE_RETURN_IF_ERROR(CheckNames(text, /*declare=*/false));
  const std::vector<Token>& tokens = text.tokens;
  const size_t relation = FindRelation(tokens, 0);
  const bool range = relation > 0 && relation + 1 < tokens.size() &&
                     tokens[relation].IsName("in") && !tokens[relation + 1].Is("{");
  if (!range) {
    LATHE_ASSIGN_OR_RETURN(const std::vector<Claim> claims, ToClaims(text));
    return AddClaims(text.at(), claims, what);
  }
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
