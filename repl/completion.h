#pragma once
// What a word that is being typed may become: commands behind ':', otherwise words of the grammar,
// ops, values and dims.
#include <string>
#include <string_view>
#include <vector>

#include "repl/session.h"

namespace lathe::repl {

// The start in `line` of the word that ends at `line`'s end.
size_t WordStart(std::string_view line);

// Sorted words that begin as the last word of `line` does.
std::vector<std::string> Complete(const Session& session, std::string_view line);

}  // namespace lathe::repl
