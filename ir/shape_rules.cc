#include "ir/shape_rules.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"

namespace lathe::ir {
namespace {

constexpr int kMaxTakenApart = 6;  // levels of min and max that KnownLe looks through

bool KnownLe(const InferContext& c, Dim a, Dim b, int depth) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return a.constant() <= b.constant();
  if (depth < kMaxTakenApart) {
    const dim::Expr ea = dim::Decompose(a), eb = dim::Decompose(b);
    const auto le = [&](Dim x, Dim y) { return KnownLe(c, x, y, depth + 1); };
    if (ea.kind == dim::ExprKind::kMax) return le(ea.operands[0], b) && le(ea.operands[1], b);
    if (eb.kind == dim::ExprKind::kMin) return le(a, eb.operands[0]) && le(a, eb.operands[1]);
    if (ea.kind == dim::ExprKind::kMin && (le(ea.operands[0], b) || le(ea.operands[1], b)))
      return true;
    if (eb.kind == dim::ExprKind::kMax && (le(a, eb.operands[0]) || le(a, eb.operands[1])))
      return true;
  }
  return c.Known(a <= b);
}

std::string TypeList(uint32_t types) {
  if (types == kFloatTypes) return "a float";
  if (types == kIntTypes) return "an integer";
  if (types == kNumericTypes) return "a number";
  std::vector<std::string> names;
  for (int t = 0; t < kNumDTypes; ++t) {
    if (Contains(types, static_cast<DType>(t))) names.emplace_back(Name(static_cast<DType>(t)));
  }
  return absl::StrJoin(names, " or ");
}

// Constant dims multiply without overflow, zeros left out: strides count as well.
absl::Status CheckConstantVolume(const InferContext& c, const ValueType& type) {
  int64_t bytes = SizeOf(type.dtype);
  for (Dim d : type.shape) {
    if (!d.is_constant() || d.constant() == 0) continue;
    const int64_t before = bytes;
    if (__builtin_mul_overflow(bytes, d.constant(), &bytes)) {
      std::string product;
      for (Dim e : type.shape) absl::StrAppend(&product, e.ToString(), " * ");
      const absl::Status error =
          ErrorAt(*c.node, absl::StatusCode::kOutOfRange,
                  absl::StrCat(type.ToString(), " has ", product, SizeOf(type.dtype),
                               " bytes, more than the limit of 2^63 - 1"));
      return WithHint(error, {Hint::Kind::kNumber, d.ToString(), absl::StrCat(INT64_MAX / before)});
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDim(InferContext& c, const ValueType& type, size_t axis) {
  const Dim d = type.shape[axis];
  const auto fail = [&](absl::StatusCode code, const std::string& what) {
    return ErrorAt(*c.node, code, absl::StrCat("axis ", axis, " of ", type.ToString(), " ", what));
  };
  if (!d.ok()) return fail(absl::StatusCode::kOutOfRange, std::string(d.status().message()));
  if (dim::DimContext* context = dim::ContextOf(d); context && context != c.graph->dims())
    return fail(absl::StatusCode::kInvalidArgument, "is a dim of another program");
  const dim::Interval range =
      d.is_constant() ? dim::Interval{d.constant(), d.constant()} : c.graph->facts().Range(d);
  if (range.max < 0) {
    const absl::Status error =
        fail(absl::StatusCode::kInvalidArgument,
             d.is_constant() ? "is negative; wanted >= 0, or ? for a size that the call gives"
                             : absl::StrCat("is negative (at most ", range.max, "); wanted >= 0"));
    return WithHint(error, {Hint::Kind::kNumber, d.ToString(), "?"});
  }
  if (range.min > kMaxDim) {
    const absl::Status error =
        fail(absl::StatusCode::kOutOfRange,
             absl::StrCat("is at least ", range.min, ", more than the limit of 2^40"));
    return WithHint(error, {Hint::Kind::kNumber, d.ToString(), absl::StrCat(kMaxDim)});
  }
  if (range.min >= 0) return absl::OkStatus();
  return c.Require(d >= 0, absl::StrCat("axis ", axis, " of the result may not be negative"));
}

}  // namespace

absl::Status ErrorAt(const Node& n, absl::StatusCode code, const std::string& message) {
  std::string text(Name(n.op));
  const std::string& name = n.name.empty() ? n.attrs.name : n.name;
  if (!name.empty()) absl::StrAppend(&text, " '", name, "'");
  const std::string where = n.location.ToString();
  if (!where.empty()) absl::StrAppend(&text, " at ", where);
  return absl::Status(code, absl::StrCat(text, ": ", message));
}

bool KnownEq(const InferContext& c, Dim a, Dim b) {
  if (a == b) return true;
  if (a.is_constant() && b.is_constant()) return false;
  return c.Known(Eq(a, b));
}

bool KnownLe(const InferContext& c, Dim a, Dim b) { return KnownLe(c, a, b, 0); }

Claim IsOneOf(Dim d, absl::Span<const Dim> dims) {
  const auto distance = [d](Dim other) { return Max(d - other, other - d); };
  Dim nearest = distance(dims[0]);
  for (Dim other : dims.subspan(1)) nearest = Min(nearest, distance(other));
  return Eq(nearest, 0);
}

Claim EqualOrOne(Dim n, Dim m) { return Eq(Min(IsOneOf(n, {m, 1}).lhs, IsOneOf(m, {1}).lhs), 0); }

Dim SmallerOf(const InferContext& c, Dim a, Dim b) {
  if (KnownLe(c, a, b)) return a;
  return KnownLe(c, b, a) ? b : Min(a, b);
}

Dim LargerOf(const InferContext& c, Dim a, Dim b) {
  if (KnownLe(c, a, b)) return b;
  return KnownLe(c, b, a) ? a : Max(a, b);
}

DType WiderOf(DType a, DType b) {
  constexpr DType kOrder[] = {bool_, u8, i8, u16, i16, u32, i32, u64, i64, bf16, f16, f32, f64};
  const auto* const end = std::end(kOrder);
  return std::find(kOrder, end, a) < std::find(kOrder, end, b) ? b : a;
}

absl::Status CheckDTypes(const InferContext& c, size_t first) {
  const DType dtype = c.operand(first).dtype;
  for (size_t i = first; i < c.node->operands.size(); ++i) {
    const DType found = c.operand(i).dtype;
    if (found == dtype) continue;
    // To the wider kind: whole numbers become floats, bools become numbers.
    const bool to_first = WiderOf(dtype, found) == dtype
                              ? Contains(Info(c.node->op).dtypes, dtype)
                              : !Contains(Info(c.node->op).dtypes, found);
    const DType wanted = to_first ? dtype : found;
    const std::string suffix = absl::StrCat(", dtype=", Name(wanted), ")");
    const absl::Status error = c.Error(
        absl::StrCat("operands ", first, " and ", i, " are ", Name(dtype), " and ", Name(found),
                     "; wanted one type: cast one of them, as in cast(x", suffix));
    return WithHint(error,
                    {Hint::Kind::kWrap, "cast(", suffix, static_cast<int>(to_first ? i : first)});
  }
  return CheckOperandIs(c, first, Info(c.node->op).dtypes, absl::StrCat("operand ", first));
}

absl::Status CheckOperandIs(const InferContext& c, size_t i, uint32_t types,
                            const std::string& role) {
  const DType found = c.operand(i).dtype;
  if (Contains(types, found)) return absl::OkStatus();
  const DType fits = Contains(types, DType::kF32)   ? DType::kF32
                     : Contains(types, DType::kI64) ? DType::kI64
                                                    : DType::kBool;
  const std::string suffix = absl::StrCat(", dtype=", Name(fits), ")");
  return WithHint(c.Error(absl::StrCat(role, " is ", Name(found), "; wanted ", TypeList(types),
                                       ", as cast(x", suffix, " gives it")),
                  {Hint::Kind::kWrap, "cast(", suffix, static_cast<int>(i)});
}

absl::Status NormalizeAxis(const InferContext& c, int64_t* axis, int rank) {
  if (*axis < -rank || *axis >= rank) {
    const absl::Status error =
        c.Error(absl::StrCat("axis ", *axis, " is outside of rank ", rank,
                             rank == 0 ? std::string("; a scalar has no axes")
                                       : absl::StrCat("; wanted ", -rank, "..", rank - 1)));
    return rank == 0 ? error
                     : WithHint(error, {Hint::Kind::kNumber, absl::StrCat(*axis),
                                        absl::StrCat(*axis < 0 ? 0 : rank - 1)});
  }
  if (*axis < 0) *axis += rank;
  return absl::OkStatus();
}

absl::Status NormalizeAxes(const InferContext& c, std::vector<int64_t>* axes, int rank) {
  if (axes->empty()) {
    for (int i = 0; i < rank; ++i) axes->push_back(i);
  }
  for (int64_t& axis : *axes) {
    if (absl::Status s = NormalizeAxis(c, &axis, rank); !s.ok()) return s;
  }
  std::sort(axes->begin(), axes->end());
  const auto twice = std::adjacent_find(axes->begin(), axes->end());
  if (twice == axes->end()) return absl::OkStatus();
  absl::Status error = c.Error(absl::StrCat("axis ", *twice, " is named twice"));
  for (int64_t other = 0; other < rank; ++other) {
    if (std::find(axes->begin(), axes->end(), other) != axes->end()) continue;
    error = WithHint(error, {Hint::Kind::kNumber, absl::StrCat(*twice), absl::StrCat(other)});
    error =
        WithHint(error, {Hint::Kind::kNumber, absl::StrCat(*twice - rank), absl::StrCat(other)});
  }
  return error;
}

absl::Status RequireEqualShapes(InferContext& c, const Shape& a, const Shape& b,
                                const std::string& what) {
  if (a.size() != b.size()) {
    return c.Error(
        absl::StrCat(what, ": found ", ToString(a), " and ", ToString(b), "; wanted equal shapes"));
  }
  for (size_t i = 0; i < a.size(); ++i) {
    if (KnownEq(c, a[i], b[i])) continue;
    if (absl::Status s = c.Require(Eq(a[i], b[i]), what); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status CheckType(InferContext& c, const ValueType& type, absl::flat_hash_set<Dim>* checked) {
  if (type.rank() > kMaxRank) {
    return ErrorAt(*c.node, absl::StatusCode::kResourceExhausted,
                   absl::StrCat("the result has rank ", type.rank(), ", the limit is ", kMaxRank));
  }
  for (size_t i = 0; i < type.shape.size(); ++i) {
    if (checked->contains(type.shape[i])) continue;
    if (absl::Status s = CheckDim(c, type, i); !s.ok()) return s;
    checked->insert(type.shape[i]);
  }
  return CheckConstantVolume(c, type);
}

Shape ReducedShape(const Shape& shape, const std::vector<int64_t>& axes, bool keep_dims) {
  Shape result;
  size_t next = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = next < axes.size() && axes[next] == static_cast<int64_t>(i);
    if (reduced) ++next;
    if (!reduced) result.push_back(shape[i]);
    if (reduced && keep_dims) result.push_back(1);
  }
  return result;
}

Dim Volume(absl::Span<const Dim> shape) {
  Dim volume = 1;
  for (Dim d : shape) volume *= d;
  return volume;
}

}  // namespace lathe::ir
