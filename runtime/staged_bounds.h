#pragma once
// What the facts of a program in stages say of its sizes from above: `k <= n` bounds the number k
// that data give as soon as n is known. Made with the program, because that builds Dims; asking
// only reads them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lathe/engine.h"
#include "runtime/function_state.h"

namespace lathe::rt {

// Of each symbol, by SymbolId.
struct KnownSizes {
  std::vector<std::optional<int64_t>> exact;  // given, or of a program input
  std::vector<dim::Interval> range;           // the narrowest found; one number where exact
  int64_t workers = 1;  // symbols made later, such as the worker count, have this value

  bool bounded(dim::SymbolId s) const { return range[s].max != dim::kUnboundedMax; }
};

// Where `d` lies when each symbol lies in its range. What a step of it passes is unbounded. Must
// not run while a version is built, because it looks Dims up in their context.
dim::Interval IntervalOf(Dim d, const KnownSizes& sizes);

class SizeBounds {
 public:
  // Adds what the facts of a function's graph say. No function of the program builds meanwhile.
  void Add(const FunctionState& function);
  // `given`: a value a symbol, or nothing.
  KnownSizes Of(std::vector<std::optional<int64_t>> given, int64_t workers) const;

 private:
  struct Row {  // symbol <= most
    dim::SymbolId symbol = 0;
    Dim most;
  };
  std::vector<Row> rows_;
  std::vector<dim::Interval> range_;  // of the symbol alone, in every function that has facts of it
};

}  // namespace lathe::rt
