#pragma once
// Known memory: the peak of a call, and its inverse.
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/function_state.h"

namespace lathe::rt {

// Arena and outputs of a call with these symbols by the version that would serve it. `context` is
// scratch for evaluating: nothing is allocated in it.
absl::StatusOr<int64_t> PeakBytes(const FunctionState& function, absl::Span<const int64_t> symbols,
                                  ContextState& context);

using PeakOfSizes = std::function<absl::StatusOr<int64_t>(const Sizes&)>;

// The largest admitted value of `symbol`, others given, whose peak stays within `bytes`. The
// result's own peak is evaluated, and the next admitted value's is above `bytes`. NotFound if no
// value fits. The peak is taken to grow with the symbol; this is tested on values over the whole
// domain, so a larger value that fits is missed only if it lies between them.
absl::StatusOr<int64_t> Largest(const FunctionState& function, const std::string& symbol,
                                const Sizes& others, int64_t bytes);

// The same for another peak, and among the values of any domain: they are tried by `peak`, which
// gets all sizes.
absl::StatusOr<int64_t> Largest(const FunctionState& function, const std::string& symbol,
                                const Sizes& others, int64_t bytes, const PeakOfSizes& peak);
absl::StatusOr<int64_t> LargestBy(const FunctionState::Domain& domain, const std::string& symbol,
                                  const Sizes& others, int64_t bytes, const PeakOfSizes& peak);

}  // namespace lathe::rt
