// The row of `if`: a region chosen by a claim about sizes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/hint.h"
#include "ir/op_rows.h"
#include "ir/shape_rules.h"

namespace lathe::ir {
namespace {

absl::Status InferIf(InferContext& c) {
  const Node& n = *c.node;
  if (n.blocks.size() != 2 || n.blocks[0].results.size() != 1 || n.blocks[1].results.size() != 1)
    return c.Error("wanted two sides with one result each");
  const ValueType& then_type = c.graph->type(n.blocks[0].results[0]);
  const ValueType& else_type = c.graph->type(n.blocks[1].results[0]);
  const std::string found =
      absl::StrCat("the sides give ", then_type.ToString(), " and ", else_type.ToString());
  if (then_type.dtype != else_type.dtype) {
    const DType wanted = WiderOf(then_type.dtype, else_type.dtype);
    return WithHint(c.Error(absl::StrCat(found, "; wanted one element type: cast one of them")),
                    {Hint::Kind::kYield, "cast(", absl::StrCat(", dtype=", Name(wanted), ")")});
  }
  if (then_type.rank() != else_type.rank()) {
    const bool then_lower = then_type.rank() < else_type.rank();
    const ValueType& higher = then_lower ? else_type : then_type;
    const absl::Status error =
        c.Error(absl::StrCat(found, "; wanted one rank: reshape or broadcast one of them"));
    const std::string shape = absl::StrCat(", shape=", ToString(higher.shape), ")");
    return WithHint(WithHint(error, {Hint::Kind::kYield, "reshape(", shape}),
                    {Hint::Kind::kYield, "broadcast(", shape});
  }

  InferContext in_then = c, in_else = c;
  const std::string where = n.location.ToString();
  const Side then_side = SideOf(*c.graph, c.side, *n.attrs.claim, true, where);
  const Side else_side = SideOf(*c.graph, c.side, *n.attrs.claim, false, where);
  in_then.side = &then_side;
  in_else.side = &else_side;
  c.node->type = then_type;
  for (size_t i = 0; i < then_type.shape.size(); ++i) {
    const Dim a = then_type.shape[i], b = else_type.shape[i];
    // A dim fits both sides if the side that it doesn't come from has the same where it is taken.
    if (a == b || KnownEq(in_else, a, b)) continue;
    if (!KnownEq(in_then, a, b)) {
      absl::Status error =
          c.Error(absl::StrCat(found, "; axis ", i, " is ", a.ToString(), " and ", b.ToString(),
                               ", not known to be equal; wanted one shape"));
      error = WithHint(error, {Hint::Kind::kAssume, Eq(a, b).ToString(), ""});
      for (const ValueType* type : {&then_type, &else_type}) {
        const std::string shape = absl::StrCat(", shape=", ToString(type->shape), ")");
        error = WithHint(error, {Hint::Kind::kYield, "broadcast(", shape});
      }
      return error;
    }
    c.node->type.shape[i] = b;
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<OpInfo> ControlOps() {
  return {
      {.op = Op::k_if,
       .attrs = {{"claim"}},
       .dtypes = kAllTypes,
       .emission = Emission::kControl,
       .infer = InferIf,
       .doc =
           "The result of one of two regions, chosen by a claim about sizes; only that one runs.",
       .example = "y = if n >= 8 { z = relu(x); yield z } else { yield x }",
       .bound = "exact"},
  };
}

}  // namespace lathe::ir
