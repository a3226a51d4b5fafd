#pragma once
// Which required facts count for which statement of a session. A fact that an op requires is
// checked when that op runs; a value may rely on it only if it needs the op, because a session
// compiles each value with what it needs and no more. Used by TextSession; a whole program
// (ir::Parse) checks all that its statements require, so there every fact counts.
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph.h"

namespace lathe::ir {

class RequiredScope {
 public:
  // A statement made the nodes from `first_node` on and the facts from `first_fact` on.
  void Record(const Graph& graph, size_t first_fact, ValueId first_node);

  // The facts for a statement that names these values: all but the required ones of ops that none
  // of them depends on. Nothing if that leaves none out.
  std::optional<dim::FactSet> FactsFor(const Graph& graph, absl::Span<const ValueId> named);

 private:
  struct Range {
    size_t first_fact, last_fact;  // facts first_fact..last_fact - 1, not all of them required
    ValueId first_node, last_node;
  };
  std::vector<Range> ranges_;  // of the statements that required something, in order

  // The last answer: statements that need the same follow each other.
  std::vector<bool> last_counts_;
  size_t last_size_ = 0;
  std::optional<dim::FactSet> last_;
};

}  // namespace lathe::ir
