#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/dim/context.h"
#include "ir/dim/facts.h"
#include "ir/dim/parse.h"
#include "ir/shape_spec.h"
#include "lathe/shape.h"

namespace lathe {
namespace {

using dim::FactSet;

bool NeverEqual(Dim a, Dim b, const FactSet* facts) {
  const Dim gap = a - b;
  if (gap.ok() && gap.is_constant()) return gap != Dim(0);
  return facts != nullptr && facts->Proves(Ne(a, b));
}

bool NeverEqual(const PartialShape::Entry& a, const PartialShape::Entry& b, const FactSet* facts) {
  return a.has_value() && b.has_value() && NeverEqual(*a, *b, facts);
}

// A name made of a text that is none: other bytes become `_`. Texts that differ get names that
// differ, however often they are asked for. `text` isn't empty.
Dim SymbolFor(const std::string& text, dim::DimContext* context) {
  std::string name;
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain || name.empty() || name.back() != '_') name += plain ? c : '_';
  }
  const bool digit = name[0] >= '0' && name[0] <= '9';
  return context->Symbol(absl::StrCat(digit ? "_" : "", name.substr(0, 64), "_", absl::Hex(hash)));
}

Dim OnnxSize(const std::string& param, dim::DimContext* context) {
  // Nothing is made in `context` of a text that doesn't parse.
  dim::DimContext scratch;
  const absl::StatusOr<Dim> d = dim::ParseDim(param, &scratch, /*make_symbols=*/true);
  const bool whole = d.ok() && d->ok() && !d->is_constant() && param != "_" && param != "None";
  return whole ? dim::Substitute(*d, {}, context) : SymbolFor(param, context);
}

}  // namespace

PartialShape PartialShape::FromOnnx(absl::Span<const OnnxDim> dims, dim::DimContext* context) {
  std::vector<Entry> entries;
  for (const OnnxDim& d : dims) {
    if (d.value.has_value()) {
      entries.push_back(*d.value < 0 ? Entry() : Entry(*d.value));
    } else {
      entries.push_back(d.param.empty() ? Entry() : Entry(OnnxSize(d.param, context)));
    }
  }
  return Of(std::move(entries));
}

absl::StatusOr<PartialShape> PartialShape::Parse(std::string_view text, dim::DimContext* context) {
  dim::Parser p(text, context, /*make_symbols=*/true);
  const bool round = p.Accept("(");
  if (!round && !p.Accept("[")) return p.Wanted("\"[\" and a shape");
  const std::string_view close = round ? ")" : "]";
  std::vector<Entry> entries;
  bool unknown_rank = false;
  while (p.token() != close) {
    if (entries.empty() && p.Accept("..")) {
      if (!p.Accept(".")) return p.Wanted("\"...\"");
      unknown_rank = true;
      break;
    }
    if (p.Accept("?") || p.Accept("_") || p.Accept("None")) {
      entries.emplace_back();
    } else {
      absl::StatusOr<Dim> d = p.Expression();
      if (!d.ok()) return d.status();
      entries.emplace_back(*d);
    }
    if (!p.Accept(",")) break;
  }
  if (!p.Accept(close)) return p.Wanted(round ? "\",\" or \")\"" : "\",\" or \"]\"");
  if (!p.AtEnd()) return p.Wanted("the end");
  return unknown_rank ? OfUnknownRank() : Of(std::move(entries));
}

std::string PartialShape::ToString() const {
  if (!has_rank_) return "[...]";
  return absl::StrCat("[",
                      absl::StrJoin(entries_, ", ",
                                    [](std::string* out, const Entry& e) {
                                      out->append(e.has_value() ? e->ToString() : "?");
                                    }),
                      "]");
}

bool PartialShape::IsStatic() const {
  return has_rank_ && std::all_of(entries_.begin(), entries_.end(),
                                  [](const Entry& e) { return e.has_value() && e->is_constant(); });
}

bool PartialShape::IsFullyDynamic() const {
  if (!has_rank_) return true;
  return !entries_.empty() && std::none_of(entries_.begin(), entries_.end(), [](const Entry& e) {
    return e.has_value() && e->is_constant();
  });
}

std::vector<std::pair<int, int64_t>> PartialShape::StaticDims() const {
  std::vector<std::pair<int, int64_t>> dims;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    if (e.has_value() && e->is_constant()) dims.emplace_back(static_cast<int>(i), e->constant());
  }
  return dims;
}

std::vector<int> PartialShape::DynamicIndices() const {
  std::vector<int> indices;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    if (!e.has_value() || !e->is_constant()) indices.push_back(static_cast<int>(i));
  }
  return indices;
}

std::optional<Dim> PartialShape::NumElements() const {
  if (!has_rank_) return std::nullopt;
  bool known = true;
  Dim count = 1;
  for (const Entry& e : entries_) {
    if (e.has_value() && *e == Dim(0)) return Dim(0);
    known = known && e.has_value();
    if (known) count *= *e;
  }
  return known ? std::optional<Dim>(count) : std::nullopt;
}

PartialShape PartialShape::Refined(const FactSet& facts) const {
  PartialShape out = *this;
  for (Entry& e : out.entries_) {
    if (!e.has_value() || e->is_constant()) continue;
    const Dim simple = facts.Simplify(*e);
    if (simple.ok()) e = simple;
    const dim::Interval range = facts.Range(*e);
    if (range.min == range.max) e = Dim(range.min);
  }
  return out;
}

absl::StatusOr<Shape> PartialShape::ToShape(dim::DimContext* context, std::string_view hint) const {
  if (!has_rank_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the rank of ", std::string(hint), " isn't known"));
  }
  Shape shape;
  for (size_t i = 0; i < entries_.size(); ++i) {
    shape.push_back(entries_[i].has_value()
                        ? *entries_[i]
                        : context->FreshSymbol(ir::NameOfUnknown(hint, static_cast<int>(i))));
  }
  return shape;
}

bool Compatible(const PartialShape& a, const PartialShape& b, const FactSet* facts) {
  if (!a.has_rank() || !b.has_rank()) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (NeverEqual(a.entry(i), b.entry(i), facts)) return false;
  }
  return true;
}

absl::StatusOr<PartialShape> Merge(const PartialShape& a, const PartialShape& b,
                                   const FactSet* facts, std::string_view source_a,
                                   std::string_view source_b, std::vector<Claim>* required) {
  if (!a.has_rank()) return b;
  if (!b.has_rank()) return a;
  const auto fail = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": found ", a.ToString(), " from ", std::string(source_a), ", and ", b.ToString(),
        " from ", std::string(source_b), "; wanted shapes that can be the same"));
  };
  if (a.rank() != b.rank()) return fail(absl::StrCat("ranks ", a.rank(), " and ", b.rank()));
  std::vector<PartialShape::Entry> entries;
  for (int i = 0; i < a.rank(); ++i) {
    const PartialShape::Entry &x = a.entry(i), &y = b.entry(i);
    if (NeverEqual(x, y, facts)) {
      return fail(absl::StrCat("axis ", i, " is ", x->ToString(), " and ", y->ToString(),
                               ", which are never equal"));
    }
    const bool take_y = !x.has_value() || (y.has_value() && y->is_constant());
    entries.push_back(take_y ? y : x);
    if (required == nullptr || !x.has_value() || !y.has_value() || *x == *y) continue;
    if (facts == nullptr || !facts->Proves(Eq(*x, *y))) required->push_back(Eq(*x, *y));
  }
  return PartialShape::Of(std::move(entries));
}

}  // namespace lathe
