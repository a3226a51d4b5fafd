// The row of `if`: a region chosen by a claim about sizes.
#include "absl/strings/str_cat.h"
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
  if (then_type.dtype != else_type.dtype || then_type.rank() != else_type.rank())
    return c.Error(absl::StrCat(found, "; wanted one element type and rank"));

  InferContext in_then = c, in_else = c;
  const Side then_side = SideOf(*c.graph, c.side, *n.attrs.claim, true);
  const Side else_side = SideOf(*c.graph, c.side, *n.attrs.claim, false);
  in_then.side = &then_side;
  in_else.side = &else_side;
  c.node->type = then_type;
  for (size_t i = 0; i < then_type.shape.size(); ++i) {
    const Dim a = then_type.shape[i], b = else_type.shape[i];
    // A dim fits both sides if the side that it doesn't come from has the same where it is taken.
    if (a == b || KnownEq(in_else, a, b)) continue;
    if (!KnownEq(in_then, a, b)) {
      return c.Error(absl::StrCat(found, "; axis ", i, " is ", a.ToString(), " and ", b.ToString(),
                                  ", not known to be equal; wanted one shape"));
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
