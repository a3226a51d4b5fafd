// Index arithmetic: each Dim is computed once, in the scope that first needs it. It is a lathe_i32
// where that is proved to hold it and all that is computed on the way, else a lathe_i64.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "codegen/cuda/cuda_text.h"
#include "codegen/cuda/text_emitter.h"

namespace lathe::cuda {

using dim::ExprKind;

namespace {

const char* IndexType(bool is_narrow) { return is_narrow ? "lathe_i32" : "lathe_i64"; }

std::string Literal(int64_t value, bool is_narrow) {
  if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  const std::string text = absl::StrCat(value, is_narrow ? "" : "ll");
  return value < 0 ? absl::StrCat("(", text, ")") : text;
}

}  // namespace

// C++ sums and multiplies from left to right: no part of it may pass 32 bits.
bool TextEmitter::IsNarrow(const dim::Expr& e) const {
  int64_t least = 0, most = 0, product = 1;
  for (Dim operand : e.operands) {
    const dim::Interval r = facts_.Range(operand);
    if (!kernel::FitsI32(r)) return false;
    least += std::min<int64_t>(r.min, 0);
    most += std::max<int64_t>(r.max, 0);
    if (e.kind != ExprKind::kMul) continue;
    product *= std::max({int64_t{1}, -r.min, r.max});
    if (product > INT32_MAX) return false;
  }
  return e.kind != ExprKind::kAdd || kernel::FitsI32({least, most});
}

bool TextEmitter::IsNarrow(Dim index, Dim stride) const {
  const dim::Interval i = facts_.Range(index), s = facts_.Range(stride);
  if (!kernel::FitsI32(i) || !kernel::FitsI32(s)) return false;
  constexpr int64_t kLast = kWarpLanes - 1;
  const int64_t least = kLast * std::min<int64_t>(s.min, 0);
  const int64_t most = kLast * std::max<int64_t>(s.max, 0);
  return kernel::FitsI32({least, most}) && kernel::FitsI32({i.min + least, i.max + most});
}

// With the value that ends it.
bool TextEmitter::IsNarrow(const kernel::Stmt& loop) const {
  const dim::Interval begin = facts_.Range(loop.begin), end = facts_.Range(loop.end);
  return kernel::FitsI32(begin) && kernel::FitsI32(end) && loop.step <= INT32_MAX &&
         end.max + loop.step <= INT32_MAX;
}

// Depth is that of the expression, which building bounds.
TextEmitter::Index TextEmitter::Value(Dim d) {
  if (d.is_constant()) {
    const bool is_narrow = kernel::FitsI32({d.constant(), d.constant()});
    return {Literal(d.constant(), is_narrow), is_narrow};
  }
  dim::SymbolId symbol = 0;
  if (dim::IsSymbol(d, &symbol)) return symbols_.at(symbol);
  if (auto it = dims_.find(d); it != dims_.end()) return it->second;
  const dim::Expr e = dim::Decompose(d);
  const bool is_narrow = IsNarrow(e);
  const std::string value = Compute(e, is_narrow);
  const Index index = {Fresh('d'), is_narrow};
  Line("const ", IndexType(is_narrow), " ", index.text, " = ", value, ";");
  dims_[d] = index;
  opened_dims_.back().push_back(d);
  return index;
}

std::string TextEmitter::Value(Dim d, bool as_narrow) {
  if (d.is_constant()) return Literal(d.constant(), as_narrow);
  const Index index = Value(d);
  if (index.is_narrow == as_narrow) return index.text;
  return absl::StrCat("(", IndexType(as_narrow), ")", index.text);
}

std::string TextEmitter::Compute(const dim::Expr& e, bool is_narrow) {
  std::vector<std::string> operands;
  operands.reserve(e.operands.size());
  for (Dim operand : e.operands) operands.push_back(Value(operand, is_narrow));
  switch (e.kind) {
    case ExprKind::kAdd:
      return absl::StrJoin(operands, " + ");
    case ExprKind::kMul:
      return absl::StrJoin(operands, " * ");
    case ExprKind::kFloorDiv:
      return absl::StrCat("lathe_floordiv(", operands[0], ", ", operands[1], ")");
    case ExprKind::kMod:
      return absl::StrCat("lathe_mod(", operands[0], ", ", operands[1], ")");
    case ExprKind::kCeilDiv:
      return absl::StrCat("lathe_ceildiv(", operands[0], ", ", operands[1], ")");
    case ExprKind::kMin:
      return absl::StrCat("lathe_min(", operands[0], ", ", operands[1], ")");
    case ExprKind::kMax:
      return absl::StrCat("lathe_max(", operands[0], ", ", operands[1], ")");
    case ExprKind::kConstant:
    case ExprKind::kSymbol:
      break;  // have no operands: Value answers for them
  }
  return Literal(e.value, is_narrow);
}

std::string TextEmitter::Condition(const Claim& c) {
  const std::string lhs = Text(c.lhs);
  if (c.relation == Relation::kIn) {
    std::string any = "false";
    for (int64_t v : c.set) absl::StrAppend(&any, " || ", lhs, " == ", Literal(v, false));
    return any;
  }
  const std::string rhs = Text(c.rhs);
  switch (c.relation) {
    case Relation::kEq:
      return absl::StrCat(lhs, " == ", rhs);
    case Relation::kNe:
      return absl::StrCat(lhs, " != ", rhs);
    case Relation::kLt:
      return absl::StrCat(lhs, " < ", rhs);
    default:
      return absl::StrCat(lhs, " <= ", rhs);
  }
}

}  // namespace lathe::cuda
