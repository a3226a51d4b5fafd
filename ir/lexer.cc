#include "ir/lexer.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "ir/attr_text.h"

namespace lathe::ir {
namespace {

// Locale-free character classes.
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsNameByte(char c) { return IsNameStart(c) || IsDigit(c); }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  return (c >= 'a' ? c - 'a' : c - 'A') + 10;
}

// End of the name that starts at `begin`: a dot belongs to it only between name bytes.
size_t NameEnd(std::string_view s, size_t begin) {
  size_t i = begin;
  while (i < s.size()) {
    if (IsNameByte(s[i])) {
      ++i;
    } else if (s[i] == '.' && i + 1 < s.size() && IsNameByte(s[i + 1])) {
      i += 2;
    } else {
      break;
    }
  }
  return i;
}

constexpr std::array<std::string_view, 9> kLongPuncts = {
    "//", "==", "!=", "<=", ">=", "..", "->", "&&", "||"};
constexpr std::string_view kShortPuncts = "+-*/%@<>=()[]{},:.?~";

}  // namespace

std::string Token::Describe() const {
  switch (kind) {
    case TokenKind::kEnd:
      return "the end of the text";
    case TokenKind::kSeparator:
      return text == ";" ? "';'" : "the end of the line";
    case TokenKind::kBad:
      if (!text.empty() && text[0] == '"') return "a string without its closing quote";
      if (!text.empty() && (text[0] < ' ' || text[0] > '~')) {
        constexpr char kDigits[] = "0123456789abcdef";
        const unsigned byte = static_cast<unsigned char>(text[0]);
        return absl::StrCat("the byte 0x", std::string(1, kDigits[byte >> 4]),
                            std::string(1, kDigits[byte & 15]));
      }
      break;
    default:
      break;
  }
  std::string shown(text.substr(0, 40));
  if (text.size() > 40) shown += "...";
  return kind == TokenKind::kString ? shown : absl::StrCat("'", shown, "'");
}

bool Lexer::SkipBlanks() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (IsBlank(c)) {
      ++pos_;
    } else if (c == '#') {
      while (pos_ < text_.size() && text_[pos_] != '\n') ++pos_;
    } else if (c == '\n' && InBrackets()) {
      ++pos_;
      ++line_;
      line_start_ = pos_;
      column_offset_ = 0;
    } else {
      return c == '\n';
    }
  }
  return false;
}

Token Lexer::Make(TokenKind kind, size_t begin) {
  Token t;
  t.kind = kind;
  t.text = text_.substr(begin, pos_ - begin);
  t.line = line_;
  t.column = static_cast<int>(begin - line_start_) + 1 + column_offset_;
  after_operand_ = kind == TokenKind::kName || kind == TokenKind::kValue ||
                   kind == TokenKind::kNumber || t.Is(")") || t.Is("]");
  // After these words an operand follows, so a % begins a value.
  if (kind == TokenKind::kName && IsReservedWord(t.text)) after_operand_ = false;
  return t;
}

Token Lexer::Number(size_t begin) {
  const bool hex = text_[begin] == '0' && (At(begin + 1) == 'x' || At(begin + 1) == 'X');
  if (hex) pos_ += 2;
  auto digits = [&] {
    while (pos_ < text_.size() && (hex ? IsHex(text_[pos_]) : IsDigit(text_[pos_]))) ++pos_;
  };
  digits();
  // "1..64" is a range: its first dot belongs to `..`.
  if (At(pos_) == '.' && At(pos_ + 1) != '.') {
    ++pos_;
    digits();
  }
  const char e = At(pos_);
  if (hex ? (e == 'p' || e == 'P') : (e == 'e' || e == 'E')) {
    size_t i = pos_ + 1;
    if (At(i) == '+' || At(i) == '-') ++i;
    if (IsDigit(At(i))) {
      while (IsDigit(At(i))) ++i;
      pos_ = i;
    }
  }
  if (IsNameByte(At(pos_))) {  // "12abc" is one bad token, not two good ones
    pos_ = NameEnd(text_, pos_);
    return Make(TokenKind::kBad, begin);
  }
  return Make(TokenKind::kNumber, begin);
}

