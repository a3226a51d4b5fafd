#pragma once
// Why a call with given sizes runs as it does: gathered once as data, shown as text for people or
// as JSON for programs.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/function_state.h"

namespace lathe::rt {

struct Explanation {
  std::string function;
  std::string described;  // "batch = 4, seq = 512"; empty without symbols
  Sizes sizes;
  std::vector<FunctionState::FactText> facts;  // all, as the optimised program has them
  std::vector<std::string> checked;            // facts that this call's sizes were checked against

  std::string version, why;
  bool pinned = false;
  std::vector<std::string> guard;
  struct Other {
    std::string version, why_not;
  };
  std::vector<Other> others;
  std::vector<std::string> failed_builds;

  int64_t code_bytes = 0;
  std::vector<GroupReport> kernels;

  struct Value {
    std::string label;
    int64_t bytes = 0, offset = 0;
    int first_step = 0, last_step = 0;
  };
  std::vector<Value> arena;
  struct Output {
    std::string name, dtype;
    std::vector<int64_t> shape;
  };
  std::vector<Output> outputs;
  int64_t arena_bytes = 0, output_bytes = 0;

  std::string Text() const;
  std::string Json() const;  // one object, one line
};

absl::StatusOr<Explanation> Explain(const FunctionState& function, const Sizes& sizes);

}  // namespace lathe::rt
