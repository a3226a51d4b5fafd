#include "compiler/passes/pass.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "ir/expand.h"
#include "ir/widen.h"

namespace lathe::compiler {
namespace {

constexpr PassRow kTable[] = {
    {"refine_shapes", RefineShapes,
     "first: every later question about a shape gets the simplest dims"},
    {"resolve_if", ResolveIf, "early: the rules then see through what was a region"},
    {"canonicalize", Canonicalize, "before all that looks for patterns"},
    {"fold_constants", FoldConstants, "after canonicalize, which brings constants together"},
    {"eliminate_common", EliminateCommon,
     "after folding, so that equal constants are found; before merge_products, which wants one "
     "lhs"},
    {"recognize_gelu", RecognizeGelu, "once equal nodes are one: the form uses its operand twice",
     false},
    {"recognize_norm", RecognizeNorm, "likewise", false},
    {"recognize_attention", RecognizeAttention,
     "before sink_views, which moves the scale of q away from the product", false},
    {"sink_views", SinkViews,
     "after what looks for forms through views; before what looks behind products", false},
    {"fold_scale", FoldScale, "before merge_products, which copies the matrices", false, false},
    {"narrow_products", NarrowProducts,
     "after folding: it wants constant matrices; after sink_views, which moves views off them"},
    {"merge_products", MergeProducts, "once products that are equal have become one"},
    {"remove_dead", RemoveDead, "last: the others leave unused nodes behind"},
};

absl::Status InPass(std::string_view pass, const absl::Status& s) {
  return absl::Status(s.code(), absl::StrCat("pass ", std::string(pass), ": ",
                                             std::string(s.message().data(), s.message().size())));
}

absl::Status CheckSkips(const PassContext& context) {
  for (const std::string& name : context.skip) {
    std::string known;
    bool found = false;
    for (const PassRow& row : kTable) {
      found |= row.name == name;
      absl::StrAppend(&known, known.empty() ? "" : ", ", std::string(row.name));
    }
    if (!found) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no pass '", name, "' to skip; there are ", known));
    }
  }
  return absl::OkStatus();
}

absl::Status RunOne(const PassRow& row, ir::Graph& graph, PassContext& context) {
  using Clock = std::chrono::steady_clock;
  context.changed = false;
  const Clock::time_point start = Clock::now();
  absl::Status s = row.run(graph, context);
  const std::chrono::duration<double> elapsed = Clock::now() - start;
  context.timings.push_back({row.name, elapsed.count(), context.changed, false});
  if (!s.ok()) return InPass(row.name, s);
  if (context.verify) {
    if (s = ir::Verify(graph); !s.ok()) return InPass(row.name, s);
  }
  if (context.dump && context.changed) context.dump(row.name, graph);
  return absl::OkStatus();
}

}  // namespace

absl::Span<const PassRow> PassTable() { return kTable; }

absl::Status RunPasses(ir::Graph& graph, PassContext& context) {
  if (absl::Status s = CheckSkips(context); !s.ok()) return s;
  for (const PassRow& row : kTable) {
    const auto& skip = context.skip;
    if (std::find(skip.begin(), skip.end(), row.name) != skip.end() ||
        !(row.keeps_specials || graph.fast_math)) {
      context.timings.push_back({row.name, 0, false, true});
      continue;
    }
    if (absl::Status s = RunOne(row, graph, context); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status RunPipeline(ir::Graph& graph, PassContext& context) {
  context.expanded = false;
  if (absl::Status s = RunPasses(graph, context); !s.ok()) return s;
  if (absl::Status s = ir::ExpandComposites(&graph); !s.ok()) return s;
  if (!ir::WidenNarrowFloats(&graph)) return absl::OkStatus();
  context.expanded = true;
  if (absl::Status s = RunPasses(graph, context); !s.ok()) return s;
  return ir::ExpandComposites(&graph);  // what the passes have recognised now
}

}  // namespace lathe::compiler
