#include "compiler/specialize/specializer.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/lower/index_map.h"
#include "compiler/lower/product_schedule.h"
#include "compiler/plan/host_builder.h"

namespace lathe::compiler {
namespace {

// Symbols that inputs show, in the order in which they were declared.
std::vector<dim::SymbolId> ShownSymbols(const ir::Graph& graph) {
  std::set<dim::SymbolId> shown;
  for (ir::ValueId v : graph.inputs)
    for (Dim d : graph.type(v).shape)
      for (dim::SymbolId s : dim::FreeSymbols(d)) shown.insert(s);
  return {shown.begin(), shown.end()};
}

}  // namespace

absl::StatusOr<std::shared_ptr<CompilerBackend>> CompilerBackend::Create(
    const EngineOptions& options) {
  if (!options.cpu.empty() && options.cpu != "avx2")
    return absl::InvalidArgumentError(
        absl::StrCat("EngineOptions::cpu is \"", options.cpu, "\"; known: \"\" and \"avx2\""));
  const llvm_target::CpuTarget cpu =
      options.cpu == "avx2" ? llvm_target::Avx2Target() : llvm_target::HostTarget();
  absl::StatusOr<std::unique_ptr<llvm_target::LlvmCompiler>> llvm =
      llvm_target::LlvmCompiler::Create(cpu);
  if (!llvm.ok()) return llvm.status();
  auto backend = std::make_shared<CompilerBackend>();
  backend->llvm_ = *std::move(llvm);
  backend->target_ = {cpu.vector_bytes, cpu.num_vector_registers};
  return backend;
}

void CompilerBackend::AddCounters(EngineCounters* c) const {
  const llvm_target::CompileCounters counters = llvm_->counters();
  c->compiles += counters.modules;
  c->compiles_in_calls += counters.in_calls;
}

absl::Status CheckOpenSymbol(const ir::Graph& graph, const CompileOptions& options) {
  if (options.open_symbol.empty()) return absl::OkStatus();
  const std::string found =
      absl::StrCat("CompileOptions::open_symbol is \"", options.open_symbol, "\"; ");
  if (options.strategy != Strategy::kSeqDynamic)
    return absl::InvalidArgumentError(
        absl::StrCat(found, "only Strategy::kSeqDynamic leaves a named symbol open"));
  std::vector<std::string> names;
  for (dim::SymbolId s : ShownSymbols(graph)) names.push_back(graph.dims()->SymbolName(s));
  if (std::find(names.begin(), names.end(), options.open_symbol) != names.end())
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      found, "the inputs have ", names.empty() ? "no symbols" : absl::StrJoin(names, ", ")));
}

Specializer::Specializer(std::weak_ptr<rt::EngineState> engine,
                         std::shared_ptr<CompilerBackend> backend,
                         std::shared_ptr<const ir::Graph> graph, const CompileOptions& options)
    : engine_(std::move(engine)),
      backend_(std::move(backend)),
      graph_(std::move(graph)),
      options_(options),
      num_symbols_(graph_->dims()->num_symbols()) {}

const FusionPlan& Specializer::plan() {
  if (!plan_) plan_ = Fuse(*graph_);
  return *plan_;
}

absl::StatusOr<LoweredKernel> Specializer::Lower(const dim::FactSet& facts, const Group& group) {
  DimQuery query(facts);
  return LowerGroup({*graph_, plan(), backend_->target(), query, backend_->micro()}, group);
}

absl::StatusOr<std::shared_ptr<const rt::Version>> Specializer::BuildGeneric() {
  rt::VersionRequest request;
  request.why = "no guard: serves every admitted size";
  request.order = 0;
  return BuildWith(request, "generic");
}

absl::StatusOr<std::shared_ptr<const rt::Version>> Specializer::Build(
    const rt::VersionRequest& request) {
  return BuildWith(request,
                   absl::StrJoin(request.guard, ", ", [](std::string* out, const Claim& c) {
                     absl::StrAppend(out, c.ToString());
                   }));
}

