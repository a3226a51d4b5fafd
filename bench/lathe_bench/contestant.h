#pragma once
// The peer benchmark's line protocol: one JSON request a line in, one JSON reply a line out.
#include <iosfwd>

namespace lathe::bench {

// Serves until end of input or "quit". A request that fails is answered by {"error": reason}.
void ServeContestant(std::istream& in, std::ostream& out);

}  // namespace lathe::bench
