#include "ir/dim/parse.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ir/dim/facts.h"

namespace lathe::dim {
namespace {

constexpr int kNestingLimit = 200;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Claim Compare(std::string_view op, Dim a, Dim b) {
  if (op == "==") return Eq(a, b);
  if (op == "!=") return Ne(a, b);
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  return a >= b;
}

}  // namespace

void Parser::Next() {
  while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t' ||
                                      text_[position_] == '\n' || text_[position_] == '\r')) {
    ++position_;
  }
  token_start_ = position_;
  if (position_ == text_.size()) {
    token_ = {};
    return;
  }
  char c = text_[position_];
  size_t end = position_ + 1;
  if (IsDigit(c)) {
    while (end < text_.size() && IsDigit(text_[end])) ++end;
  } else if (IsNameStart(c)) {
    while (end < text_.size() &&
           (IsNameStart(text_[end]) || IsDigit(text_[end]) || text_[end] == '.')) {
      if (text_.substr(end, 2) == "..") break;
      ++end;
    }
  } else {
    for (std::string_view two : {"//", "==", "!=", "<=", ">=", ".."}) {
      if (text_.substr(position_, 2) == two) end = position_ + 2;
    }
  }
  token_ = text_.substr(position_, end - position_);
  position_ = end;
}

absl::Status Parser::Wanted(std::string_view what) const {
  std::string found = token_.empty() ? "the end" : absl::StrCat("\"", std::string(token_), "\"");
  return absl::InvalidArgumentError(absl::StrCat("column ", token_start_ + 1, ": found ", found,
                                                 ", wanted ", std::string(what), " in \"",
                                                 std::string(text_), "\""));
}

bool Parser::Accept(std::string_view token) {
  if (token_ != token) return false;
  Next();
  return true;
}

// What may follow an item, of which the last part may be left out: "1..".
bool Parser::AtEndOfItem() const {
  return token_.empty() || token_ == "," || token_ == "]" || token_ == ")";
}

bool Parser::AcceptRelation(std::string_view* op) {
  for (std::string_view r : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (token_ != r) continue;
    *op = r;
    Next();
    return true;
  }
  return false;
}

absl::StatusOr<Dim> Parser::Expression() {
  if (++depth_ > kNestingLimit) {
    return Wanted(absl::StrCat("at most ", kNestingLimit, " levels of parentheses"));
  }
  absl::StatusOr<Dim> sum = Product();
  while (sum.ok() && (token_ == "+" || token_ == "-")) {
    bool minus = token_ == "-";
    Next();
    absl::StatusOr<Dim> term = Product();
    if (!term.ok()) return term;
    sum = minus ? *sum - *term : *sum + *term;
  }
  --depth_;
  if (sum.ok() && !sum->ok()) return sum->status();
  return sum;
}

absl::StatusOr<Dim> Parser::Product() {
  absl::StatusOr<Dim> product = Unary();
  while (product.ok() && (token_ == "*" || token_ == "//" || token_ == "%" || token_ == "/")) {
    std::string_view op = token_;
    if (op == "/") return Wanted("// (floor division) or ceildiv(a, b)");
    Next();
    absl::StatusOr<Dim> factor = Unary();
    if (!factor.ok()) return factor;
    product = op == "*"    ? *product * *factor
              : op == "//" ? FloorDiv(*product, *factor)
                           : Mod(*product, *factor);
  }
  return product;
}

absl::StatusOr<Dim> Parser::Unary() {
  bool negative = false;
  while (token_ == "-") {
    negative = !negative;
    Next();
  }
  // The literal -2^63 has no positive counterpart.
  if (negative && token_ == "9223372036854775808") {
    Next();
    return Dim(INT64_MIN);
  }
  absl::StatusOr<Dim> value = Primary();
  if (value.ok() && negative) return -*value;
  return value;
}

absl::StatusOr<Dim> Parser::Primary() {
  if (Accept("(")) {
    absl::StatusOr<Dim> inner = Expression();
    if (inner.ok() && !Accept(")")) return Wanted("\")\"");
    return inner;
  }
  if (token_.empty()) return Wanted("a size");
  if (IsDigit(token_[0])) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(absl::string_view(token_.data(), token_.size()), &value)) {
      return Wanted("a number that fits int64");
    }
    Next();
    return Dim(value);
  }
  if (!IsNameStart(token_[0])) return Wanted("a size");
  return Name();
}

absl::StatusOr<Dim> Parser::Name() {
  std::string name(token_);
  std::string_view next = text_.substr(position_);
  while (!next.empty() && next[0] == ' ') next.remove_prefix(1);
  if (!next.empty() && next[0] == '(') return Call(name);
  absl::StatusOr<Dim> symbol = context_->Find(name);
  if (!symbol.ok()) {
    if (!make_symbols_) {
      return absl::NotFoundError(absl::StrCat("column ", token_start_ + 1, ": no size is named \"",
                                              name, "\" in \"", std::string(text_), "\""));
    }
    symbol = context_->Symbol(name);
  }
  Next();
  return symbol;
}