absl::StatusOr<std::shared_ptr<const rt::Version>> Specializer::BuildWith(
    const rt::VersionRequest& request, std::string name) {
  const std::shared_ptr<rt::EngineState> engine = engine_.lock();
  if (engine == nullptr) return absl::FailedPreconditionError("the engine is gone");
  const auto start = std::chrono::steady_clock::now();
  dim::FactSet facts = graph_->facts();
  for (const Claim& c : request.guard) {
    const auto added = facts.Add(c, dim::Standing::kDeclared, {"guard of version " + name, ""});
    if (!added.ok()) return added.status();
  }
  auto version = std::make_shared<rt::Version>();
  version->name = std::move(name);
  version->why = request.why;
  version->guard = request.guard;
  version->order = request.order;
  const std::string target = backend_->llvm().target().Identity();
  const HostContext host{
      .graph = *graph_,
      .plan = plan(),
      .facts = facts,
      .num_symbols = num_symbols_,
      .weights = backend_->weights(),
      // The generic version is waited for; others are made in the background, by one thread.
      .compile_threads = request.guard.empty() ? static_cast<size_t>(engine->options.threads) : 1,
      .compile =
          [&](const kernel::Kernel& k) {
            return engine->cache.GetOrMake(
                absl::StrCat(kernel::Fingerprint(k), " ", target, " full"),
                [&] { return backend_->llvm().Compile(k, llvm_target::Tier::kFull); });
          },
      .lower = [&](const Group& group) { return Lower(facts, group); },
      .lower_copy = [&](ir::ValueId from, ir::ValueId to) -> absl::StatusOr<LoweredKernel> {
        DimQuery query(facts);
        return LowerCopy({*graph_, plan(), backend_->target(), query, backend_->micro()}, from, to);
      }};
  absl::Status status = BuildHostProgram(host, version.get());
  if (!status.ok()) return status;
  version->build_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return version;
}

std::vector<rt::VersionRequest> Specializer::Propose() {
  std::vector<rt::VersionRequest> requests;
  if (options_.strategy != Strategy::kAuto) return requests;
  std::vector<std::pair<Dim, int64_t>> seen;
  for (const Group& g : plan().groups) {
    if (g.kind != GroupKind::kGemm) continue;
    const Shape& lhs = graph_->type(graph_->node(g.anchor).operands[0]).shape;
    const Dim rows = Volume(Shape(lhs.begin(), lhs.end() - 1));
    const int64_t most = ScheduleStrips(backend_->target(), ProductOf(*graph_, g.anchor)).most_rows;
    const std::pair<Dim, int64_t> range{rows, most};
    if (most == 0 || std::find(seen.begin(), seen.end(), range) != seen.end()) continue;
    seen.push_back(range);
    const Claim few = rows <= most;
    if (graph_->facts().ProvesQuickly(few)) continue;
    if (graph_->facts().ProvesQuickly(Not(few))) continue;
    requests.push_back(
        {{few}, "products of few rows work on several panels at once", next_order_++});
  }
  return requests;
}

bool Specializer::ObservesSizes() const {
  return options_.strategy == Strategy::kFullStatic ||
         options_.strategy == Strategy::kBatchDynamic || options_.strategy == Strategy::kSeqDynamic;
}

std::vector<dim::SymbolId> Specializer::FixedSymbols() const {
  std::vector<dim::SymbolId> order = ShownSymbols(*graph_);
  size_t open = order.size();  // which one stays open; none by default
  if (options_.strategy == Strategy::kBatchDynamic) open = 0;
  if (options_.strategy == Strategy::kSeqDynamic) {
    if (options_.open_symbol.empty()) open = 1;
    for (size_t i = 0; i < order.size(); ++i)
      if (graph_->dims()->SymbolName(order[i]) == options_.open_symbol) open = i;
  }
  if (open < order.size()) order.erase(order.begin() + static_cast<std::ptrdiff_t>(open));
  return order;
}

bool Specializer::Observes(size_t symbol) const {
  const std::vector<dim::SymbolId> fixed = FixedSymbols();
  return std::find(fixed.begin(), fixed.end(), symbol) != fixed.end();
}

std::vector<rt::VersionRequest> Specializer::ProposeFor(absl::Span<const int64_t> symbols) {
  const std::vector<dim::SymbolId> fixed = FixedSymbols();
  rt::VersionRequest request;
  for (dim::SymbolId s : fixed)
    request.guard.push_back(Eq(graph_->dims()->SymbolDim(s), symbols[s]));
  if (request.guard.empty()) return {};
  const bool some_open = fixed.size() < ShownSymbols(*graph_).size();
  request.why = some_open ? "the other sizes as seen" : "exact sizes as seen";
  request.order = next_order_++;
  return {request};
}

}  // namespace lathe::compiler
