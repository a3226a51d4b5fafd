#pragma once
// Loops as stages: what Loop, Scan and the recurrent operators share.
#include <functional>
#include <optional>
#include <vector>

#include "compiler/onnx/node.h"

namespace lathe::onnx {

struct LoopSpec {
  std::vector<Val> carried;  // initial values
  Val trips, condition;      // at most so many steps; whether the first runs; either may be absent
  std::optional<Dim> count;  // of steps, where a size gives it
  bool gives_condition = false;
  // [step, carried..] -> [condition, if it gives one] + carried.. + scanned.., in the body's scope.
  // It may run more than once: until the types of the carried values settle.
  std::function<absl::StatusOr<std::vector<Val>>(Scope& body, std::vector<Val> inputs)> body;
};

// Appends the loop; the carried values' last, then the scanned ones joined along a new first axis.
// Empty after a fault. Values of the current graph have to be used again: another graph begins.
std::vector<Val> RunLoop(NodeContext& c, LoopSpec spec);

}  // namespace lathe::onnx
