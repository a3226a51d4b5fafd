#include "ir/shape_spec.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/attr_text.h"
#include "ir/lexer.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

using dim::Parser;

bool IsModulo(Dim d) { return dim::Decompose(d).kind == dim::ExprKind::kMod; }

DimKind KindOf(const DimSpec& spec) {
  if (spec.dim.is_constant()) return DimKind::kStatic;
  if (spec.claims.empty()) return spec.named ? DimKind::kSymbolic : DimKind::kUnbounded;
  const auto any = [&](auto test) {
    return std::any_of(spec.claims.begin(), spec.claims.end(), test);
  };
  if (any([](const Claim& c) { return c.relation == Relation::kIn; })) return DimKind::kSet;
  if (any([](const Claim& c) { return c.relation == Relation::kEq && IsModulo(c.lhs); }))
    return DimKind::kDivisible;
  return DimKind::kBounded;
}

bool AtItem(const Parser& p) {
  constexpr std::string_view kStarts[] = {"==", "!=", "<=", ">=", "<", ">", "%", "in", "..", "{"};
  return std::find(std::begin(kStarts), std::end(kStarts), p.token()) != std::end(kStarts);
}

// At claims about a size that has no name: "<= 8", "1..8", "in {1, 2}".
bool AtUnnamed(const Parser& p) {
  Parser ahead = p;
  return AtItem(p) || (ahead.Expression().ok() && ahead.token() == "..");
}

bool AtEndOfEntry(const Parser& p) {
  return p.AtEnd() || p.token() == "," || p.token() == ")" || p.token() == "]" ||
         p.token() == "where";
}

// "seq <= 8192", "8 <= seq <= 64", "seq % 64 == 0": the claims, and the size that they are about:
// the first side that isn't a number.
absl::Status ReadClaims(Parser* parser, DimSpec* spec) {
  Parser ahead = *parser;
  std::string_view op;
  absl::StatusOr<Dim> subject = ahead.Expression();
  while (subject.ok() && subject->is_constant() && ahead.AcceptRelation(&op))
    subject = ahead.Expression();
  if (!subject.ok()) return subject.status();
  if (subject->is_constant()) return ahead.Wanted("a size with a name beside its bounds");
  spec->dim = *subject;
  if (IsModulo(*subject) && ahead.token() == "==") spec->dim = dim::Decompose(*subject).operands[0];
  return parser->AppendClaim(&spec->claims);
}

absl::Status ReadNamed(Parser* parser, DimSpec* spec) {
  Parser ahead = *parser;
  absl::StatusOr<Dim> d = ahead.Expression();
  if (!d.ok()) return d.status();
  if (AtItem(ahead) && ahead.token() != "..") return ReadClaims(parser, spec);
  if (!AtEndOfEntry(ahead))
    return ahead.Wanted("an operator, a bound, \",\" or the end of the shape");
  spec->dim = *d;
  *parser = ahead;
  return absl::OkStatus();
}

// "data(k <= n)" after its "data(".
absl::Status ReadData(Parser* parser, Dim fresh, DimSpec* spec) {
  spec->named = !AtUnnamed(*parser);
  absl::Status read;
  if (spec->named) {
    read = ReadClaims(parser, spec);
  } else {
    spec->dim = fresh;
    read = parser->AppendSpecItem(fresh, &spec->claims);
  }
  if (!read.ok()) return read;
  const bool bounded = std::any_of(spec->claims.begin(), spec->claims.end(), [&](const Claim& c) {
    return (c.relation == Relation::kLe || c.relation == Relation::kLt ||
            c.relation == Relation::kEq || c.relation == Relation::kIn) &&
           c.lhs == spec->dim;
  });
  if (!bounded) return parser->Wanted("an upper bound, as in data(k <= n)");
  return parser->Accept(")") ? absl::OkStatus() : parser->Wanted("\")\"");
}

}  // namespace

std::string_view Name(DimKind kind) {
  static constexpr std::string_view kNames[] = {"static",    "unbounded", "bounded", "symbolic",
                                                "divisible", "set",       "ragged",  "data"};
  return kNames[static_cast<size_t>(kind)];
}

std::string NameOfUnknown(std::string_view subject, int axis) {
  return absl::StrCat(IsPlainName(subject) ? std::string(subject) : "x", "_d", axis);
}

