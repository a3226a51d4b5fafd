#include "ir/op.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/op_rows.h"

namespace lathe::ir {
namespace {

constexpr std::string_view kWords[] = {
#define LATHE_OP(word) #word,
#include "ir/ops.def"
#undef LATHE_OP
};

std::vector<OpInfo> MakeTable() {
  std::vector<OpInfo> table(kNumOps);
  for (auto rows : {SourceOps, ElementwiseOps, ViewOps, WindowOps, SequentialOps, ReduceOps,
                    ContractOps, CompositeOps, SegmentOps, ControlOps}) {
    for (OpInfo& row : rows()) {
      const size_t i = static_cast<size_t>(row.op);
      table[i] = std::move(row);
    }
  }
  for (int i = 0; i < kNumOps; ++i) {
    table[i].op = static_cast<Op>(i);
    table[i].name = kWords[i];
  }
  return table;
}

const std::vector<OpInfo>& Table() {
  static const auto* table = new std::vector<OpInfo>(MakeTable());  // never destroyed
  return *table;
}

// Edits (insert, drop, change) that turn one word into the other.
int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

const OpInfo& Info(Op op) { return Table()[static_cast<size_t>(op)]; }

absl::Span<const OpInfo> AllOps() { return Table(); }

absl::StatusOr<Op> FindOp(std::string_view name) {
  for (int i = 0; i < kNumOps; ++i) {
    if (kWords[i] == name) return static_cast<Op>(i);
  }
  constexpr size_t kLongestShown = 64;
  std::string message = absl::StrCat("there is no op '", std::string(name.substr(0, kLongestShown)),
                                     name.size() > kLongestShown ? "..." : "", "'");
  std::vector<std::pair<int, std::string_view>> near;
  if (name.size() <= kLongestShown) {
    for (std::string_view word : kWords) {
      const int distance = EditDistance(name, word);
      const bool starts = name.size() >= 3 && (word.starts_with(name) || name.starts_with(word));
      if (distance <= 2 || starts) near.emplace_back(distance, word);
    }
  }
  std::sort(near.begin(), near.end());
  for (size_t i = 0; i < near.size() && i < 3; ++i) {
    absl::StrAppend(&message, i == 0 ? "; did you mean '" : "' or '", std::string(near[i].second));
  }
  if (!near.empty()) absl::StrAppend(&message, "'?");
  return absl::NotFoundError(message);
}

}  // namespace lathe::ir