absl::StatusOr<Dim> Parser::Call(const std::string& name) {
  bool ceil = name == "ceildiv", min = name == "min", max = name == "max";
  if (!ceil && !min && !max) return Wanted("ceildiv, min or max as a function of sizes");
  Next();
  Next();
  absl::StatusOr<Dim> result = Expression();
  int count = 1;
  for (; result.ok() && Accept(","); ++count) {
    absl::StatusOr<Dim> next = Expression();
    if (!next.ok()) return next;
    if (ceil && count > 1) return Wanted("two operands of ceildiv");
    result = ceil ? CeilDiv(*result, *next) : min ? Min(*result, *next) : Max(*result, *next);
  }
  if (!result.ok()) return result;
  if (count < 2) return Wanted(absl::StrCat("\",\" and another operand of ", name));
  if (!Accept(")")) return Wanted("\",\" or \")\"");
  return result;
}

absl::StatusOr<int64_t> Parser::Integer() {
  absl::StatusOr<Dim> value = Unary();
  if (!value.ok()) return value.status();
  if (!value->is_constant()) return Wanted("only numbers between { and }");
  return value->constant();
}

absl::Status Parser::AppendMembership(Dim subject, std::vector<Claim>* out) {
  if (!Accept("{")) return AppendRange(subject, out);
  std::vector<int64_t> set;
  while (!Accept("}")) {
    if (!set.empty() && !Accept(",")) return Wanted("\",\" or \"}\"");
    absl::StatusOr<int64_t> value = Integer();
    if (!value.ok()) return value.status();
    set.push_back(*value);
  }
  out->push_back(In(subject, std::move(set)));
  return absl::OkStatus();
}

absl::Status Parser::AppendRange(Dim subject, std::vector<Claim>* out) {
  if (token_ != "..") {
    absl::StatusOr<Dim> low = Expression();
    if (!low.ok()) return low.status();
    if (token_ != "..") return Wanted("\"..\" of a range lowest..highest, or a set {1, 2}");
    out->push_back(*low <= subject);
  }
  Next();
  if (AtEndOfItem()) return absl::OkStatus();
  absl::StatusOr<Dim> high = Expression();
  if (!high.ok()) return high.status();
  out->push_back(subject <= *high);
  return absl::OkStatus();
}

absl::Status Parser::AppendChain(Dim first, std::vector<Claim>* out) {
  std::string_view op;
  bool any = false;
  while (AcceptRelation(&op)) {
    absl::StatusOr<Dim> next = Expression();
    if (!next.ok()) return next.status();
    out->push_back(Compare(op, first, *next));
    first = *next;
    any = true;
  }
  return any ? absl::OkStatus() : Wanted("a relation: == != < <= > >= or in");
}

absl::Status Parser::AppendClaim(std::vector<Claim>* out) {
  absl::StatusOr<Dim> first = Expression();
  if (!first.ok()) return first.status();
  if (Accept("in")) return AppendMembership(*first, out);
  return AppendChain(*first, out);
}

absl::Status Parser::AppendSpecItem(Dim subject, std::vector<Claim>* out) {
  if (Accept("?")) return absl::OkStatus();
  if (token_ == "{" || token_ == "..") return AppendMembership(subject, out);
  if (Accept("in")) return AppendMembership(subject, out);
  if (Accept("%")) {
    absl::StatusOr<Dim> divisor = Unary();
    if (!divisor.ok()) return divisor.status();
    Dim remainder = Mod(subject, *divisor);
    return remainder.ok() ? AppendChain(remainder, out) : remainder.status();
  }
  if (token_ == "==" || token_ == "!=" || token_ == "<" || token_ == "<=" || token_ == ">" ||
      token_ == ">=") {
    return AppendChain(subject, out);
  }
  absl::StatusOr<Dim> first = Expression();
  if (!first.ok()) return first.status();
  if (AtEndOfItem()) {  // "64": that very size
    out->push_back(Eq(subject, *first));
    return absl::OkStatus();
  }
  if (token_ == "..") {
    out->push_back(*first <= subject);
    return AppendRange(subject, out);
  }
  if (Accept("in")) return AppendMembership(*first, out);
  return AppendChain(*first, out);
}

absl::StatusOr<bool> Parser::Comma() {
  if (Accept(",")) return true;
  if (AtEnd()) return false;
  return Wanted("\",\" or the end");
}

absl::StatusOr<Dim> ParseDim(std::string_view text, DimContext* context, bool make_symbols) {
  Parser p(text, context, make_symbols);
  absl::StatusOr<Dim> d = p.Expression();
  if (d.ok() && !p.AtEnd()) return p.Wanted("an operator or the end");
  return d;
}

absl::StatusOr<std::vector<Claim>> ParseClaims(std::string_view text, DimContext* context,
                                               bool make_symbols) {
  Parser p(text, context, make_symbols);
  std::vector<Claim> claims;
  while (true) {
    if (absl::Status s = p.AppendClaim(&claims); !s.ok()) return s;
    absl::StatusOr<bool> more = p.Comma();
    if (!more.ok()) return more.status();
    if (!*more) return claims;
  }
}

}  // namespace lathe::dim
