// docs/ops.md, written from the op table.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/op.h"

namespace lathe::ir {
namespace {

struct Family {
  Emission emission;
  std::string_view title;
};

constexpr Family kFamilies[] = {
    {Emission::kSource, "Sources"},
    {Emission::kElementwise, "Elementwise"},
    {Emission::kView, "Views and data movement"},
    {Emission::kGather, "Gather"},
    {Emission::kSequential, "Orders along an axis"},
    {Emission::kReduction, "Reductions"},
    {Emission::kSegment, "Ragged dims"},
    {Emission::kContraction, "Matrix products"},
    {Emission::kAttention, "Attention"},
    {Emission::kComposite, "Composites"},
    {Emission::kControl, "Control"},
};

constexpr std::string_view kIntroduction =
    "# Ops\n"
    "\n"
    "Written from the op table (ir/op.h); `ir_test --bless` renews it. Examples are in the text "
    "form, "
    "with `x: f32[n, 4]`, `k: i64[n, 4]`, `p: bool[n, 4]`, `w: f32[4, 8]`, `w4: f32[4]`, `r: "
    "f32[batch, ~seq, 4]`. Operands "
    "of "
    "elementwise ops have one shape; the tracing DSL and the text form broadcast them first. No "
    "type "
    "is promoted: mixed types are an error that offers the cast. Bounds are against float64.\n"
    "\n"
    "Types: integers are i8 i16 i32 i64 u8 u16 u32 u64, floats are f16 bf16 f32 f64; numbers are "
    "both. An op on f16 or bf16 is the op on the same values as f32, and its result rounds once "
    "more.\n";

std::string TypeNames(uint32_t types) {
  if (types == kAllTypes) return "all";
  if (types == kFloatTypes) return "floats";
  if (types == kIntTypes) return "integers";
  if (types == kNumericTypes) return "numbers";
  std::vector<std::string> names;
  for (int t = 0; t < kNumDTypes; ++t) {
    if (Contains(types, static_cast<DType>(t))) names.emplace_back(Name(static_cast<DType>(t)));
  }
  return absl::StrJoin(names, ", ");
}

std::string OperandCount(const OpInfo& op) {
  if (op.min_operands == op.max_operands) return absl::StrCat(op.min_operands);
  constexpr int kFew = 8;
  if (op.max_operands > kFew) return absl::StrCat(op.min_operands, " or more");
  return absl::StrCat(op.min_operands, " to ", op.max_operands);
}

std::string Attributes(const OpInfo& op) {
  return absl::StrJoin(op.attrs, ", ", [](std::string* out, const AttrSpec& a) {
    absl::StrAppend(out, "`", std::string(a.name), "`", a.required ? "" : " (optional)");
  });
}

std::string Paragraph(const OpInfo& op) {
  std::string text = absl::StrCat("\n### ", std::string(op.name), "\n\n", std::string(op.doc),
                                  "\n\n", "    ", std::string(op.example), "\n\n");
  absl::StrAppend(&text, "- operands: ", OperandCount(op), "; types: ", TypeNames(op.dtypes), "\n");
  if (!op.attrs.empty()) absl::StrAppend(&text, "- attributes: ", Attributes(op), "\n");
  absl::StrAppend(&text, "- bound: ", std::string(op.bound), "\n");
  if (op.traits & kMayFail) absl::StrAppend(&text, "- may fail on data; never removed as unused\n");
  return text;
}

}  // namespace

std::string OpsMarkdown() {
  std::string text(kIntroduction);
  for (const Family& family : kFamilies) {
    absl::StrAppend(&text, "\n## ", std::string(family.title), "\n");
    for (const OpInfo& op : AllOps()) {
      if (op.emission == family.emission) absl::StrAppend(&text, Paragraph(op));
    }
  }
  return text;
}

}  // namespace lathe::ir
