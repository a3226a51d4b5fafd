#pragma once
// The parser of statements, private to ir/text_*.cc. One pass, no syntax tree: an expression is
// built into the graph while it is read, and TextSession undoes what a failed statement built.
//
// Where things are: text_statements.cc statements and blocks; text_expressions.cc operators,
// literals, slices; text_calls.cc calls, attributes, constants; text_shapes.cc types, dims and
// claims.
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/attr_text.h"
#include "ir/builder.h"
#include "ir/lexer.h"
#include "ir/required_scope.h"
#include "ir/status_macros.h"
#include "ir/text_parser.h"

namespace lathe::ir {

// What lasts from one statement to the next.
struct TextSession::State {
  Graph* graph = nullptr;
  std::string file;
  absl::flat_hash_map<std::string, ValueId> values;
  absl::flat_hash_set<std::string> dims;
  // The facts before the statement that runs; kept while they don't change, since copying is slow.
  std::optional<dim::FactSet> saved_facts;
  RequiredScope required;

  ValueId Lookup(std::string_view name) const;  // kNoValue if unknown
  // The facts for a statement, where they aren't all of the graph's.
  std::optional<dim::FactSet> ScopeOf(std::string_view text);
};

class TextParser {
 public:
  TextParser(TextSession::State* state, std::string_view text, int line = 1, int column = 1);

  // The next statement of the text; `*done` if there is none left.
  absl::StatusOr<StatementResult> Statement(bool* done);
  // Makes the name that the last statement gave known.
  void Commit();
  // What follows the statement must be the end.
  absl::Status ExpectEnd();
  // A shape needs brackets unless `bare`.
  absl::StatusOr<ValueType> TypeSpec(std::string_view subject, bool declare, bool bare = false);
  absl::StatusOr<Dim> SizeText();
  absl::StatusOr<std::vector<Claim>> ClaimsText();
  // Dims that the text declared; a failed statement's are to be forgotten.
  const std::vector<std::string>& declared() const { return declared_; }
  // Inputs whose elements became dims; those of a failed statement are to be undone.
  const std::vector<ValueId>& shape_inputs() const { return shape_inputs_; }

 private:
  // The name that a statement gives: `x`, `%7`, `%7 "any name"`.
  struct Label {
    Token at;
    std::string key;   // under which the value is found: "x", "%7"
    std::string name;  // the node's name; may be empty
  };
  // A value, or a literal that hasn't chosen its type yet.
  struct Operand {
    enum Kind : uint8_t { kValue, kSizes, kReal } kind = kValue;
    ValueId value = kNoValue;
    Dim size = 0;     // kSizes: an integer or an expression of dims
    double real = 0;  // kReal
    Token at = {};
  };
  // A stretch of text that the dim parser reads.
  struct DimText {
    std::string text;  // comments and newlines blanked out
    std::vector<Token> tokens;
    Token at() const { return tokens.front(); }
    // The text from token `first` up to, without it, token `last`.
    std::string Part(size_t first, size_t last) const;
  };
  struct ScopedDepth;

  // text_statements.cc
  absl::StatusOr<StatementResult> Program();
  absl::StatusOr<StatementResult> DimStatement();
  absl::StatusOr<StatementResult> Assume();
  absl::StatusOr<StatementResult> OutputStatement();
  absl::StatusOr<StatementResult> Definition();
  absl::StatusOr<StatementResult> Input(const Label& label, const ValueType& type, Attrs attrs);
  absl::StatusOr<Label> ReadLabel();
  bool AtLabel() const;
  absl::StatusOr<ValueId> RightHandSide();
  absl::StatusOr<ValueId> If();
  absl::StatusOr<ValueId> BlockBody(bool is_else);
  absl::Status CheckType(const ValueType& wanted, ValueId v, bool is_new, const Token& at);
  void Bind(const Label& label, ValueId v, size_t first_new);
  Location LocationOf(const Token& t) const;

  // text_expressions.cc
  absl::StatusOr<ValueId> ValueExpression();
  absl::StatusOr<Operand> Expression() { return Infix(0); }
  absl::StatusOr<Operand> Infix(int precedence);
  absl::StatusOr<Operand> Prefix();
  absl::StatusOr<Operand> Primary();
  absl::StatusOr<Operand> Postfix(Operand operand);
  absl::StatusOr<ValueId> SliceItems(ValueId v);
  absl::StatusOr<Operand> Combine(const Token& op_token, Op op, const Operand& a, const Operand& b);
  absl::StatusOr<Operand> Negate(const Token& minus, const Operand& a);
  absl::StatusOr<Operand> NumberLiteral();
  absl::StatusOr<Operand> NamedOperand();
  // The value of an operand; literals become constants of type `dtype` (not bool), or of their own.
  absl::StatusOr<ValueId> Materialize(const Operand& operand, std::optional<DType> dtype);
  absl::StatusOr<std::vector<ValueId>> MaterializeAll(const std::vector<Operand>& operands,
                                                      bool adopt);
  absl::StatusOr<ValueId> Apply(const Token& at, Op op, std::vector<ValueId> operands,
                                Attrs attrs = {});
  bool IsComplete(Op op, const std::vector<ValueId>& operands, const Attrs& attrs);

