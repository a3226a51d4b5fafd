#include "compiler/lower/lower.h"

namespace lathe::compiler {

absl::StatusOr<LoweredKernel> LowerGroup(const LowerContext& c, const Group& group) {
  c.query.Clear();
  LoweredKernel lowered;
  switch (group.kind) {
    case GroupKind::kPointwise:
      lowered = LowerPointwise(c, group);
      break;
    case GroupKind::kRow:
      lowered = LowerRow(c, group);
      break;
    case GroupKind::kGemm:
      lowered = LowerGemm(c, group);
      break;
    case GroupKind::kAttention:
      lowered = LowerAttention(c, group);
      break;
    case GroupKind::kSegment:
      lowered = LowerSegment(c, group);
      break;
    case GroupKind::kSequential:
      lowered = LowerSequential(c, group);
      break;
    case GroupKind::kIndexCheck:
      lowered = LowerIndexCheck(c, group);
      break;
  }
  lowered.answers = c.query.answers();
  for (const Dim d : lowered.sizes)
    if (!d.ok()) return d.status();
  if (!lowered.tasks.ok()) return lowered.tasks.status();
  if (!lowered.work.ok()) return lowered.work.status();
  return lowered;
}

}  // namespace lathe::compiler
