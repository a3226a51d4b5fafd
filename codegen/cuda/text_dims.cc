// Index arithmetic: Dims as lathe_i64 values, each computed once in the scope that first needs it.
#include "absl/strings/str_join.h"
#include "codegen/cuda/text_emitter.h"

namespace lathe::cuda {

using dim::ExprKind;

namespace {

std::string Literal(int64_t value) {
  if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  return value < 0 ? absl::StrCat("(", value, "ll)") : absl::StrCat(value, "ll");
}

}  // namespace

// Depth is that of the expression, which building bounds.
std::string TextEmitter::Value(Dim d) {
  if (d.is_constant()) return Literal(d.constant());
  dim::SymbolId symbol = 0;
  if (dim::IsSymbol(d, &symbol)) return symbols_.at(symbol);
  if (auto it = dims_.find(d); it != dims_.end()) return it->second;
  const std::string value = Compute(d);
  const std::string name = Fresh('d');
  Line("const lathe_i64 ", name, " = ", value, ";");
  dims_[d] = name;
  opened_dims_.back().push_back(d);
  return name;
}

std::string TextEmitter::Compute(Dim d) {
  const dim::Expr e = dim::Decompose(d);
  std::vector<std::string> operands;
  operands.reserve(e.operands.size());
  for (Dim operand : e.operands) operands.push_back(Value(operand));
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
  return Literal(e.value);
}

std::string TextEmitter::Condition(const Claim& c) {
  const std::string lhs = Value(c.lhs);
  if (c.relation == Relation::kIn) {
    std::string any = "false";
    for (int64_t v : c.set) absl::StrAppend(&any, " || ", lhs, " == ", Literal(v));
    return any;
  }
  const std::string rhs = Value(c.rhs);
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
