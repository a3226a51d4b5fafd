#include "ir/mend_candidates.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/text_parser.h"

namespace lathe::ir {
namespace {

bool Opens(const Token& t) { return t.Is("(") || t.Is("[") || t.Is("{"); }
bool Closes(const Token& t) { return t.Is(")") || t.Is("]") || t.Is("}"); }
bool IsWord(const Token& t) {
  return t.kind == TokenKind::kName || t.kind == TokenKind::kValue || t.kind == TokenKind::kNumber;
}

std::vector<Token> TokensOf(std::string_view text, int line = 1, int column = 1) {
  std::vector<Token> tokens;
  Lexer lexer(text, line, column);
  for (Token t = lexer.Next(); t.kind != TokenKind::kEnd; t = lexer.Next()) {
    if (t.kind != TokenKind::kSeparator) tokens.push_back(t);
  }
  return tokens;
}

// The texts between `open` and `close`, one after another: 'a' or 'b'.
std::vector<std::string> Quoted(std::string_view text, char quote) {
  std::vector<std::string> words;
  for (size_t at = text.find(quote); at != std::string_view::npos; at = text.find(quote, at)) {
    const size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    words.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return words;
}

}  // namespace

bool ParsedStatement::IsInput() const {
  if (tokens.size() < 3 || !tokens[1].Is(":")) return false;
  return std::none_of(tokens.begin(), tokens.end(), [](const Token& t) { return t.Is("="); });
}

std::vector<ParsedStatement> StatementsOf(std::string_view program) {
  std::vector<ParsedStatement> statements;
  StatementReader reader(program);
  int last_line = 0;
  for (StatementText s = reader.Next(); !s.text.empty(); s = reader.Next()) {
    statements.push_back({s.text, s.line, s.line != last_line, TokensOf(s.text, s.line, s.column)});
    last_line = statements.back().tokens.empty() ? s.line : statements.back().tokens.back().line;
  }
  return statements;
}

Candidates::Candidates(const std::vector<ParsedStatement>& statements, int line, int column)
    : statements_(statements) {
  const std::vector<Token>& tokens = failed().tokens;
  for (error_ = 0; error_ < tokens.size(); ++error_) {
    const Token& t = tokens[error_];
    if (t.line > line || (t.line == line && t.column >= column)) break;
  }
}

std::vector<Edit> Candidates::Of(const absl::Status& error) {
  if (failed().tokens.empty()) return {};
  for (const Hint& hint : HintsOf(error)) FromHint(hint);
  const std::string message(error.message());
  FromConflict(message);
  FromWords(message);
  return std::move(edits_);
}

std::string_view Candidates::TextOf(const ParsedStatement& s, Span span) {
  if (span.first >= span.last) return {};
  const char* begin = s.tokens[span.first].text.data();
  const std::string_view end = s.tokens[span.last - 1].text;
  return {begin, static_cast<size_t>(end.data() + end.size() - begin)};
}

void Candidates::Change(const Token& at, std::string_view old_text, std::string new_text) {
  if (old_text.find('\n') != std::string_view::npos) return;
  edits_.push_back({new_text.empty() ? Edit::Kind::kDrop : Edit::Kind::kChange, at.line, at.column,
                    std::string(old_text), std::move(new_text)});
}

void Candidates::Change(const ParsedStatement& s, Span span, std::string new_text) {
  if (span.first < span.last) Change(s.tokens[span.first], TextOf(s, span), std::move(new_text));
}

void Candidates::FromHint(const Hint& hint) {
  switch (hint.kind) {
    case Hint::Kind::kAssume:
      return Assume(absl::StrCat("assume ", hint.a));
    case Hint::Kind::kWrap:
      return Wrap(hint);
    case Hint::Kind::kAttr:
      return Attr(hint.a, hint.b);
    case Hint::Kind::kNumber:
      return Number(failed(), hint.a, hint.b);
    case Hint::Kind::kDims:
      return Dims(hint.a, hint.b);
    case Hint::Kind::kWord:
      return Word(hint.a);
    case Hint::Kind::kInsert:
      return Insert(hint.a);
    case Hint::Kind::kDropItem:
      return DropItem();
    case Hint::Kind::kYield:
      return Yield(hint);
    case Hint::Kind::kCondition:
      return Condition(hint.a);
    case Hint::Kind::kType:
      return Type(hint.a);
    case Hint::Kind::kSize:
    case Hint::Kind::kInput:
      return;  // of calls
  }
}

void Candidates::Assume(const std::string& statement) {
  const Token& first = failed().tokens[0];
  if (failed().first_on_line) {
    edits_.push_back({Edit::Kind::kAdd, first.line, 1, "", statement});
  } else {
    Change(first, first.text, absl::StrCat(statement, "; ", std::string(first.text)));
  }
}

size_t Candidates::Match(size_t open) const {
  const std::vector<Token>& tokens = failed().tokens;
  int depth = 0;
  for (size_t i = open; i < tokens.size(); ++i) {
    if (Opens(tokens[i])) ++depth;
    if (Closes(tokens[i]) && --depth == 0) return i;
  }
  return tokens.size();
}

std::vector<Candidates::Span> Candidates::Arguments(size_t name) const {
  const std::vector<Token>& tokens = failed().tokens;
  std::vector<Span> arguments;
  if (name + 1 >= tokens.size() || !tokens[name + 1].Is("(")) return arguments;
  const size_t close = Match(name + 1);
  size_t begin = name + 2;
  for (size_t i = begin; i <= close && i < tokens.size(); ++i) {
    if (i == close || tokens[i].Is(",")) {
      if (begin < i) arguments.push_back({begin, i});
      begin = i + 1;
    } else if (Opens(tokens[i])) {
      i = std::min(Match(i), close) - (tokens[i].Is("(") && Match(i) >= close ? 1 : 0);
    }
  }
  return arguments;
}

// A name, a number, a call or brackets, with the slices behind it, that ends before token `end`.
Candidates::Span Candidates::PrimaryBefore(size_t end) const {
  const std::vector<Token>& tokens = failed().tokens;
  size_t first = end;
  while (first > 0 && Closes(tokens[first - 1])) {
    int depth = 0;
    size_t i = first;
    while (i > 0) {
      --i;
      if (Closes(tokens[i])) ++depth;
      if (Opens(tokens[i]) && --depth == 0) break;
    }
    const bool slice = tokens[i].Is("[");
    first = i;
    if (!slice) break;
  }
  const bool more = first == end || tokens[first].Is("[") || tokens[first].Is("(");
  if (more && first > 0 && IsWord(tokens[first - 1])) --first;
  return {first, end};
}

Candidates::Span Candidates::PrimaryAt(size_t begin) const {
  const std::vector<Token>& tokens = failed().tokens;
  size_t end = begin;
  if (end < tokens.size() && tokens[end].Is("-")) ++end;
  if (end < tokens.size() && tokens[end].Is("(")) {
    end = std::min(Match(end) + 1, tokens.size());
  } else if (end < tokens.size() && IsWord(tokens[end])) {
    ++end;
    if (end < tokens.size() && tokens[end].Is("(")) end = std::min(Match(end) + 1, tokens.size());
  } else {
    return {begin, begin};
  }
  while (end < tokens.size() && tokens[end].Is("[")) end = std::min(Match(end) + 1, tokens.size());
  return {begin, end};
}

void Candidates::Wrap(const Hint& hint) {
  const std::vector<Token>& tokens = failed().tokens;
  if (error_ >= tokens.size()) return;
  std::vector<Span> spans;
  const Token& t = tokens[error_];
  if (t.kind == TokenKind::kNumber) {  // the value on the other side of its operator
    const bool left = error_ > 0 && tokens[error_ - 1].kind == TokenKind::kPunct &&
                      !Opens(tokens[error_ - 1]) && !tokens[error_ - 1].Is("=");
    const Span span = left ? PrimaryBefore(error_ - 1) : PrimaryAt(error_ + 2);
    Change(failed(), span, absl::StrCat(hint.a, std::string(TextOf(failed(), span)), hint.b));
    return;
  }
  if (t.kind == TokenKind::kName && error_ + 1 < tokens.size() && tokens[error_ + 1].Is("(")) {
    const std::vector<Span> arguments = Arguments(error_);
    if (static_cast<size_t>(hint.index) < arguments.size()) spans.push_back(arguments[hint.index]);
  } else if (t.kind == TokenKind::kPunct && hint.index == 0) {
    if (t.Is("-") || t.Is("[")) spans.push_back(PrimaryAt(error_ + 1));
    spans.push_back(PrimaryBefore(error_));
    size_t start = error_;  // all in front of the operator: a * b of a * b + c
    while (start > 0 && !tokens[start - 1].Is("=") && !Opens(tokens[start - 1]) &&
           !tokens[start - 1].Is(",")) {
      --start;
      if (Closes(tokens[start])) start = PrimaryBefore(start + 1).first;
    }
    spans.push_back({start, error_});
  } else {
    spans.push_back(PrimaryAt(error_ + (t.kind == TokenKind::kName && !t.IsName("not") &&
                                                !t.IsName("and") && !t.IsName("or")
                                            ? 0
                                            : 1)));
  }
  for (const Span span : spans) {
    const std::string_view inner = TextOf(failed(), span);
    Change(failed(), span, absl::StrCat(hint.a, std::string(inner), hint.b));
  }
}

void Candidates::Attr(const std::string& name, const std::string& value) {
  const std::vector<Token>& tokens = failed().tokens;
  if (error_ >= tokens.size()) return;
  const std::vector<Span> arguments = Arguments(error_);
  for (const Span span : arguments) {
    const bool keyword = span.last - span.first > 2 && tokens[span.first + 1].Is("=");
    if (keyword && tokens[span.first].IsName(name)) {
      return Change(failed(), {span.first + 2, span.last}, value);
    }
  }
  for (const Span span : arguments) {  // given without its name
    const Token& first = tokens[span.first];
    if (first.Is("[") && value.starts_with('[')) return Change(failed(), span, value);
  }
  const size_t close = error_ + 1 < tokens.size() ? Match(error_ + 1) : tokens.size();
  if (close < tokens.size()) {
    const std::string comma = arguments.empty() ? "" : ", ";
    Change(failed(), {close, close + 1}, absl::StrCat(comma, name, "=", value, ")"));
  }
}

void Candidates::Number(const ParsedStatement& s, const std::string& from, const std::string& to) {
  const bool negative = from.starts_with('-');
  const std::string digits = from.substr(negative ? 1 : 0);
  for (size_t i = s.tokens.size(); i-- > 0;) {
    if (s.tokens[i].kind != TokenKind::kNumber || s.tokens[i].text != digits) continue;
    if (!negative) {
      Change(s, {i, i + 1}, to);
    } else if (i > 0 && s.tokens[i - 1].Is("-")) {
      Change(s, {i - 1, i + 1}, to);
    }
  }
}

// An entry of a shape that reads `a` becomes `b`, or the other way round: inputs before the rest,
// near ones before far ones.
void Candidates::Dims(const std::string& a, const std::string& b) {
  for (const bool inputs : {true, false}) {
    for (size_t k = statements_.size(); k-- > 0;) {
      const ParsedStatement& s = statements_[k];
      if (s.IsInput() != inputs) continue;
      for (size_t i = s.tokens.size(); i-- > 1;) {
        const Token& before = s.tokens[i - 1];
        if (!before.Is("[") && !before.Is(",") && !before.Is("(")) continue;
        size_t end = i;
        while (end < s.tokens.size() && !s.tokens[end].Is(",") && !Closes(s.tokens[end])) ++end;
        std::string entry(TextOf(s, {i, end}));
        entry.erase(std::remove(entry.begin(), entry.end(), ' '), entry.end());
        if (entry == b) Change(s, {i, end}, a);
        if (entry == a) Change(s, {i, end}, b);
      }
    }
  }
}

void Candidates::Word(const std::string& word) {
  if (error_ < failed().tokens.size()) Change(failed(), {error_, error_ + 1}, word);
}

// Behind the token in front of the error's place, where what is missing belongs.
void Candidates::Insert(const std::string& text) {
  if (error_ == 0) return;
  const Token& before = failed().tokens[error_ - 1];
  const bool spaced = IsPlainName(text) || text == "=";
  Change(before, before.text,
         absl::StrCat(std::string(before.text), spaced || text == "{" ? " " : "", text));
}

void Candidates::DropItem() {
  const std::vector<Token>& tokens = failed().tokens;
  size_t end = error_;
  int depth = 0;
  for (; end < tokens.size(); ++end) {
    if (depth == 0 && (tokens[end].Is(",") || Closes(tokens[end]))) break;
    if (Opens(tokens[end])) ++depth;
    if (Closes(tokens[end])) --depth;
  }
  const bool behind_comma = error_ > 0 && tokens[error_ - 1].Is(",");
  Change(failed(), {error_ - (behind_comma ? 1 : 0), end}, "");
}

void Candidates::Yield(const Hint& hint) {
  const std::vector<Token>& tokens = failed().tokens;
  for (size_t i = tokens.size(); i-- > 0;) {
    if (!tokens[i].IsName("yield")) continue;
    size_t end = i + 1;
    int depth = 0;
    for (; end < tokens.size(); ++end) {
      if (Opens(tokens[end])) ++depth;
      if (Closes(tokens[end]) && --depth < 0) break;
      if (depth == 0 && tokens[end].line != tokens[i].line) break;
    }
    const Span value{i + 1, end};
    Change(failed(), value, absl::StrCat(hint.a, std::string(TextOf(failed(), value)), hint.b));
  }
}

void Candidates::Condition(const std::string& claim) {
  const std::vector<Token>& tokens = failed().tokens;
  for (size_t i = tokens.size(); i-- > 0;) {
    if (!tokens[i].IsName("if")) continue;
    size_t end = i + 1;
    while (end < tokens.size() && !(tokens[end].Is("{") && !tokens[end - 1].IsName("in"))) ++end;
    Change(failed(), {i + 1, end}, claim);
  }
}

void Candidates::Type(const std::string& type) {
  const std::vector<Token>& tokens = failed().tokens;
  size_t colon = 0, equals = 0;
  for (size_t i = 0; i < tokens.size() && equals == 0; ++i) {
    if (colon == 0 && tokens[i].Is(":")) colon = i;
    if (tokens[i].Is("=")) equals = i;
  }
  if (colon > 0 && equals > colon) Change(failed(), {colon + 1, equals}, type);
}

// What the message offers: near names, a dim to declare, a bracket that is missing.
void Candidates::FromWords(std::string_view message) {
  constexpr std::string_view kMean = "; did you mean ", kNoDim = "there is no dim '";
  if (const size_t at = message.find(kMean); at != std::string_view::npos) {
    for (const std::string& name : Quoted(message.substr(at + kMean.size()), '\'')) Word(name);
  }
  if (const size_t at = message.find(kNoDim); at != std::string_view::npos) {
    const std::vector<std::string> names = Quoted(message.substr(at), '\'');
    if (!names.empty()) Assume(absl::StrCat("dim ", names[0]));
  }
  if (message.find(" was expected") == std::string_view::npos &&
      message.find(", wanted an operator") == std::string_view::npos) {
    return;
  }
  for (const char* text : {",", "]", ")", "}"}) Insert(text);
}

// The facts of a conflict, as Conflict::ToString lists them: the change that it offers, then each
// declared fact left out, the last one first.
void Candidates::FromConflict(std::string_view message) {
  constexpr std::string_view kStanding = "  [declared: ", kPlace = " at ";
  std::string mend;
  const std::string facts = WithoutMend(message, &mend);
  const std::vector<std::string> offer = Quoted(mend, '"');
  struct Listed {
    const ParsedStatement* statement;
    size_t token;
    std::string claim;
  };
  std::vector<Listed> listed;
  for (absl::string_view row : absl::StrSplit(facts, '\n')) {
    const std::string_view line(row.data(), row.size());
    const size_t standing = line.find(kStanding), place = line.rfind(kPlace);
    if (!line.starts_with("  ") || standing == std::string_view::npos || place < standing ||
        place == std::string_view::npos) {
      continue;
    }
    // The place ends in line:column, or in "line 3:5" for a text without a file name.
    std::string_view where = line.substr(place + kPlace.size());
    if (where.ends_with(']')) where.remove_suffix(1);
    for (const ParsedStatement& s : statements_) {
      for (size_t i = 0; i < s.tokens.size(); ++i) {
        const std::string at = absl::StrCat(s.tokens[i].line, ":", s.tokens[i].column);
        if (!where.ends_with(at)) continue;
        const std::string_view front = where.substr(0, where.size() - at.size());
        if (!front.empty() && front.back() >= '0' && front.back() <= '9') continue;
        listed.push_back({&s, i, std::string(line.substr(2, standing - 2))});
      }
    }
  }
  for (const Listed& fact : listed) {
    if (offer.size() == 2 && mend.starts_with("change ") && fact.claim == offer[0]) {
      MoveFact(*fact.statement, fact.token, offer[0], offer[1]);
    }
  }
  for (size_t i = listed.size(); i-- > 0;) DropFact(*listed[i].statement, listed[i].token);
}

// The one number in which the two claims differ, or the whole claim, written anew at the fact.
void Candidates::MoveFact(const ParsedStatement& s, size_t at, std::string_view from,
                          std::string_view to) {
  const std::vector<Token> before = TokensOf(from), after = TokensOf(to);
  size_t end = at;
  while (end < s.tokens.size() && !s.tokens[end].Is(",")) ++end;
  for (size_t i = 0; i < before.size() && i < after.size(); ++i) {
    if (before[i].text == after[i].text) continue;
    if (before[i].kind != TokenKind::kNumber || after[i].kind != TokenKind::kNumber) break;
    for (size_t k = end; k-- > at;) {
      if (s.tokens[k].kind == TokenKind::kNumber && s.tokens[k].text == before[i].text) {
        Change(s, {k, k + 1}, std::string(after[i].text));
      }
    }
    break;
  }
  const bool inner = end > at && Closes(s.tokens[end - 1]) && s.IsInput();
  Change(s, {at, inner ? end - 1 : end}, std::string(to));
}

void Candidates::DropFact(const ParsedStatement& s, size_t at) {
  size_t end = at;
  int depth = 0;
  for (; end < s.tokens.size(); ++end) {
    if (depth == 0 && (s.tokens[end].Is(",") || Closes(s.tokens[end]))) break;
    if (Opens(s.tokens[end])) ++depth;
    if (Closes(s.tokens[end])) --depth;
  }
  if (s.tokens[at - (at > 0 ? 1 : 0)].Is(",")) {  // ", n % 2 == 0"
    return Change(s, {at - 1, end}, "");
  }
  if (at == 1 && s.tokens[0].IsName("assume")) {
    if (end == s.tokens.size()) {
      edits_.push_back({Edit::Kind::kDrop, s.tokens[0].line, s.tokens[0].column,
                        std::string(TextOf(s, {0, end})), ""});
    } else {
      Change(s, {at, end + 1}, "");  // with the comma behind it
    }
    return;
  }
  Change(s, {at, end}, "");  // a bound behind the dim's name
  if (s.tokens[at].kind == TokenKind::kName) {
    Change(s, {at, end}, std::string(s.tokens[at].text));  // seq % 8 == 0 in a shape: seq
  }
}

}  // namespace lathe::ir