absl::StatusOr<DimSpec> ReadDimSpec(Parser* parser, dim::DimContext* context,
                                    std::string_view subject, int axis) {
  DimSpec spec;
  const auto fresh = [&] { return context->FreshSymbol(NameOfUnknown(subject, axis)); };
  if (parser->Accept("~")) {
    if (parser->AtEnd()) return parser->Wanted("the name of a ragged size, as in ~seq");
    LATHE_RETURN_IF_ERROR(ReadNamed(parser, &spec));
    if (spec.dim.is_constant()) return parser->Wanted("a name after ~");
    spec.kind = DimKind::kRagged;
    return spec;
  }
  Parser ahead = *parser;
  if (ahead.Accept("data") && ahead.Accept("(")) {
    *parser = ahead;
    LATHE_RETURN_IF_ERROR(ReadData(parser, AtUnnamed(ahead) ? fresh() : Dim(), &spec));
    spec.kind = DimKind::kData;
    return spec;
  }
  const bool unknown = parser->Accept("?") || parser->Accept("_") || parser->Accept("None");
  if (unknown && !AtItem(*parser) && !AtEndOfEntry(*parser))
    return parser->Wanted("a bound or the end of the entry after a size without a name");
  if (!unknown && !AtUnnamed(*parser)) {
    LATHE_RETURN_IF_ERROR(ReadNamed(parser, &spec));
  } else {
    spec.named = false;
    spec.dim = fresh();
    if (!AtEndOfEntry(*parser))
      LATHE_RETURN_IF_ERROR(parser->AppendSpecItem(spec.dim, &spec.claims));
  }
  spec.kind = KindOf(spec);
  return spec;
}

namespace {

// The claims of an entry as one text with its subject; false if an entry can't say them together.
bool EntryText(const DimSpec& spec, std::string* text) {
  const std::string subject = spec.named ? spec.dim.ToString() : "?";
  const std::vector<Claim>& claims = spec.claims;
  *text = subject;
  if (claims.empty()) return true;
  const auto below = [&](const Claim& c) {
    return c.relation == Relation::kLe && c.rhs == spec.dim;
  };
  const auto above = [&](const Claim& c) {
    return c.relation == Relation::kLe && c.lhs == spec.dim;
  };
  if (claims.size() == 2 && below(claims[0]) && above(claims[1])) {
    const std::string low = claims[0].lhs.ToString(), high = claims[1].rhs.ToString();
    *text = spec.named ? absl::StrCat(low, " <= ", subject, " <= ", high)
                       : absl::StrCat(low, "..", high);
    return true;
  }
  if (claims.size() != 1) return false;
  const Claim& c = claims[0];
  const bool modulo = c.relation == Relation::kEq && IsModulo(c.lhs) &&
                      dim::Decompose(c.lhs).operands[0] == spec.dim;
  if (c.lhs != spec.dim && !modulo && c.rhs == spec.dim) {
    if (c.relation != Relation::kLe && c.relation != Relation::kLt) return false;
    absl::StrAppend(text, c.relation == Relation::kLe ? " >= " : " > ", c.lhs.ToString());
    return true;
  }
  if (c.lhs != spec.dim && !modulo) return false;
  if (spec.named) {
    *text = c.ToString();
    return true;
  }
  // The claim's own text starts with the name of the symbol.
  *text = absl::StrCat("?", c.ToString().substr(spec.dim.ToString().size()));
  return true;
}

std::string Wrapped(const DimSpec& spec, const std::string& text) {
  if (spec.kind == DimKind::kRagged) return absl::StrCat("~", text);
  if (spec.kind != DimKind::kData) return text;
  return absl::StrCat("data(", text[0] == '?' ? text.substr(2) : text, ")");
}

class SpecReader {
 public:
  SpecReader(std::string_view text, dim::DimContext* context, std::string_view subject)
      : parser_(text, context, /*make_symbols=*/true), context_(context), subject_(subject) {}

  absl::StatusOr<ShapeSpec> Read() {
    const std::string word(parser_.token());
    if (const std::optional<DType> dtype = FindDType(word); dtype.has_value()) {
      spec_.dtype = dtype;
      parser_.Accept(word);
      if (parser_.token() != "[" && parser_.token() != "(")
        return parser_.Wanted(absl::StrCat("\"[\" and a shape after ", word));
    }
    const bool round = parser_.Accept("("), square = !round && parser_.Accept("[");
    LATHE_RETURN_IF_ERROR(Entries(round ? ")" : square ? "]" : ""));
    if (parser_.Accept("where")) LATHE_RETURN_IF_ERROR(Where());
    if (!parser_.AtEnd()) return parser_.Wanted("\"where\" and claims, or the end");
    return std::move(spec_);
  }

