#pragma once
// A Dim is a size: an immutable integer expression over named symbols, in one canonical form.
//
//   lathe::Trace t("f");
//   lathe::Dim seq = t.dim("seq", "1..8192");
//   lathe::Dim blocks = CeilDiv(seq, 16);      // prints as ceildiv(seq, 16)
//   seq * 2 + seq == 3 * seq                   // true: identity of canonical forms, not a proof
//
// Dims of one program are interned in its DimContext (ir/dim/context.h) and live as long as it
// does. A constant needs no context. Arithmetic never throws: an overflow of int64, a division by
// the constant 0, or a mix of two contexts gives a poisoned Dim (`ok()` is false), which poisons
// what is built from it.
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace lathe {

namespace dim {
struct Node;
}  // namespace dim

class Dim {
 public:
  Dim() = default;  // the constant 0
  Dim(int64_t value)
      : value_(value) {}  // NOLINT: implicit, so that `n + 1` and `{n, 768}` read well
  // A template, so that the literal 0 is a constant and never a null node.
  template <typename N, std::enable_if_t<std::is_same_v<N, dim::Node>, int> = 0>
  explicit Dim(const N* node) : node_(node) {}

  bool ok() const;              // false if poisoned
  absl::Status status() const;  // OutOfRange with what overflowed, or OK
  bool is_constant() const { return node_ == nullptr; }
  int64_t constant() const { return value_; }  // requires is_constant()
  std::string ToString() const;                // as people write it: "4*seq", "ceildiv(seq, 16)"
  const dim::Node* node() const { return node_; }  // null for constants

  friend bool operator==(Dim a, Dim b) { return a.node_ == b.node_ && a.value_ == b.value_; }
  friend bool operator!=(Dim a, Dim b) { return !(a == b); }
  Dim& operator+=(Dim other);
  Dim& operator*=(Dim other);

  template <typename H>
  friend H AbslHashValue(H h, Dim d) {
    return H::combine(std::move(h), d.node_, d.value_);
  }

 private:
  const dim::Node* node_ = nullptr;  // interned; equal expressions of a context share a node
  int64_t value_ = 0;                // the constant; 0 if node_ is set
};

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator-(Dim a);
Dim operator*(Dim a, Dim b);
Dim FloorDiv(Dim a, Dim b);  // rounds to minus infinity
Dim Mod(Dim a, Dim b);       // has the sign of the divisor
Dim CeilDiv(Dim a, Dim b);
Dim Min(Dim a, Dim b);
Dim Max(Dim a, Dim b);

enum class Relation : uint8_t { kEq, kNe, kLt, kLe, kIn };

// A statement about sizes. Divisibility is Eq(Mod(e, m), 0); `kIn` is membership in `set`.
struct Claim {
  Relation relation = Relation::kEq;
  Dim lhs, rhs;
  std::vector<int64_t> set;  // sorted; kIn only

  std::string ToString() const;  // "seq % 8 == 0", "batch in {1, 2, 4}"
};

Claim Eq(Dim a, Dim b);
Claim Ne(Dim a, Dim b);
Claim In(Dim a, std::vector<int64_t> set);
Claim operator<(Dim a, Dim b);
Claim operator<=(Dim a, Dim b);
Claim operator>(Dim a, Dim b);
Claim operator>=(Dim a, Dim b);
// The claim that holds exactly when `c` doesn't (kIn has none: gives an always-false kIn).
Claim Not(const Claim& c);

using Shape = std::vector<Dim>;
std::string ToString(const Shape& shape);  // "[batch, 4*seq, 768]"

}  // namespace lathe
