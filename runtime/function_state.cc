#include "runtime/function_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/status_macros.h"
#include "runtime/control_word.h"

namespace lathe::rt {
namespace {

// Sizes that the builder is asked about, at most, as a multiple of the versions that may exist: a
// size may give none.
constexpr size_t kObservedPerVersion = 4;

// Nothing but the guard sets the versions apart: each kernel of one is the other's.
bool SameKernels(const Version& a, const Version& b) {
  return std::equal(
      a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(),
      [](const GroupReport& x, const GroupReport& y) { return x.kernel_key == y.kernel_key; });
}

}  // namespace

absl::StatusOr<std::shared_ptr<FunctionState>> FunctionState::Make(
    std::shared_ptr<EngineState> engine, std::shared_ptr<const ir::Graph> graph,
    std::unique_ptr<VersionBuilder> builder, const CompileOptions& options,
    std::shared_ptr<std::mutex> build_mutex) {
  LATHE_ASSIGN_OR_RETURN(EntryPlan plan, MakeEntryPlan(*graph));
  std::shared_ptr<FunctionState> f(new FunctionState());
  for (const EntryPlan::InputSpec& input : plan.inputs) {
    f->input_headers_.push_back(HeaderOf(input.dtype, input.shape.size()));
  }
  for (Dim symbol : plan.symbols) {
    const dim::FactSet& facts = graph->facts();
    for (const bool checked : {false, true}) {
      (checked ? f->checked_domains_ : f->domains_)
          .push_back({facts.Range(symbol, checked), facts.CongruenceOf(symbol, checked),
                      facts.Values(symbol, checked)});
    }
  }
  for (const dim::Fact& fact : graph->facts().facts()) {
    const std::string& where = fact.source.where;
    f->fact_texts_.push_back({fact.claim.ToString(), dim::Name(fact.standing),
                              absl::StrCat(fact.source.what, where.empty() ? "" : " at ", where)});
  }
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    if (builder->Observes(s)) f->observed_symbols_.push_back(s);
  }
  f->plan_ = std::move(plan);
  f->observing_ = builder->ObservesSizes() && !f->observed_symbols_.empty() &&
                  engine->options.background_compiles &&
                  options.strategy != Strategy::kFullDynamic && options.max_versions > 1;
  f->engine_ = std::move(engine);
  f->graph_ = std::move(graph);
  f->options_ = options;
  f->build_mutex_ =
      build_mutex != nullptr ? std::move(build_mutex) : std::make_shared<std::mutex>();
  {
    std::lock_guard lock(*f->build_mutex_);
    f->builder_ = std::move(builder);
  }
  return f;
}

FunctionState::~FunctionState() { engine_->background.Cancel(this); }

absl::Status FunctionState::Prepare(absl::Span<const Sizes> sizes) {
  LATHE_RETURN_IF_ERROR(PrepareVersions(sizes));
  if (sizes.empty()) return absl::OkStatus();
  std::unique_ptr<ContextState> context = TakeContext();
  absl::Status status;
  for (const Sizes& s : sizes) {
    if (status.ok()) status = ReserveForCall(*context, s);
  }
  ReturnContext(std::move(context));
  return status;
}

absl::Status FunctionState::PrepareVersions(absl::Span<const Sizes> sizes) {
  const ControlWordScope control_word;
  std::vector<std::vector<int64_t>> named;
  for (const Sizes& s : sizes) {
    LATHE_ASSIGN_OR_RETURN(named.emplace_back(), SymbolValues(s));
  }
  if (!proposed_.load()) {
    const std::unique_lock lock = LockBuilds();
    if (published() == nullptr) {
      LATHE_ASSIGN_OR_RETURN(std::shared_ptr<const Version> generic, builder_->BuildGeneric());
      engine_->versions_built.fetch_add(1);
      LATHE_RETURN_IF_ERROR(Publish({std::move(generic)}));
    }
    const bool wanted = engine_->options.background_compiles &&
                        options_.strategy != Strategy::kFullDynamic && options_.max_versions > 1;
    if (wanted && !proposed_.load()) Post(builder_->Propose());
    proposed_ = true;
  }
  if (named.empty()) return absl::OkStatus();
  for (const std::vector<int64_t>& symbols : named) Observe(symbols, /*may_wait=*/true);
  WaitForVersions();
  return absl::OkStatus();
}

void FunctionState::WaitForVersions() { engine_->background.Wait(this); }

