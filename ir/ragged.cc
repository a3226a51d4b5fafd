#include "ir/ragged.h"

#include "absl/strings/str_cat.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

constexpr std::string_view kOffsets = ".offsets";

}  // namespace

absl::StatusOr<RaggedDim> DeclareRagged(Builder& b, const std::string& name, Dim batch,
                                        std::string_view bounds, const dim::Source& source,
                                        DType dtype) {
  Graph& graph = *b.graph();
  if (FindRagged(graph, name))
    return absl::AlreadyExistsError(absl::StrCat("there is a ragged dim '", name, "' already"));
  RaggedDim r{.name = name, .batch = batch};
  r.total = graph.dims()->Symbol(absl::StrCat(name, ".total"));
  r.longest = graph.dims()->Symbol(absl::StrCat(name, ".max"));
  for (Dim d : {r.total, r.longest})
    if (!d.ok()) return d.status();
  if (!bounds.empty()) LATHE_RETURN_IF_ERROR(graph.facts().AddSpec(&r.longest, bounds, source));
  const dim::Source rows{absl::StrCat("the rows of ~", name), source.where};
  for (const Claim& claim : {r.longest <= r.total, r.total <= batch * r.longest}) {
    LATHE_RETURN_IF_ERROR(graph.facts().Add(claim, dim::Standing::kDeclared, rows).status());
  }
  Attrs attrs;
  attrs.offsets = Shape{r.total, r.longest};
  LATHE_ASSIGN_OR_RETURN(r.offsets, b.Input(absl::StrCat(name, std::string(kOffsets)),
                                            {dtype, {batch + 1}}, std::move(attrs)));
  return r;
}

std::optional<RaggedDim> RaggedOf(const Graph& graph, ValueId v) {
  if (v >= graph.num_nodes()) return std::nullopt;
  const Node& n = graph.node(v);
  if (n.op != Op::k_input || !n.attrs.offsets) return std::nullopt;
  std::string name = n.attrs.name;
  if (name.ends_with(kOffsets)) name.resize(name.size() - kOffsets.size());
  const Shape& sizes = *n.attrs.offsets;
  return RaggedDim{std::move(name), v, n.type.shape[0] - 1, sizes[0], sizes[1]};
}

std::optional<RaggedDim> FindRagged(const Graph& graph, std::string_view name) {
  for (ValueId v : graph.inputs) {
    std::optional<RaggedDim> r = RaggedOf(graph, v);
    if (r && r->name == name) return r;
  }
  return std::nullopt;
}

std::optional<RaggedDim> RaggedWithTotal(const Graph& graph, Dim total) {
  if (total.is_constant()) return std::nullopt;
  for (ValueId v : graph.inputs) {
    std::optional<RaggedDim> r = RaggedOf(graph, v);
    if (r && r->total == total) return r;
  }
  return std::nullopt;
}

}  // namespace lathe::ir
