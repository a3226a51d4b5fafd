// Sizes from data in texts: ragged dims (~seq), shapes given as values, and inputs whose elements
// have names.
#include "absl/strings/str_cat.h"
#include "ir/element_dims.h"
#include "ir/ragged.h"
#include "ir/text_internal.h"

namespace lathe::ir {

// f32[batch, ~seq, 64] is f32[seq.total, 64], the rows one behind the other. The first time that
// ~seq stands in a shape makes the input seq.offsets, in front of the one that the shape is of.
absl::Status TextParser::RaggedEntry(std::string_view subject, bool declare, Shape* shape) {
  LATHE_ASSIGN_OR_RETURN(const DimText text, ReadDimText());
  const std::vector<Token>& tokens = text.tokens;
  if (tokens.size() < 2 || tokens[1].kind != TokenKind::kName) {
    return Fault(text.at(), "a ragged dim is written as ~seq");
  }
  if (shape->size() != 1 || RaggedWithTotal(*state_->graph, (*shape)[0])) {
    return Fault(text.at(), "a ragged dim stands behind the number of its rows: [batch, ~seq, ..]");
  }
  const Dim batch = (*shape)[0];
  const std::string name(tokens[1].text);
  const std::string what = absl::StrCat("shape of ", std::string(subject));
  std::optional<RaggedDim> r = FindRagged(*state_->graph, name);
  if (!r && !declare) {
    return Fault(tokens[1], absl::StrCat("there is no ragged dim '", name,
                                         "'; only the shape of an input declares dims"));
  }
  if (!r) {
    const std::string offsets = absl::StrCat(name, ".offsets");
    if (LookupValue(offsets) != kNoValue)
      return Fault(tokens[1], absl::StrCat("there is a value '", offsets, "' already"));
    builder_.set_location(LocationOf(text.at()));
    auto made = DeclareRagged(builder_, name, batch, "", {what, LocationOf(text.at()).ToString()});
    if (!made.ok()) return At(text.at(), made.status());
    r = *std::move(made);
    for (Dim d : {r->total, r->longest}) {
      if (state_->dims.insert(d.ToString()).second) declared_.push_back(d.ToString());
    }
    named_.emplace_back(offsets, r->offsets);
  }
  if (r->batch != batch && !facts().Proves(Eq(r->batch, batch))) {
    return Fault(text.at(), absl::StrCat("~", name, " has ", r->batch.ToString(), " rows, found ",
                                         batch.ToString()));
  }
  if (tokens.size() > 2) {
    if (!declare) return Fault(tokens[2], "bounds can stand only in the shape of an input");
    LATHE_RETURN_IF_ERROR(Spec(text, 2, r->longest, what));
  }
  *shape = {r->total};
  return absl::OkStatus();
}

// A shape given as a value: shape arithmetic, or an input whose elements become dims.
absl::StatusOr<Shape> TextParser::ShapeOfValue(const Token& at, ValueId v) {
  auto shape = ShapeFromValue(state_->graph, v);
  KnowElements();
  if (!shape.ok()) return At(at, shape.status());
  return shape;
}

// The elements of inputs that have become dims can be named from now on.
void TextParser::KnowElements() {
  for (const ValueId v : state_->graph->inputs) {
    const std::optional<Shape>& elements = state_->graph->node(v).attrs.elements;
    if (!elements) continue;
    bool is_new = false;
    for (Dim d : *elements) {
      if (!state_->dims.insert(d.ToString()).second) continue;
      declared_.push_back(d.ToString());
      is_new = true;
    }
    if (is_new) shape_inputs_.push_back(v);
  }
}

// "target.0" names an element of the input target, which makes it a size.
bool TextParser::NamesElement(const Token& t) {
  const size_t dot = t.text.rfind('.');
  if (dot == std::string_view::npos) return false;
  const ValueId v = LookupValue(t.text.substr(0, dot));
  if (v == kNoValue || state_->graph->node(v).op != Op::k_input) return false;
  if (!ElementDims(state_->graph, v)) return false;
  KnowElements();
  return state_->dims.contains(std::string(t.text));
}

// x: i64[2] = input(elements=[h, w])
bool TextParser::AtInputCall() const {
  Lexer ahead = lexer_;
  return token_.Is("=") && ahead.Next().IsName("input");
}

absl::Status TextParser::InputCall(Attrs* attrs) {
  Next();
  Next();
  LATHE_RETURN_IF_ERROR(Expect("(", "after input"));
  const bool elements = token_.IsName("elements");
  if (!elements && !token_.IsName("offsets")) return Unexpected("elements= or offsets=");
  Shape& shape = (elements ? attrs->elements : attrs->offsets).emplace();
  Next();
  LATHE_RETURN_IF_ERROR(Expect("=", "before the sizes that the elements give"));
  LATHE_RETURN_IF_ERROR(Expect("[", "before a list of sizes"));
  while (!token_.Is("]")) {
    if (token_.kind == TokenKind::kName && !state_->dims.contains(std::string(token_.text))) {
      LATHE_RETURN_IF_ERROR(DeclareDim(token_));
    }
    LATHE_ASSIGN_OR_RETURN(const Dim d, SizeText());
    shape.push_back(d);
    if (!token_.Is(",")) break;
    Next();
  }
  LATHE_RETURN_IF_ERROR(Expect("]", "at the end of the list"));
  return Expect(")", "after the sizes");
}

}  // namespace lathe::ir