void FunctionState::Post(std::vector<VersionRequest> requests) {
  for (VersionRequest& request : requests) {
    // The destructor cancels, so the job never outlives this.
    engine_->background.Post(this, [this, r = std::move(request)] { BuildInBackground(r); });
  }
}

bool FunctionState::Full(const VersionTable& table) const {
  return static_cast<int>(table.versions().size()) >= options_.max_versions;
}

void FunctionState::BuildInBackground(const VersionRequest& request) {
  const std::unique_lock lock = LockBuilds();
  const std::shared_ptr<const Published> before = published();
  if (Full(*before->table)) return;
  std::vector<std::string> guard;
  for (const Claim& claim : request.guard) guard.push_back(claim.ToString());
  const std::string what = absl::StrJoin(guard, ", ");
  absl::StatusOr<std::shared_ptr<const Version>> version = builder_->Build(request);
  if (!version.ok()) return NoteFailure(what, version.status());
  engine_->versions_built.fetch_add(1);
  std::vector<std::shared_ptr<const Version>> versions = before->table->versions();
  if (SameKernels(**version, *versions.back())) {
    return NoteFailure(
        what, absl::AlreadyExistsError("its kernels are all those of the generic version"));
  }
  versions.push_back(*std::move(version));
  if (absl::Status s = Publish(std::move(versions)); !s.ok()) return NoteFailure(what, s);
  engine_->versions_swapped.fetch_add(1);
  if (Full(*published()->table)) observing_ = false;
}

void FunctionState::NoteFailure(const std::string& what, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  failures_.push_back(absl::StrCat(what, ": ", std::string(why.message())));
}

// On a thread inside a call it gives up rather than waits; sizes that differ in nothing the builder
// looks at are asked about once. The builder itself is asked on the background thread.
void FunctionState::Observe(absl::Span<const int64_t> symbols, bool may_wait) {
  if (!observing_.load()) return;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (may_wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return;
  }
  const auto same = [&](const std::vector<int64_t>& seen) {
    return std::all_of(observed_symbols_.begin(), observed_symbols_.end(),
                       [&](size_t s) { return seen[s] == symbols[s]; });
  };
  if (std::any_of(observed_.begin(), observed_.end(), same)) return;
  std::vector<int64_t> values(symbols.begin(), symbols.end());
  const auto job = [this, values] {
    std::vector<VersionRequest> requests;
    {
      const std::unique_lock building = LockBuilds();
      requests = builder_->ProposeFor(values);
    }
    for (const VersionRequest& request : requests) BuildInBackground(request);
  };
  const bool posted = may_wait ? (engine_->background.Post(this, job), true)
                               : engine_->background.TryPost(this, job);
  if (posted) observed_.push_back(std::move(values));
  if (observed_.size() >= kObservedPerVersion * static_cast<size_t>(options_.max_versions)) {
    observing_ = false;
  }
}

absl::Status FunctionState::Publish(std::vector<std::shared_ptr<const Version>> versions) {
  auto next = std::make_unique<Published>();
  LATHE_ASSIGN_OR_RETURN(next->table,
                         VersionTable::Make(plan_, graph_->facts(), std::move(versions)));
  auto plans = std::make_shared<std::vector<RunPlan>>();
  for (const std::shared_ptr<const Version>& version : next->table->versions()) {
    LATHE_ASSIGN_OR_RETURN(plans->emplace_back(), RunPlan::Make(plan_, *graph_, *version));
  }
  next->plans = std::move(plans);
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < next->table->versions().size(); ++i) {
    const Version* version = next->table->versions()[i].get();
    ready_.emplace(version, engine_->SecondsSinceBirth());
    if (!pinned_.empty() && version->name == pinned_) next->pinned = static_cast<int>(i);
  }
  MakeCurrent(std::move(next));
  return absl::OkStatus();
}

void FunctionState::MakeCurrent(std::unique_ptr<Published> next) {
  next->generation = generation_.load() + 1;
  generation_.store(next->generation, std::memory_order_release);
  current_.store(next.get(), std::memory_order_release);
  publications_->all.push_back(std::move(next));
}

