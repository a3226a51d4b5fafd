#pragma once
// Passing a failure on in one line. For .cc files of ir; never in public headers.
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status of `expression` from the enclosing function unless it is OK.
#define LATHE_RETURN_IF_ERROR(expression)          \
  do {                                             \
    absl::Status lathe_status_ = (expression);     \
    if (!lathe_status_.ok()) return lathe_status_; \
  } while (false)

// `declaration` = the value of the StatusOr `expression`; returns its status if it has none.
#define LATHE_ASSIGN_OR_RETURN(declaration, expression) \
  LATHE_ASSIGN_OR_RETURN_AT_(__LINE__, declaration, expression)
#define LATHE_ASSIGN_OR_RETURN_AT_(line, declaration, expression) \
  LATHE_ASSIGN_OR_RETURN_AS_(line, declaration, expression)
#define LATHE_ASSIGN_OR_RETURN_AS_(line, declaration, expression) \
  auto lathe_or_##line = (expression);                            \
  if (!lathe_or_##line.ok()) return lathe_or_##line.status();     \
  declaration = *std::move(lathe_or_##line)
