#pragma once
// Reads the text of Dims, claims and specs. Used by ParseDim, ParseClaims,
// FactSet::AddSpec and the readers of shapes in ir/. Copyable: a copy looks ahead.
// Errors are InvalidArgument (or NotFound for an unknown name) and name the column, from 1.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/dim/context.h"

namespace lathe::dim {

class Parser {
 public:
  Parser(std::string_view text, DimContext* context, bool make_symbols)
      : text_(text), context_(context), make_symbols_(make_symbols) {
    Next();
  }

  bool AtEnd() const { return token_.empty(); }
  std::string_view token() const { return token_; }  // the current one; empty at the end
  bool Accept(std::string_view token);
  bool AcceptRelation(std::string_view* op);  // == != < <= > >=
  absl::StatusOr<Dim> Expression();
  // "a < b <= c" gives two claims, "a in {1, 2}" and "a in 1..8" one or two.
  absl::Status AppendClaim(std::vector<Claim>* out);
  // One item of a spec about `subject`: "1..8", "<= 8", "% 8 == 0", "in {1}", "?", "a % 2 == 0".
  absl::Status AppendSpecItem(Dim subject, std::vector<Claim>* out);
  // Consumes a comma; an error if neither a comma nor the end follows.
  absl::StatusOr<bool> Comma();
  absl::Status Wanted(std::string_view what) const;

 private:
  void Next();
  bool AtEndOfItem() const;
  absl::StatusOr<Dim> Product();
  absl::StatusOr<Dim> Unary();
  absl::StatusOr<Dim> Primary();
  absl::StatusOr<Dim> Call(const std::string& name);
  absl::StatusOr<Dim> Name();
  absl::StatusOr<int64_t> Integer();
  absl::Status AppendMembership(Dim subject, std::vector<Claim>* out);
  absl::Status AppendRange(Dim subject, std::vector<Claim>* out);
  absl::Status AppendChain(Dim first, std::vector<Claim>* out);

  std::string_view text_;
  DimContext* context_;
  bool make_symbols_;
  size_t position_ = 0;     // after the token
  size_t token_start_ = 0;  // column - 1
  std::string_view token_;  // empty at the end
  int depth_ = 0;
};

}  // namespace lathe::dim
