#include "ir/text_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/mend.h"
#include "ir/text_internal.h"

namespace lathe::ir {

// ---- What the parts of the parser share.

std::string DidYouMean(std::string_view name, std::vector<std::string_view> names) {
  constexpr size_t kLongest = 64;
  if (name.size() > kLongest) return "";
  auto distance = [&](std::string_view other) {
    std::vector<size_t> row(other.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= name.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j < row.size(); ++j) {
        const size_t change = diagonal + (name[i - 1] == other[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    return row.back();
  };
  std::vector<std::pair<size_t, std::string_view>> near;
  for (std::string_view other : names) {
    if (other.size() > kLongest) continue;
    const size_t edits = distance(other);
    if (edits <= 1 + name.size() / 3 && edits < name.size()) near.emplace_back(edits, other);
  }
  std::sort(near.begin(), near.end());
  std::string text;
  for (size_t i = 0; i < near.size() && i < 3; ++i) {
    absl::StrAppend(&text, i == 0 ? "; did you mean '" : "' or '", std::string(near[i].second));
  }
  return near.empty() ? "" : text + "'?";
}

std::string TextParser::Place(const Token& t) const {
  const std::string& file = state_->file;
  return absl::StrCat(file, file.empty() ? "" : ":", t.line, ":", t.column, ": ");
}

absl::Status TextParser::Fault(const Token& t, const std::string& message) const {
  return absl::InvalidArgumentError(Place(t) + message);
}

absl::Status TextParser::Unexpected(std::string_view wanted) const {
  return Fault(token_, absl::StrCat("found ", token_.Describe(), " where ", std::string(wanted),
                                    " was expected"));
}

absl::Status TextParser::At(const Token& t, const absl::Status& s) const {
  if (s.ok()) return s;
  std::string message(s.message());
  // The builder names the statement's place inside its text; once is enough.
  const std::string inner = absl::StrCat(" at ", LocationOf(t).ToString(), ": ");
  const size_t where = message.find(inner);
  if (where != std::string::npos) message.replace(where, inner.size(), ": ");
  return WithMessage(s, Place(t) + message);
}

absl::Status TextParser::Expect(std::string_view punct, std::string_view where) {
  if (!token_.Is(punct)) {
    return WithHint(Unexpected(absl::StrCat("'", std::string(punct), "' ", std::string(where))),
                    {Hint::Kind::kInsert, std::string(punct), ""});
  }
  Next();
  return absl::OkStatus();
}

absl::StatusOr<std::string> TextParser::StringValue() {
  if (token_.kind != TokenKind::kString) return Unexpected("a string");
  std::string text;
  if (!Unquote(token_.text, &text)) {
    return Fault(token_, "an escape in a string is one of \\\" \\\\ \\n \\t \\xHH");
  }
  if (text.size() > kMaxNameBytes) {
    return Fault(token_, absl::StrCat("a string of more than ", kMaxNameBytes, " bytes"));
  }
  Next();
  return text;
}

Location TextParser::LocationOf(const Token& t) const {
  return Location{state_->file, t.line, t.column};
}

ValueId TextParser::LookupValue(std::string_view name) const {
  for (size_t i = scopes_.size(); i-- > 0;) {
    const auto it = scopes_[i].find(std::string(name));
    if (it != scopes_[i].end()) return it->second;
  }
  return state_->Lookup(name);
}

absl::Status TextParser::UnknownName(const Token& t) const {
  std::vector<std::string_view> known;
  for (const auto& scope : scopes_) {
    for (const auto& [name, value] : scope) known.push_back(name);
  }
  for (const auto& [name, value] : state_->values) known.push_back(name);
  known.insert(known.end(), state_->dims.begin(), state_->dims.end());
  return Fault(t, absl::StrCat("there is no value ", t.Describe(), DidYouMean(t.text, known)));
}

absl::Status TextParser::ReservedWord(const Token& t) const {
  return WithHint(Fault(t, absl::StrCat(t.Describe(), " is a word of the grammar, not a name")),
                  {Hint::Kind::kWord, absl::StrCat(std::string(t.text), "_"), ""});
}

// ---- Statements of a text.

StatementText StatementReader::Next() {
  auto advance = [&](size_t to) {  // past `to` - 1, counting lines
    for (; pos_ < to; ++pos_) {
      if (text_[pos_] == '\n') {
        ++line_;
        column_ = 1;
      } else {
        ++column_;
      }
    }
  };
  for (;;) {
    Lexer lexer(text_.substr(pos_), line_, column_);
    Token t = lexer.Next();
    if (t.kind == TokenKind::kSeparator) {
      advance(pos_ + lexer.offset());
      continue;
    }
    StatementText result{{}, t.line, t.column, false};
    const size_t begin = static_cast<size_t>(t.text.data() - text_.data());
    if (t.kind == TokenKind::kEnd) {
      advance(text_.size());
      return result;
    }
    size_t end = begin;
    if (t.Is(":")) {
      end = std::min(text_.find_first_of(";\n", begin), text_.size());
    } else {
      // An if ends with the brace of its else; a newline before the else doesn't end it.
      bool wants_else = false, after_brace = false;
      for (;; t = lexer.Next()) {
        if (t.kind == TokenKind::kEnd) break;
        if (t.kind == TokenKind::kSeparator && lexer.depth() == 0) {
          if (!(wants_else && after_brace && t.text == "\n")) break;
          Lexer ahead = lexer;
          Token next = ahead.Next();
          while (next.kind == TokenKind::kSeparator && next.text == "\n") next = ahead.Next();
          if (next.kind != TokenKind::kEnd && !next.IsName("else")) break;
          continue;
        }
        if (lexer.depth() == 0 && t.IsName("if")) wants_else = true;
        if (lexer.depth() == 0 && t.IsName("else")) wants_else = false;
        if (t.kind != TokenKind::kSeparator) {
          end = static_cast<size_t>(t.text.data() + t.text.size() - text_.data());
          after_brace = t.Is("}");
        }
      }
      const bool at_end = t.kind == TokenKind::kEnd;
      result.needs_more = at_end && (lexer.depth() > 0 || (wants_else && after_brace));
    }
    result.text = text_.substr(begin, end - begin);
    advance(end);
    return result;
  }
}

// ---- Sessions.

ValueId TextSession::State::Lookup(std::string_view name) const {
  const auto it = values.find(std::string(name));
  return it == values.end() ? kNoValue : it->second;
}

// Declarations see all facts, so that a conflict is said; so does a text that names no value.
std::optional<dim::FactSet> TextSession::State::ScopeOf(std::string_view text) {
  Lexer lexer(text);
  std::vector<ValueId> named;
  Token t = lexer.Next();
  if (t.IsName("dim") || t.IsName("assume") || t.IsName("program")) return std::nullopt;
  for (bool first = true; t.kind != TokenKind::kEnd; first = false) {
    const Token next = lexer.Next();
    // `y = ..`, `y: f32[n] = ..` and `axis=1` name no value that the statement uses.
    const bool label = next.Is("=") || (first && next.Is(":"));
    const bool name = t.kind == TokenKind::kName || t.kind == TokenKind::kValue;
    if (const ValueId v = name && !label ? Lookup(t.text) : kNoValue; v != kNoValue) {
      named.push_back(v);
    }
    t = next;
  }
  if (named.empty()) return std::nullopt;
  return required.FactsFor(*graph, named);
}

TextSession::TextSession(Graph* graph, std::string file_name) : state_(std::make_unique<State>()) {
  state_->graph = graph;
  state_->file = std::move(file_name);
  for (const ValueId v : graph->body.nodes) {
    const std::string name = graph->ValueName(v);
    if (IsPlainName(name)) state_->values[name] = v;
  }
  for (int i = 0; i < graph->dims()->num_symbols(); ++i) {
    state_->dims.insert(graph->dims()->SymbolName(static_cast<dim::SymbolId>(i)));
  }
}

TextSession::~TextSession() = default;

Graph* TextSession::graph() const { return state_->graph; }

absl::StatusOr<StatementResult> TextSession::Execute(const StatementText& statement) {
  Graph& g = *state_->graph;
  if (!state_->saved_facts.has_value() ||
      state_->saved_facts->facts().size() != g.facts().facts().size()) {
    state_->saved_facts = g.facts();
  }
  const size_t nodes = g.body.nodes.size(), inputs = g.inputs.size();
  const size_t results = g.body.results.size(), names = g.output_names.size();
  const std::string program = g.name;

  // Facts that this statement may not rely on are out of sight while it is read.
  const size_t first_fact = g.facts().facts().size();
  const ValueId first_node = static_cast<ValueId>(g.num_nodes());
  std::optional<dim::FactSet> scoped = state_->ScopeOf(statement.text);
  const size_t scoped_facts = scoped ? scoped->facts().size() : 0;
  if (scoped) g.facts() = *std::move(scoped);

  TextParser parser(state_.get(), statement.text, statement.line, statement.column);
  bool done = false;
  absl::StatusOr<StatementResult> result = parser.Statement(&done);
  if (result.ok() && done) result = absl::InvalidArgumentError("there is no statement");
  if (result.ok()) {
    const absl::Status rest = parser.ExpectEnd();
    if (!rest.ok()) result = rest;
  }
  if (result.ok()) {
    parser.Commit();
    if (scoped) {
      const dim::FactSet own = std::move(g.facts());
      g.facts() = *state_->saved_facts;
      for (size_t i = scoped_facts; i < own.facts().size(); ++i) {
        const dim::Fact& fact = own.facts()[i];
        // One that contradicts what another value requires counts for this value all the same: it
        // comes again from its op when that is compiled.
        g.facts().Add(fact.claim, fact.standing, fact.source).IgnoreError();
      }
    }
    state_->required.Record(g, first_fact, first_node);
    return result;
  }
  for (const std::string& name : parser.declared()) state_->dims.erase(name);
  for (const ValueId v : parser.shape_inputs()) g.node(v).attrs.elements.reset();
  g.body.nodes.resize(nodes);
  g.inputs.resize(inputs);
  g.body.results.resize(results);
  g.output_names.resize(names);
  g.name = program;
  g.facts() = *state_->saved_facts;
  return result;
}

absl::StatusOr<ValueId> TextSession::Find(std::string_view name) const {
  const ValueId v = state_->Lookup(name);
  if (v != kNoValue) return v;
  std::vector<std::string_view> known;
  for (const auto& [key, value] : state_->values) known.push_back(key);
  return absl::NotFoundError(
      absl::StrCat("there is no value '", std::string(name), "'", DidYouMean(name, known)));
}

std::vector<std::string> TextSession::ValueNames() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : state_->values) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> TextSession::DimNames() const {
  std::vector<std::string> names(state_->dims.begin(), state_->dims.end());
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<Dim> TextSession::ParseDim(std::string_view text) const {
  TextParser parser(state_.get(), text);
  LATHE_ASSIGN_OR_RETURN(const Dim d, parser.SizeText());
  LATHE_RETURN_IF_ERROR(parser.ExpectEnd());
  return d;
}

absl::StatusOr<std::vector<Claim>> TextSession::ParseClaims(std::string_view text) const {
  TextParser parser(state_.get(), text);
  LATHE_ASSIGN_OR_RETURN(std::vector<Claim> claims, parser.ClaimsText());
  LATHE_RETURN_IF_ERROR(parser.ExpectEnd());
  return claims;
}

// ---- Whole texts.

absl::StatusOr<Graph> Parse(std::string_view text, std::string_view file_name) {
  absl::StatusOr<Graph> graph = ParseText(text, file_name);
  if (graph.ok()) return graph;
  return WithEdit(graph.status(), FindEdit(text, file_name, graph.status()));
}

absl::StatusOr<Graph> ParseText(std::string_view text, std::string_view file_name) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(absl::StrCat(std::string(file_name), ": a text of ",
                                                   text.size(), " bytes; the limit is ",
                                                   kMaxTextBytes));
  }
  Graph graph;
  TextSession session(&graph, std::string(file_name));
  TextParser parser(session.state_.get(), text);
  for (bool done = false; !done;) {
    LATHE_RETURN_IF_ERROR(parser.Statement(&done).status());
    parser.Commit();
  }
  return graph;
}

absl::StatusOr<ValueType> ParseTypeSpec(std::string_view text, Graph* graph,
                                        std::string_view subject) {
  TextSession::State state;
  state.graph = graph;
  for (int i = 0; i < graph->dims()->num_symbols(); ++i) {
    state.dims.insert(graph->dims()->SymbolName(static_cast<dim::SymbolId>(i)));
  }
  TextParser parser(&state, text);
  LATHE_ASSIGN_OR_RETURN(const ValueType type,
                         parser.TypeSpec(subject, /*declare=*/true, /*bare=*/true));
  LATHE_RETURN_IF_ERROR(parser.ExpectEnd());
  return type;
}

}  // namespace lathe::ir
