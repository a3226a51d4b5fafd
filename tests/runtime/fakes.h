#pragma once
// Host programs of hand-written kernels, and a builder that hands them out, so that the runtime is
// tested without a code generator.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/graph.h"
#include "runtime/function_state.h"

namespace lathe::rt::fake {

// to[r, c] = from[r, c] + 1; sizes: columns; a task is a row.
inline int64_t AddOne(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end,
                      int64_t, KernelError*) {
  const float* from = static_cast<const float*>(buffers[0]);
  float* to = static_cast<float*>(buffers[1]);
  for (int64_t i = begin * sizes[0]; i < end * sizes[0]; ++i) to[i] = from[i] + 1;
  return 0;
}

// to[r, c] = from[r, c] + 10.
inline int64_t AddTen(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end,
                      int64_t, KernelError*) {
  const float* from = static_cast<const float*>(buffers[0]);
  float* to = static_cast<float*>(buffers[1]);
  for (int64_t i = begin * sizes[0]; i < end * sizes[0]; ++i) to[i] = from[i] + 10;
  return 0;
}

// Fails at the first element below 0, as a gather does.
inline int64_t RefuseNegative(void* const* buffers, const int64_t* sizes, int64_t begin,
                              int64_t end, int64_t worker, KernelError* error) {
  const float* from = static_cast<const float*>(buffers[0]);
  for (int64_t i = begin * sizes[0]; i < end * sizes[0]; ++i) {
    if (from[i] >= 0) continue;
    *error = {0, i, static_cast<int64_t>(from[i]), 99};
    return 1;
  }
  return AddOne(buffers, sizes, begin, end, worker, error);
}

// Writes one element beyond its last task.
inline int64_t WritesBeyond(void* const* buffers, const int64_t* sizes, int64_t begin, int64_t end,
                            int64_t worker, KernelError* error) {
  AddOne(buffers, sizes, begin, end, worker, error);
  static_cast<float*>(buffers[1])[end * sizes[0]] = 7;
  return 0;
}

inline int64_t Nothing(void* const*, const int64_t*, int64_t, int64_t, int64_t, KernelError*) {
  return 0;
}

inline std::shared_ptr<Artefact> Code(KernelFn fn, const std::string& name = "fake") {
  auto artefact = std::make_shared<Artefact>();
  artefact->fn = fn;
  artefact->name = artefact->key = name;
  artefact->failures = {"gather ids: index out of range"};
  return artefact;
}

// A graph of f32 inputs, each of its shape text ("n, 4"), whose one output has the first input's
// type. Facts are declared by `facts`: "n <= 100, n % 2 == 0".
inline std::shared_ptr<ir::Graph> GraphOf(
    const std::vector<std::pair<std::string, std::vector<std::string>>>& inputs,
    const std::string& facts = "") {
  auto graph = std::make_shared<ir::Graph>();
  graph->name = "f";
  ir::Builder b(graph.get());
  ir::ValueId first = ir::kNoValue;
  for (const auto& [name, dims] : inputs) {
    Shape shape;
    for (const std::string& d : dims) shape.push_back(*dim::ParseDim(d, graph->dims(), true));
    const ir::ValueId v = *b.Input(name, {DType::kF32, shape});
    if (first == ir::kNoValue) first = v;
  }
  (void)b.Output("y", *b.Create(ir::Op::k_neg, {first}));
  if (!facts.empty()) {
    (void)dim::ParseClaims(facts, graph->dims(), true);  // makes the symbols that no input shows
    (void)graph->facts().AddSpec(nullptr, facts, {"the test", "test.lathe:1"});
  }
  return graph;
}

struct Chain {
  std::vector<KernelFn> kernels = {AddOne};
  std::string name = "generic", guard;  // guard: claims as text
  int order = 0;
  int64_t work = 0;  // estimated ns of each kernel
  std::string key;   // of each kernel's code; empty: name and guard
};

// x -> kernel -> kernel -> ... -> y over arena values that take turns, for a graph whose first
// input and output have two axes. `workers` stands for the worker count in dim programs.
inline std::shared_ptr<const Version> MakeVersion(const ir::Graph& graph, const Chain& chain) {
  auto version = std::make_shared<Version>();
  version->name = chain.name;
  version->why = chain.guard.empty() ? "serves every admitted size" : "worth it";
  version->order = chain.order;
  dim::DimContext* context = graph.dims();
  if (!chain.guard.empty()) version->guard = *dim::ParseClaims(chain.guard, context, false);

  HostProgram& p = version->program;
  dim::DimProgramBuilder dims(context);
  for (int s = 0; s < context->num_symbols(); ++s) {
    const Dim symbol = context->SymbolDim(static_cast<dim::SymbolId>(s));
    if (context->SymbolName(static_cast<dim::SymbolId>(s)) != "workers") dims.Input(symbol);
  }
  const Dim workers = context->Symbol("workers");
  dims.Input(workers);
  const Shape& shape = graph.type(graph.body.results[0]).shape;
  const Dim rows = shape[0], columns = shape[1];
  const Dim bytes = CeilDiv(rows * columns * 4, kArenaAlignment) * kArenaAlignment;
  const size_t count = chain.kernels.size();
  const int values = static_cast<int>(count) - 1;
  for (int i = 0; i < values; ++i) {
    p.values.push_back({"v" + std::to_string(i), dims.Slot(rows * columns * 4),
                        dims.Slot(i % 2 == 0 ? Dim(0) : bytes), i, i + 1});
  }
  p.arena_bytes_slot = dims.Slot(bytes * std::min(values, 2));
  p.output_bytes_slot = dims.Slot(bytes);
  p.outputs.push_back({"y", DType::kF32, {dims.Slot(rows), dims.Slot(columns)}});
  for (size_t i = 0; i < count; ++i) {
    KernelStep k;
    k.artefact = Code(chain.kernels[i]);
    const int32_t index = static_cast<int32_t>(i);
    k.buffers.push_back(i == 0 ? BufferRef{BufferSource::kInput, 0}
                               : BufferRef{BufferSource::kArena, index - 1});
    k.buffers.push_back(i + 1 == count ? BufferRef{BufferSource::kOutput, 0}
                                       : BufferRef{BufferSource::kArena, index});
    k.size_slots = {dims.Slot(columns)};
    k.tasks_slot = dims.Slot(rows);
    k.work_slot = dims.Slot(Dim(chain.work));
    k.label = "kernel " + std::to_string(i);
    p.kernels.push_back(std::move(k));
    p.steps.push_back({StepKind::kKernel, index, 0});
    version->groups.push_back({"kernel " + std::to_string(i),
                               "pointwise",
                               "family " + std::to_string(i),
                               chain.key.empty() ? chain.name + chain.guard : chain.key,
                               "unroll=1",
                               {"n >= 0: declared"},
                               ""});
  }
  p.dims = dims.Build();
  return version;
}

// Builds the chains given; `on_build` runs in each background build, `on_propose` in Propose.
class FakeBuilder : public VersionBuilder {
 public:
  FakeBuilder(std::shared_ptr<const ir::Graph> graph, Chain generic, std::vector<Chain> others = {})
      : graph_(std::move(graph)), generic_(std::move(generic)), others_(std::move(others)) {}