 private:
  absl::Status Entries(std::string_view close) {
    const bool bare = close.empty();
    const auto done = [&] {
      return bare ? parser_.AtEnd() || parser_.token() == "where" : parser_.token() == close;
    };
    if (bare && done()) return parser_.Wanted("a shape; that of a scalar is ()");
    while (!done()) {
      Parser ahead = parser_;
      if (ahead.Accept("..") && ahead.Accept(".")) {
        parser_ = ahead;
        if (spec_.ellipsis.has_value()) return parser_.Wanted("\"...\" once");
        spec_.ellipsis = spec_.dims.size();
      } else {
        const int axis = static_cast<int>(spec_.dims.size());
        LATHE_ASSIGN_OR_RETURN(DimSpec d, ReadDimSpec(&parser_, context_, subject_, axis));
        spec_.dims.push_back(std::move(d));
      }
      if (!parser_.Accept(",")) break;
    }
    if (!done()) {
      return parser_.Wanted(bare ? "\",\" or the end"
                                 : absl::StrCat("\",\" or \"", std::string(close), "\""));
    }
    if (!bare) parser_.Accept(close);
    return absl::OkStatus();
  }

  absl::Status Where() {
    do {
      LATHE_RETURN_IF_ERROR(parser_.AppendClaim(&spec_.where));
    } while (parser_.Accept(","));
    return absl::OkStatus();
  }

  Parser parser_;
  dim::DimContext* context_;
  std::string_view subject_;
  ShapeSpec spec_;
};

}  // namespace

std::string DimSpec::ToString() const {
  std::string text;
  if (!EntryText(*this, &text)) {
    text = dim.ToString();
    for (const Claim& c : claims) absl::StrAppend(&text, ", ", c.ToString());
  }
  return Wrapped(*this, text);
}

absl::StatusOr<ShapeSpec> ShapeSpec::Parse(std::string_view text, dim::DimContext* context,
                                           std::string_view subject) {
  return SpecReader(text, context, subject).Read();
}

std::string ShapeSpec::ToString() const {
  std::vector<std::string> entries, claims;
  for (size_t i = 0; i <= dims.size(); ++i) {
    if (ellipsis == i) entries.emplace_back("...");
    if (i == dims.size()) break;
    std::string text;
    if (!EntryText(dims[i], &text)) {  // what an entry can't hold stands beside the shape
      text = dims[i].dim.ToString();
      for (const Claim& c : dims[i].claims) claims.push_back(c.ToString());
    }
    entries.push_back(Wrapped(dims[i], text));
  }
  for (const Claim& c : where) claims.push_back(c.ToString());
  return absl::StrCat(dtype.has_value() ? lathe::Name(*dtype) : "", "[",
                      absl::StrJoin(entries, ", "), "]", claims.empty() ? "" : " where ",
                      absl::StrJoin(claims, ", "));
}

absl::StatusOr<ShapeSpec> ShapeSpec::WithRank(int rank, dim::DimContext* context,
                                              std::string_view subject) const {
  const int given = static_cast<int>(dims.size());
  if (ellipsis.has_value() ? rank < given : rank != given) {
    return absl::InvalidArgumentError(absl::StrCat(
        ToString(), " has ", ellipsis.has_value() ? "at least " : "", given,
        given == 1 ? " axis" : " axes", ", found rank ", rank, " of ", std::string(subject)));
  }
  ShapeSpec out = *this;
  if (!ellipsis.has_value()) return out;
  out.ellipsis.reset();
  for (int i = 0; i < rank - given; ++i) {
    const int axis = static_cast<int>(*ellipsis) + i;
    DimSpec d{.kind = DimKind::kUnbounded, .named = false};
    d.dim = context->FreshSymbol(NameOfUnknown(subject, axis));
    out.dims.insert(out.dims.begin() + axis, d);
  }
  return out;
}

absl::StatusOr<Shape> ShapeSpec::ToShape() const {
  if (ellipsis.has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat("how many axes ... stands for in ", ToString(), " isn't known"));
  }
  Shape shape;
  for (const DimSpec& d : dims) shape.push_back(d.dim);
  return shape;
}

PartialShape ShapeSpec::ToPartial() const {
  if (ellipsis.has_value()) return PartialShape::OfUnknownRank();
  std::vector<PartialShape::Entry> entries;
  for (const DimSpec& d : dims) {
    entries.push_back(d.kind == DimKind::kUnbounded ? PartialShape::Entry() : d.dim);
  }
  return PartialShape::Of(std::move(entries));
}

absl::Status ShapeSpec::Declare(dim::FactSet* facts, const dim::Source& source) const {
  std::vector<Claim> claims;
  for (const DimSpec& d : dims) claims.insert(claims.end(), d.claims.begin(), d.claims.end());
  claims.insert(claims.end(), where.begin(), where.end());
  for (const Claim& c : claims) {
    absl::StatusOr<dim::FactId> id = facts->Add(c, dim::Standing::kDeclared, source);
    if (!id.ok()) return id.status();
  }
  return absl::OkStatus();
}

}  // namespace lathe::ir
