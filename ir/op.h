#pragma once
// The op table: everything about an op in one row (docs/architecture.md). Enum, builder, parser,
// printer, verifier, REPL completion and docs/ops.md derive from it; a test fails on an empty cell.
//
// Adding an elementwise op: a line in ops.def, a row in ops_elementwise.cc, its reference in
// ir/reference/, a row in codegen/kernel/math, a test row (docs/adding_an_op.md).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "lathe/dim.h"
#include "lathe/dtype.h"
#include "lathe/tensor.h"

namespace lathe::ir {

enum class Op : uint16_t {
#define LATHE_OP(word) k_##word,
#include "ir/ops.def"
#undef LATHE_OP
};
#define LATHE_OP(word) +1
inline constexpr int kNumOps = 0
#include "ir/ops.def"
    ;
#undef LATHE_OP

// How code for the op comes to be.
enum class Emission : uint8_t {
  kSource,       // input, constant: a buffer; iota, size, random: computed per element
  kElementwise,  // one result element from the same element of each operand
  kView,         // index map: broadcast reshape permute slice; piecewise: pad concat windows
  kGather,       // index map through data, and the check of such indices
  kReduction,    // row reduction
  kSequential,   // walks elements in an order of its own: scatter, argsort, cumsum
  kSegment,      // walks rows of a ragged dim, whose ends its offsets give
  kContraction,  // matmul: GEMM
  kAttention,
  kComposite,  // expands into primitives; keeps its name for choosing a schedule
  kControl,
};

enum Trait : uint32_t {
  kCommutative = 1 << 0,
  kMayFail = 1 << 1,    // can fail on data (gather): never removed as dead, never duplicated
  kFloatOnly = 1 << 2,  // operands must be floats
  kBoolResult = 1 << 3,
  kSameShape = 1 << 4,  // operands and result have one shape
};

// Sets of element types: bit 1 << DType.
template <typename... T>
constexpr uint32_t TypeSet(T... types) {
  return (0u | ... | (1u << static_cast<int>(types)));
}
inline constexpr uint32_t kFloatTypes = TypeSet(f16, bf16, f32, f64);
inline constexpr uint32_t kIntTypes = TypeSet(i8, i16, i32, i64, u8, u16, u32, u64);
inline constexpr uint32_t kIndexTypes = TypeSet(i32, i64);  // what IsIndex holds of
inline constexpr uint32_t kBoolType = TypeSet(bool_);
inline constexpr uint32_t kNumericTypes = kFloatTypes | kIntTypes;
inline constexpr uint32_t kAllTypes = kNumericTypes | kBoolType;
constexpr bool Contains(uint32_t types, DType t) { return (types >> static_cast<int>(t) & 1) != 0; }

struct AttrSpec {
  std::string_view name;  // a member of Attrs, as printed: "axis", "axes", "shape", ...
  bool required = true;
};

struct Node;
class Graph;

// What a shape rule and a backward fact rule see: the operands' types, the node's attributes, and
// the graph whose facts may be asked and get `Require`d claims.
struct InferContext;

struct OpInfo {
  Op op;
  std::string_view name;
  int min_operands = 0, max_operands = 0;
  std::vector<AttrSpec> attrs;
  uint32_t traits = 0;
  uint32_t dtypes = 0;  // element types of the operand that decides (sources: of the result)
  Emission emission = Emission::kElementwise;
  // Result type and shape; or an error that says what was found and what was wanted.
  absl::Status (*infer)(InferContext& c) = nullptr;
  // Claims about sizes that the op needs (standing: required); null if it needs none. `infer` runs
  // first.
  absl::Status (*require)(InferContext& c) = nullptr;
  // Reference evaluator on concrete tensors (contiguous operands). Null for composites (their
  // expansion is evaluated), `input`, `constant` and `if` (the interpreter does them).
  absl::StatusOr<Tensor> (*evaluate)(const struct EvalContext& c) = nullptr;
  // Composites: the value that the expansion computes, appended by the builder.
  absl::StatusOr<uint32_t> (*expand)(class Builder& b, const Node& n) = nullptr;
  std::string_view doc;      // one line
  std::string_view example;  // in the text form: "y = add(x, x)"
  std::string_view bound;    // error bound against float64, for docs/numerics.md: "exact", "2 ULP"
};

const OpInfo& Info(Op op);
inline std::string_view Name(Op op) { return Info(op).name; }
// NotFound, with the nearest known names, if there is none.
absl::StatusOr<Op> FindOp(std::string_view name);
absl::Span<const OpInfo> AllOps();
// The text of docs/ops.md: a section a family, a paragraph an op.
std::string OpsMarkdown();

// What a reference evaluator gets. `sizes` evaluates a Dim of the graph for this call.
struct EvalContext {
  const Graph* graph;
  const Node* node;
  absl::Span<const Tensor> operands;
  absl::Span<const int64_t> symbols;  // by SymbolId
  std::vector<int64_t> result_shape;  // already evaluated
  DType result_dtype;  // f64 in place of other floats when the interpreter runs in f64
};

}  // namespace lathe::ir