  absl::StatusOr<std::shared_ptr<const Version>> BuildGeneric() override {
    ++builds;
    return MakeVersion(*graph_, generic_);
  }
  std::vector<VersionRequest> Propose() override {
    if (on_propose) on_propose();
    std::vector<VersionRequest> requests;
    for (const Chain& c : others_) requests.push_back(Request(c));
    return requests;
  }
  absl::StatusOr<std::shared_ptr<const Version>> Build(const VersionRequest& request) override {
    ++builds;
    if (on_build) on_build();
    for (const Chain& c : others_) {
      if (c.order == request.order) return MakeVersion(*graph_, c);
    }
    return absl::InternalError("no such chain");
  }
  bool ObservesSizes() const override { return observe != nullptr; }
  std::vector<VersionRequest> ProposeFor(absl::Span<const int64_t> symbols) override {
    ++asked;
    others_.push_back(observe(symbols));
    return {Request(others_.back())};
  }

  bool Observes(size_t symbol) const override { return symbol != open_symbol; }

  std::atomic<int> builds{0}, asked{0};
  std::function<void()> on_build, on_propose;
  size_t open_symbol = SIZE_MAX;  // which `observe` doesn't look at
  std::function<Chain(absl::Span<const int64_t>)> observe;

 private:
  VersionRequest Request(const Chain& c) const {
    return {*dim::ParseClaims(c.guard, graph_->dims(), false), "worth it", c.order};
  }
  std::shared_ptr<const ir::Graph> graph_;
  Chain generic_;
  std::vector<Chain> others_;
};

struct Made {
  std::shared_ptr<EngineState> engine;
  FakeBuilder* builder;  // owned by the function
  Function function;
};

inline EngineOptions OneThread() {
  EngineOptions options;
  options.threads = 1;
  return options;
}

inline Made MakeFunction(std::shared_ptr<ir::Graph> graph, Chain generic,
                         std::vector<Chain> others = {}, EngineOptions options = OneThread(),
                         CompileOptions compile = {},
                         std::function<void(FakeBuilder&)> configure = nullptr) {
  auto engine = std::make_shared<EngineState>(options);
  auto builder = std::make_unique<FakeBuilder>(graph, std::move(generic), std::move(others));
  FakeBuilder* raw = builder.get();
  if (configure) configure(*raw);
  auto state = *FunctionState::Make(engine, graph, std::move(builder), compile);
  return {std::move(engine), raw, Function(std::move(state))};
}

inline Tensor Rows(int64_t n, int64_t columns = 4, float first = 0) {
  Tensor t(DType::kF32, {n, columns});
  for (int64_t i = 0; i < n * columns; ++i) t.data<float>()[i] = first + static_cast<float>(i);
  return t;
}

// True if y == x + add everywhere.
inline bool IsSum(const Tensor& y, const Tensor& x, float add) {
  if (y.shape() != x.shape()) return false;
  const Tensor dense = x.Contiguous();
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    if (y.data<float>()[i] != dense.data<float>()[i] + add) return false;
  }
  return true;
}

}  // namespace lathe::rt::fake
