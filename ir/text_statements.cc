// Statements: program, dim, assume, inputs, definitions, outputs, and the blocks of `if`.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/text_internal.h"

namespace lathe::ir {

TextParser::TextParser(TextSession::State* state, std::string_view text, int line, int column)
    : state_(state), lexer_(text, line, column), builder_(state->graph) {
  Next();
}

absl::StatusOr<StatementResult> TextParser::Statement(bool* done) {
  while (token_.kind == TokenKind::kSeparator) Next();
  *done = token_.kind == TokenKind::kEnd;
  if (*done) return StatementResult{};
  absl::StatusOr<StatementResult> result;
  if (token_.IsName("program")) {
    result = Program();
  } else if (token_.IsName("dim")) {
    result = DimStatement();
  } else if (token_.IsName("assume")) {
    result = Assume();
  } else if (token_.IsName("output")) {
    result = OutputStatement();
  } else if (token_.IsName("yield")) {
    result = Fault(token_, "yield can stand only inside an if");
  } else {
    result = Definition();
  }
  if (result.ok() && !token_.IsEnd()) return Unexpected("the end of the statement");
  return result;
}

void TextParser::Commit() {
  for (auto& [name, value] : named_) state_->values[std::move(name)] = value;
  named_.clear();
}

absl::Status TextParser::ExpectEnd() {
  while (token_.kind == TokenKind::kSeparator) Next();
  if (token_.kind != TokenKind::kEnd) return Unexpected("the end of the text");
  return absl::OkStatus();
}

absl::StatusOr<StatementResult> TextParser::Program() {
  Next();
  StatementResult result{StatementKind::kProgram, "", kNoValue};
  if (token_.kind == TokenKind::kString) {
    LATHE_ASSIGN_OR_RETURN(result.name, StringValue());
  } else if (token_.kind == TokenKind::kName) {
    result.name = std::string(token_.text);
    Next();
  } else if (!token_.IsEnd()) {
    return Unexpected("the program's name");
  }
  state_->graph->name = result.name;
  return result;
}

absl::StatusOr<StatementResult> TextParser::DimStatement() {
  Next();
  StatementResult result{StatementKind::kDim, "", kNoValue};
  Token name;
  for (bool first = true;; first = false) {
    LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
    const std::vector<Token>& tokens = text.tokens;
    const bool names = tokens[0].kind == TokenKind::kName && !tokens[0].IsName("in");
    // `seq in 1..8` or `seq` after a comma declares another dim; `seq % 8 == 0` is a claim.
    const bool declares =
        names && (first || tokens.size() == 1 ||
                  (tokens[1].IsName("in") && !state_->dims.contains(std::string(tokens[0].text))));
    if (first && !names) return Fault(tokens[0], "dim needs a name: dim seq in 1..8192");
    if (declares) name = tokens[0];
    const std::string what = absl::StrCat("dim ", std::string(name.text));
    if (declares) {
      LATHE_RETURN_IF_ERROR(DeclareDim(name));
      if (result.name.empty()) result.name = std::string(name.text);
    }
    const Dim subject = state_->graph->dims()->Symbol(name.text);
    LATHE_RETURN_IF_ERROR(CheckNames(text, /*declare=*/false));
    const bool continues =
        !declares &&
        (tokens[0].IsName("in") || tokens[0].Is("%") || tokens[0].Is("<=") || tokens[0].Is(">=") ||
         tokens[0].Is("<") || tokens[0].Is(">") || tokens[0].Is("==") || tokens[0].Is("!="));
    if (declares && !(tokens.size() > 1 && tokens[1].kind == TokenKind::kPunct)) {
      LATHE_RETURN_IF_ERROR(Spec(text, 1, subject, what));
    } else if (continues) {
      LATHE_RETURN_IF_ERROR(Spec(text, 0, subject, what));
    } else {
      LATHE_RETURN_IF_ERROR(Constraint(text, what));
    }
    if (!token_.Is(",")) return result;
    Next();
  }
}

absl::StatusOr<StatementResult> TextParser::Assume() {
  Next();
  for (;;) {
    LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
    LATHE_RETURN_IF_ERROR(Constraint(text, "assume"));
    if (!token_.Is(",")) return StatementResult{StatementKind::kAssume, "", kNoValue};
    Next();
  }
}

absl::StatusOr<StatementResult> TextParser::OutputStatement() {
  Next();
  StatementResult result{StatementKind::kOutput, "", kNoValue};
  const Token at = token_;
  char second = 0;
  const bool named = (at.kind == TokenKind::kName || at.kind == TokenKind::kString) &&
                     lexer_.PeekChar(&second) == '=' && second != '=';
  if (named) {
    if (at.kind == TokenKind::kString) {
      LATHE_ASSIGN_OR_RETURN(result.name, StringValue());
    } else {
      result.name = std::string(at.text);
      Next();
    }
    Next();  // '='
    LATHE_ASSIGN_OR_RETURN(result.value, RightHandSide());
  } else {
    LATHE_ASSIGN_OR_RETURN(result.value, RightHandSide());
    if (at.kind == TokenKind::kName && LookupValue(at.text) == result.value) {
      result.name = std::string(at.text);
    } else {
      result.name = absl::StrCat("output", state_->graph->body.results.size());
    }
  }
  if (const absl::Status s = builder_.Output(result.name, result.value); !s.ok()) {
    const std::string again =
        absl::StrCat(result.name, "2", named ? "" : absl::StrCat(" = ", result.name));
    return s.code() == absl::StatusCode::kAlreadyExists
               ? WithHint(At(at, s), {Hint::Kind::kWord, again, ""})
               : At(at, s);
  }
  return result;
}

bool TextParser::AtLabel() const {
  if (token_.kind != TokenKind::kName && token_.kind != TokenKind::kValue) return false;
  char second = 0;
  const char c = lexer_.PeekChar(&second);
  return c == ':' || c == '"' || (c == '=' && second != '=');
}

absl::StatusOr<TextParser::Label> TextParser::ReadLabel() {
  Label label{token_, std::string(token_.text), ""};
  if (token_.text.size() > kMaxNameBytes) {
    return Fault(token_, absl::StrCat("a name of more than ", kMaxNameBytes, " bytes"));
  }
  if (token_.kind == TokenKind::kName) {
    if (IsReservedWord(token_.text)) {
      return ReservedWord(token_);
    }
    label.name = label.key;
  }
  Next();
  if (token_.kind == TokenKind::kString) {
    LATHE_ASSIGN_OR_RETURN(label.name, StringValue());
  }
  return label;
}

absl::StatusOr<StatementResult> TextParser::Definition() {
  const size_t first_new = state_->graph->num_nodes();
  if (!AtLabel()) {
    LATHE_ASSIGN_OR_RETURN(const ValueId v, RightHandSide());
    return StatementResult{StatementKind::kValue, "", v};
  }
  LATHE_ASSIGN_OR_RETURN(const Label label, ReadLabel());
  std::optional<ValueType> type;
  if (token_.Is(":")) {
    Next();
    // Only an input's shape may declare dims and state facts; what follows it tells whether it was
    // one.
    const size_t dims_before = declared_.size(), facts_before = facts().facts().size();
    const Token type_at = token_;
    LATHE_ASSIGN_OR_RETURN(type, TypeSpec(label.name, /*declare=*/scopes_.empty()));
    const bool call = scopes_.empty() && AtInputCall();
    const bool input = scopes_.empty() && (call || !token_.Is("="));
    Attrs attrs;
    if (call) LATHE_RETURN_IF_ERROR(InputCall(&attrs));
    if (input && !token_.IsEnd()) return Unexpected("the end of the statement");
    if (!input && declared_.size() > dims_before) {
      return Fault(type_at, absl::StrCat("there is no dim '", declared_[dims_before],
                                         "'; only the shape of an input declares dims"));
    }
    if (!input && facts().facts().size() > facts_before) {
      return Fault(type_at, "bounds can stand only in the shape of an input");
    }
    if (input) return Input(label, *type, std::move(attrs));
  }
  LATHE_RETURN_IF_ERROR(Expect("=", "in a definition"));
  LATHE_ASSIGN_OR_RETURN(const ValueId v, RightHandSide());
  if (type.has_value()) LATHE_RETURN_IF_ERROR(CheckType(*type, v, v >= first_new, label.at));
  Bind(label, v, first_new);
  return StatementResult{StatementKind::kValue, label.key, v};
}

absl::StatusOr<StatementResult> TextParser::Input(const Label& label, const ValueType& type,
                                                  Attrs attrs) {
  builder_.set_location(LocationOf(label.at));
  auto v = builder_.Input(label.name, type, std::move(attrs));
  if (!v.ok()) {
    const absl::Status error = At(label.at, v.status());
    if (v.status().code() != absl::StatusCode::kAlreadyExists) return error;
    return WithHint(error, {Hint::Kind::kWord, absl::StrCat(label.name, "2"), ""});
  }
  Bind(label, *v, *v);
  return StatementResult{StatementKind::kInput, label.name, *v};
}

void TextParser::Bind(const Label& label, ValueId v, size_t first_new) {
  Node& n = state_->graph->node(v);
  if (v >= first_new && n.name.empty()) n.name = label.name;
  if (scopes_.empty()) {
    named_.emplace_back(label.key, v);
  } else {
    scopes_.back()[label.key] = v;
  }
}

absl::Status TextParser::CheckType(const ValueType& wanted, ValueId v, bool is_new,
                                   const Token& at) {
  const ValueType& found = state_->graph->type(v);
  bool same = wanted.dtype == found.dtype && wanted.rank() == found.rank();
  for (int i = 0; same && i < wanted.rank(); ++i) {
    same = wanted.shape[i] == found.shape[i] || facts().Proves(Eq(wanted.shape[i], found.shape[i]));
  }
  if (!same) {
    absl::Status error = Fault(at, absl::StrCat(at.Describe(), " is ", found.ToString(),
                                                ", but its type says ", wanted.ToString()));
    if (wanted.dtype == found.dtype && wanted.rank() == found.rank()) {
      std::string equal;
      for (size_t i = 0; i < wanted.shape.size(); ++i) {
        if (wanted.shape[i] == found.shape[i]) continue;
        absl::StrAppend(&equal, equal.empty() ? "" : ", ",
                        Eq(wanted.shape[i], found.shape[i]).ToString());
      }
      if (wanted.shape != found.shape) error = WithHint(error, {Hint::Kind::kAssume, equal, ""});
    }
    return WithHint(error, {Hint::Kind::kType, found.ToString(), ""});
  }
  if (is_new) state_->graph->node(v).type = wanted;
  return absl::OkStatus();
}

absl::StatusOr<ValueId> TextParser::RightHandSide() {
  if (token_.IsName("if")) return If();
  return ValueExpression();
}

absl::StatusOr<ValueId> TextParser::If() {
  const Token at = token_;
  const Location location = LocationOf(at);
  Next();
  LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
  LATHE_RETURN_IF_ERROR(CheckNames(text, /*declare=*/false));
  LATHE_ASSIGN_OR_RETURN(const std::vector<Claim> claims, ToClaims(text));
  if (claims.size() != 1) {
    return WithHint(
        Fault(text.at(), absl::StrCat("an if needs one claim about sizes, found ", claims.size())),
        {Hint::Kind::kCondition, claims.empty() ? "" : claims[0].ToString(), ""});
  }
  builder_.set_location(location);
  LATHE_RETURN_IF_ERROR(At(at, builder_.OpenIf(claims[0])));
  LATHE_ASSIGN_OR_RETURN(const ValueId then_value, BlockBody(/*is_else=*/false));
  builder_.set_location(location);
  LATHE_RETURN_IF_ERROR(At(at, builder_.Else(then_value)));
  while (token_.kind == TokenKind::kSeparator && token_.text == "\n") Next();
  if (!token_.IsName("else")) return Unexpected("'else': an if has two sides");
  Next();
  LATHE_ASSIGN_OR_RETURN(const ValueId else_value, BlockBody(/*is_else=*/true));
  builder_.set_location(location);
  auto v = builder_.CloseIf(else_value);
  if (!v.ok()) return At(at, v.status());
  return *v;
}

absl::StatusOr<ValueId> TextParser::BlockBody(bool is_else) {
  scopes_.emplace_back();
  if (is_else && token_.IsName("if")) {  // else if
    auto v = If();
    scopes_.pop_back();
    return v;
  }
  LATHE_RETURN_IF_ERROR(Expect("{", "before the side of an if"));
  ValueId result = kNoValue;
  std::string last;  // the name that the side gave last
  for (;;) {
    while (token_.kind == TokenKind::kSeparator) Next();
    if (token_.IsName("yield")) {
      Next();
      LATHE_ASSIGN_OR_RETURN(result, RightHandSide());
      break;
    }
    for (std::string_view word : {"program", "dim", "assume", "output"}) {
      if (token_.IsName(word)) {
        return Fault(token_, absl::StrCat(token_.Describe(), " can't stand inside an if"));
      }
    }
    if (token_.Is("}")) {
      const absl::Status error = Fault(token_, "a side of an if ends with: yield VALUE");
      if (last.empty()) return error;
      return WithHint(error, {Hint::Kind::kInsert, absl::StrCat("; yield ", last), ""});
    }
    LATHE_ASSIGN_OR_RETURN(const StatementResult definition, Definition());
    last = definition.name;
    if (token_.Is("}")) continue;
    if (!token_.IsEnd()) return Unexpected("the end of the statement");
    if (token_.kind == TokenKind::kEnd) return Unexpected("'}'");
  }
  while (token_.kind == TokenKind::kSeparator) Next();
  LATHE_RETURN_IF_ERROR(Expect("}", "after yield"));
  scopes_.pop_back();
  return result;
}

}  // namespace lathe::ir