absl::Status FunctionState::Pin(const std::string& version_name) {
  std::lock_guard lock(mutex_);
  const Published* current = current_.load();
  if (current == nullptr) return NotPrepared();
  auto next = std::make_unique<Published>(*current);
  next->pinned = -1;
  std::vector<std::string> names;
  for (size_t i = 0; i < next->table->versions().size(); ++i) {
    names.push_back(absl::StrCat("\"", next->table->versions()[i]->name, "\""));
    if (next->table->versions()[i]->name == version_name) next->pinned = static_cast<int>(i);
  }
  if (next->pinned < 0 && !version_name.empty()) {
    return absl::NotFoundError(absl::StrCat("function ", graph_->name, " has no version \"",
                                            version_name, "\"; it has ",
                                            absl::StrJoin(names, ", ")));
  }
  pinned_ = version_name;
  MakeCurrent(std::move(next));
  return absl::OkStatus();
}

std::shared_ptr<const VersionTable> FunctionState::table() const {
  const Published* current = current_.load(std::memory_order_acquire);
  return current == nullptr ? nullptr : current->table;
}

std::shared_ptr<const Published> FunctionState::published() const {
  const Published* current = current_.load(std::memory_order_acquire);
  if (current == nullptr) return nullptr;
  return std::shared_ptr<const Published>(publications_, current);
}

std::unique_lock<std::mutex> FunctionState::LockBuilds() const {
  std::unique_lock lock(*build_mutex_, std::try_to_lock);
  if (lock.owns_lock()) return lock;
  const Background::Hurry hurry(engine_->background);
  lock.lock();
  return lock;
}

void FunctionState::WhileNothingBuilds(absl::FunctionRef<void()> ask) const {
  const std::unique_lock lock = LockBuilds();
  ask();
}

double FunctionState::ReadySeconds(const Version* version) const {
  std::lock_guard lock(mutex_);
  const auto it = ready_.find(version);
  return it == ready_.end() ? 0 : it->second;
}

std::vector<std::string> FunctionState::BuildFailures() const {
  std::lock_guard lock(mutex_);
  return failures_;
}

std::unique_ptr<ContextState> FunctionState::TakeContext() {
  std::lock_guard lock(contexts_mutex_);
  if (free_contexts_.empty()) return std::make_unique<ContextState>();
  std::unique_ptr<ContextState> context = std::move(free_contexts_.back());
  free_contexts_.pop_back();
  return context;
}

void FunctionState::ReturnContext(std::unique_ptr<ContextState> context) {
  std::lock_guard lock(contexts_mutex_);
  free_contexts_.push_back(std::move(context));
}

absl::StatusOr<std::vector<int64_t>> FunctionState::SymbolValues(const Sizes& sizes) const {
  std::vector<int64_t> values(plan_.symbols.size());
  std::vector<bool> given(plan_.symbols.size());
  for (const auto& [name, value] : sizes) {
    const auto it = std::find(plan_.symbol_names.begin(), plan_.symbol_names.end(), name);
    if (it == plan_.symbol_names.end()) {
      return absl::InvalidArgumentError(absl::StrCat("function ", graph_->name,
                                                     " has no size named ", name, "; it has ",
                                                     absl::StrJoin(plan_.symbol_names, ", ")));
    }
    const size_t s = static_cast<size_t>(it - plan_.symbol_names.begin());
    values[s] = value;
    given[s] = true;
  }
  LATHE_RETURN_IF_ERROR(plan_.Complete(given, values));
  return values;
}

absl::Status FunctionState::ResolveSizes(ContextState& context,
                                         absl::Span<const int64_t> symbols) const {
  LATHE_RETURN_IF_ERROR(Enter(context));
  context.bound.assign(symbols.begin(), symbols.end());
  return Resolve(nullptr, context);
}

absl::Status FunctionState::Reserve(ContextState& context, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, SymbolValues(sizes));
  LATHE_RETURN_IF_ERROR(ResolveSizes(context, symbols));
  LATHE_RETURN_IF_ERROR(Grow(context, 0, /*counts=*/false));
  context.arena.Touch();
  return absl::OkStatus();
}

absl::Status FunctionState::ReserveForCall(ContextState& context, const Sizes& sizes) {
  LATHE_ASSIGN_OR_RETURN(std::vector<int64_t> symbols, SymbolValues(sizes));
  LATHE_RETURN_IF_ERROR(ResolveSizes(context, symbols));
  LATHE_RETURN_IF_ERROR(CheckCallMemory(context));
  return Reserve(context, sizes);
}

int64_t FunctionState::ArenaBytes(const ContextState& context) {
  return context.slots[static_cast<size_t>(context.plan().version->program.arena_bytes_slot)];
}

int64_t FunctionState::OutputBytes(const ContextState& context) {
  return context.slots[static_cast<size_t>(context.plan().version->program.output_bytes_slot)];
}

}  // namespace lathe::rt
