#pragma once
// Hints: what the layer that refuses an op knows about mending it, in terms that need no text. They
// travel in the payload of an absl::Status; ir/mend.h tries them on the program's text.
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lathe::ir {

struct Hint {
  enum class Kind : uint8_t {
    kAssume,     // a: a claim that would have to be declared
    kWrap,       // put a before and b behind operand `index` of the op
    kAttr,       // the attribute a has the value b
    kNumber,     // write b where the number a stands
    kDims,       // sizes a and b, written in shapes of inputs, should be the same
    kWord,       // write a in place of the word at the error's place
    kInsert,     // write a in front of the error's place
    kDropItem,   // leave out the item of a list that stands at the error's place
    kYield,      // put a before and b behind the result of side `index`
    kCondition,  // a: the claim that the enclosing `if` should have
    kType,       // the type that the statement declares should be a
    kSize,       // call with size a = b
    kInput,      // pass input a as b, "f32[4, 8]"
  };
  Kind kind = Kind::kAssume;
  std::string a, b;
  int index = 0;
};

// `status` with one more hint, behind those that it has. An OK status stays as it is.
absl::Status WithHint(absl::Status status, const Hint& hint);
// The same, in front of them.
absl::Status WithFirstHint(const absl::Status& status, const Hint& hint);
// In the order in which they should be tried.
std::vector<Hint> HintsOf(const absl::Status& status);
// `status` with another message; the hints stay.
absl::Status WithMessage(const absl::Status& status, const std::string& message);
// `status` with "prefix: " in front of its message; the hints stay.
absl::Status WithPrefix(const absl::Status& status, const std::string& prefix);

}  // namespace lathe::ir
