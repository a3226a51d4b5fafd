#pragma once
// KernelScope: one kernel under construction and how it sees the graph: graph symbols become the
// kernel's sizes, buffered values its buffers, both on first use.
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "codegen/kernel/builder.h"
#include "compiler/lower/fuse.h"
#include "compiler/lower/index_map.h"
#include "compiler/lower/lower.h"

namespace lathe::compiler {

class KernelScope {
 public:
  KernelScope(const LowerContext& c, const std::string& name);

  const ir::Graph& graph() const { return graph_; }
  const FusionPlan& plan() const { return plan_; }
  kernel::KernelBuilder& b() { return builder_; }

  // A graph Dim over the kernel's sizes.
  Dim Map(Dim d);
  Shape MapShape(const Shape& s);
  DimMap map() {
    return [this](Dim d) { return Map(d); };
  }
  // Coordinates that the loops put together; what is emitted afterwards looks through them.
  void AddJoin(Join join) { joins_.push_back(std::move(join)); }
  absl::Span<const Join> joins() const { return joins_; }
  // A size parameter that stands for a whole expression ("rows" for batch*seq), so that kernels
  // which differ only in how it is made share code. Sizes with one value are constants.
  Dim Param(const std::string& name, Dim graph_dim);

  int Input(ir::ValueId v);  // the buffer that holds `v`, read
  // The buffer with the elements of `v` in row-major order: its own, or that of the value under
  // reshapes.
  int FlatInput(ir::ValueId v);
  int Output(ir::ValueId v);  // written (and readable)
  int Packed(ir::ValueId v, Packing packing, int64_t panel_width, Dim elements);
  int Scratch(const std::string& name, DType dtype, Dim elements, Dim graph_elements);

  // Whether i32 is proved to hold `d`, and in it what is divided or compared, in all turns of the
  // loops around here, for the values of `lane_symbol` that `lanes` lanes have.
  bool FitsI32(Dim d, dim::SymbolId lane_symbol, int lanes);

  // Closes the kernel; `tasks` and `work` are over the graph's symbols.
  LoweredKernel Finish(Dim tasks, Dim kernel_tasks, Dim work, std::string schedule);

 private:
  // What bounds the sizes so far: 0 <= n, n <= its maximum; nothing for one that may be below 0.
  absl::Span<const std::vector<Claim>> Bounds();
  int Add(const std::string& name, DType dtype, kernel::BufferKind kind, Dim elements,
          KernelArg arg);

  const ir::Graph& graph_;
  const FusionPlan& plan_;
  DimQuery& query_;
  const bool has_narrow_indices_;
  kernel::KernelBuilder builder_;
  absl::flat_hash_map<dim::SymbolId, Dim> symbols_;
  absl::flat_hash_map<Dim, Dim> params_, mapped_;
  absl::flat_hash_map<ir::ValueId, int> buffers_;
  absl::flat_hash_map<Dim, bool> fits_i32_;
  std::vector<KernelArg> args_;
  std::vector<Dim> sizes_;
  std::vector<std::vector<Claim>> bounds_;  // see Bounds
  std::vector<Join> joins_;
};

}  // namespace lathe::compiler
