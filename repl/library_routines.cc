#include "repl/library_routines.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/specialize/specializer.h"
#include "ir/staged.h"
#include "runtime/function_state.h"
#include "runtime/staged_state.h"

namespace lathe::repl {
namespace {

// The inputs that a caller may give with gaps, or with their axes in another order.
std::vector<std::string> InputsWithAxes(const Function& f) {
  std::vector<std::string> names;
  for (const rt::EntryPlan::InputSpec& input : rt::EntryOf(f).plan().inputs)
    if (!input.shape.empty()) names.push_back(input.name);
  return names;
}

std::vector<std::string> ScanningLoops(const ir::Staged& program) {
  std::vector<std::string> names;
  for (const ir::Staged* p : ir::ProgramsOf(program)) {
    for (const ir::Stage& stage : p->stages)
      if (!stage.scanned.empty()) names.push_back(stage.name);
  }
  return names;
}

}  // namespace

std::vector<std::string> LibraryRoutines(const Function& f) {
  std::vector<std::string> routines;
  if (f.staged_state() != nullptr) {
    const std::vector<std::string> loops = ScanningLoops(f.staged_state()->program());
    if (!loops.empty())
      routines.push_back(
          absl::StrCat("copies that join what the steps give: ", absl::StrJoin(loops, ", ")));
    routines.push_back("copies of outputs that are an input or each other, or go to call_into");
  }
  const std::vector<std::string> inputs = InputsWithAxes(f);
  if (!inputs.empty())
    routines.push_back(
        absl::StrCat("copies of inputs that aren't contiguous: ", absl::StrJoin(inputs, ", ")));
  auto& backend = static_cast<compiler::CompilerBackend&>(*rt::EntryOf(f).engine()->compiler);
  if (!backend.llvm().target().has_fma)
    routines.push_back("fma, floor and roundeven of C, where the processor has no instruction");
  return routines;
}

}  // namespace lathe::repl
