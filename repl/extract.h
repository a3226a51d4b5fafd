#pragma once
// The program that computes some values of a session's graph, as a graph of its own: what :run,
// :why and the others compile. It has a DimContext of its own, so compiling it in the background
// and going on with the session don't meet.
//
// Inputs that the values don't need are dropped, and so are facts about sizes that don't occur in
// it. A size that no input shows (`randn([n, 4])`) comes in by an input without elements,
// `sizes.n: bool[n, 0]`.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace lathe::repl {

struct NamedValue {
  std::string name;  // of the output
  ir::ValueId value = ir::kNoValue;
};

absl::StatusOr<std::unique_ptr<ir::Graph>> Extract(const ir::Graph& session,
                                                   absl::Span<const NamedValue> outputs);

}  // namespace lathe::repl