Token Lexer::String(size_t begin) {
  ++pos_;
  while (pos_ < text_.size() && text_[pos_] != '"' && text_[pos_] != '\n') {
    pos_ += text_[pos_] == '\\' && At(pos_ + 1) != '\n' && pos_ + 1 < text_.size() ? 2 : 1;
  }
  if (At(pos_) != '"') return Make(TokenKind::kBad, begin);
  ++pos_;
  return Make(TokenKind::kString, begin);
}

Token Lexer::Next() {
  if (SkipBlanks()) {
    ++pos_;
    Token t = Make(TokenKind::kSeparator, pos_ - 1);
    ++line_;
    line_start_ = pos_;
    column_offset_ = 0;
    return t;
  }
  const size_t begin = pos_;
  if (begin >= text_.size()) return Make(TokenKind::kEnd, begin);
  const char c = text_[begin];
  if (IsNameStart(c)) {
    pos_ = NameEnd(text_, begin);
    return Make(TokenKind::kName, begin);
  }
  if (IsDigit(c) || (c == '.' && IsDigit(At(begin + 1)))) return Number(begin);
  if (c == '"') return String(begin);
  if (c == ';') {
    ++pos_;
    return Make(TokenKind::kSeparator, begin);
  }
  if (c == '%' && !after_operand_ && IsDigit(At(begin + 1))) {
    ++pos_;
    while (IsDigit(At(pos_))) ++pos_;
    return Make(TokenKind::kValue, begin);
  }
  const std::string_view two = text_.substr(begin, 2);
  if (std::find(kLongPuncts.begin(), kLongPuncts.end(), two) != kLongPuncts.end()) {
    pos_ += 2;
    return Make(TokenKind::kPunct, begin);
  }
  ++pos_;
  if (kShortPuncts.find(c) == std::string_view::npos) return Make(TokenKind::kBad, begin);
  if (c == '(' || c == '[' || c == '{') {
    nesting_.push_back(c);
  } else if ((c == ')' || c == ']' || c == '}') && !nesting_.empty()) {
    nesting_.pop_back();
  }
  return Make(TokenKind::kPunct, begin);
}

char Lexer::PeekChar(char* second) const {
  size_t i = pos_;
  while (IsBlank(At(i)) || (At(i) == '\n' && InBrackets())) ++i;
  if (second != nullptr) *second = At(i + 1);
  return At(i);
}

bool IsReservedWord(std::string_view name) {
  constexpr std::array<std::string_view, 17> kWords = {
      "program", "dim", "assume", "output", "yield", "if",  "else",  "in",   "and",
      "or",      "not", "true",   "false",  "inf",   "nan", "input", "where"};
  return std::find(kWords.begin(), kWords.end(), name) != kWords.end() || FindDType(name);
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && IsNameStart(name[0]) && NameEnd(name, 0) == name.size() &&
         !IsReservedWord(name);
}

std::string Quote(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

bool Unquote(std::string_view quoted, std::string* text) {
  text->clear();
  if (quoted.size() < 2) return false;
  const std::string_view s = quoted.substr(1, quoted.size() - 2);
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\') {
      text->push_back(s[i]);
      continue;
    }
    if (++i >= s.size()) return false;
    switch (s[i]) {
      case '"':
        text->push_back('"');
        break;
      case '\\':
        text->push_back('\\');
        break;
      case 'n':
        text->push_back('\n');
        break;
      case 't':
        text->push_back('\t');
        break;
      case 'x':
        if (i + 2 >= s.size() || !IsHex(s[i + 1]) || !IsHex(s[i + 2])) return false;
        text->push_back(static_cast<char>(HexValue(s[i + 1]) * 16 + HexValue(s[i + 2])));
        i += 2;
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace lathe::ir