  // text_calls.cc
  absl::StatusOr<ValueId> Call(const Token& name);
  absl::Status Argument(const OpInfo& row, std::vector<Operand>* operands, Attrs* attrs,
                        std::vector<std::string_view>* given);
  absl::StatusOr<const AttrField*> KeywordAttr(const OpInfo& row, const Token& name);
  absl::StatusOr<const AttrField*> PositionalAttr(const OpInfo& row,
                                                  const std::vector<std::string_view>& given);
  absl::Status AttrValue(const AttrField& field, Attrs* attrs);
  absl::Status Value(std::optional<int64_t>* out);
  absl::Status Value(std::vector<int64_t>* out);
  absl::Status Value(std::optional<Shape>* out);
  absl::Status Value(std::vector<Dim>* out);
  absl::Status Value(std::optional<Dim>* out);
  absl::Status Value(std::optional<Claim>* out);
  absl::Status Value(std::optional<DType>* out);
  absl::Status Value(std::optional<double>* out);
  absl::Status Value(std::string* out);
  absl::Status Value(bool* out);
  absl::Status Value(Tensor* out);
  absl::StatusOr<ValueId> Constant(const Token& name);
  template <typename T>
  absl::Status Elements(int64_t count, std::string* bytes);
  template <typename T>
  absl::Status Element(T* out);
  absl::Status Integer(int64_t* out);

  // text_shapes.cc
  absl::StatusOr<DimText> ReadDimText(bool stop_at_colon = false);
  absl::StatusOr<Dim> ToDim(const DimText& text);
  absl::StatusOr<Dim> ToDim(const DimText& text, size_t first, size_t last);
  absl::StatusOr<std::vector<Claim>> ToClaims(const DimText& text);
  absl::Status AtColumn(const Token& start, const absl::Status& s) const;
  absl::Status CheckNames(const DimText& text, bool declare);
  absl::Status DeclareDim(const Token& name);

  // text_data.cc
  absl::Status RaggedEntry(std::string_view subject, bool declare, Shape* shape);
  absl::StatusOr<Shape> ShapeOfValue(const Token& at, ValueId v);
  bool NamesElement(const Token& t);
  void KnowElements();
  bool AtInputCall() const;
  absl::Status InputCall(Attrs* attrs);

  absl::StatusOr<Dim> ShapeEntry(std::string_view subject, size_t axis, bool declare);
  absl::Status Constraint(const DimText& text, const std::string& what);
  absl::Status Spec(const DimText& text, size_t first, Dim subject, const std::string& what);
  absl::Status AddClaims(const Token& at, const std::vector<Claim>& claims,
                         const std::string& what);
  absl::Status ShapeEntries(std::string_view close, std::string_view subject, bool declare,
                            Shape* shape);
  dim::FactSet& facts() { return state_->graph->facts(); }

  // Errors and tokens.
  std::string Place(const Token& t) const;  // "file:line:column: "
  absl::Status Fault(const Token& t, const std::string& message) const;
  absl::Status Unexpected(std::string_view wanted) const;  // the current token
  // `s` with the place in front, unless its text has one.
  absl::Status At(const Token& t, const absl::Status& s) const;
  void Next() { token_ = lexer_.Next(); }
  absl::Status Expect(std::string_view punct, std::string_view where);
  absl::StatusOr<std::string> StringValue();
  ValueId LookupValue(std::string_view name) const;
  absl::Status UnknownName(const Token& t) const;
  absl::Status ReservedWord(const Token& t) const;  // where a name should stand

  TextSession::State* state_;
  Lexer lexer_;
  Token token_;  // the current one
  Builder builder_;
  // Names given inside the blocks that are open, innermost last.
  std::vector<absl::flat_hash_map<std::string, ValueId>> scopes_;
  std::vector<std::pair<std::string, ValueId>> named_;  // to be committed
  std::vector<std::string> declared_;
  std::vector<ValueId> shape_inputs_;
  int depth_ = 0;
};

// Parse (ir/graph.h) without the search for an edit that mends what fails.
absl::StatusOr<Graph> ParseText(std::string_view text, std::string_view file_name);

}  // namespace lathe::ir
