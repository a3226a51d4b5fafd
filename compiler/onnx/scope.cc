#include "compiler/onnx/scope.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "compiler/onnx/known_sizes.h"
#include "ir/element_dims.h"
#include "ir/input_data.h"
#include "ir/status_macros.h"
#include "ir/used_symbols.h"

namespace lathe::onnx {

using ir::kNoSlot;
using ir::kNoValue;
using ir::SlotId;
using ir::ValueId;
using ir::ValueType;

namespace {

// The elements of `v` at `places`, as rank 1.
absl::StatusOr<ValueId> ElementsAt(ir::Graph* graph, ValueId v, int64_t count,
                                   const std::vector<int64_t>& places) {
  ir::Builder builder(graph);
  LATHE_ASSIGN_OR_RETURN(const ValueId flat, builder.Reshape(v, {count}));
  LATHE_ASSIGN_OR_RETURN(const ValueId at, builder.Constant(Tensor::FromVector<int64_t>(
                                               {static_cast<int64_t>(places.size())}, places)));
  ir::Attrs attrs;
  attrs.axis = 0;
  return builder.Create(ir::Op::k_gather, {flat, at}, std::move(attrs));
}

// Whether it is there, and neither a sequence nor what a mapping that failed gave.
bool IsTensor(const Val& v) {
  if (v.kind != Val::Kind::kTensor) return false;
  return v.constant || (v.scope != nullptr && (v.id != kNoValue || v.slot != kNoSlot));
}

// Every stage has a copy of what is known before it.
constexpr int64_t kMostStages = 4096;
constexpr int64_t kMostKnown = int64_t{1} << 20;

// Adds the symbols that facts tie to used ones, and what these are tied to.
void AddTied(const dim::FactSet& facts, std::vector<bool>* used) {
  std::vector<std::vector<dim::SymbolId>> symbols_of;  // of each fact
  absl::flat_hash_map<dim::SymbolId, std::vector<size_t>> facts_of;
  for (const dim::Fact& f : facts.facts()) {
    std::vector<dim::SymbolId>& of = symbols_of.emplace_back(dim::FreeSymbols(f.claim.lhs));
    for (dim::SymbolId s : dim::FreeSymbols(f.claim.rhs)) of.push_back(s);
    if (of.size() < 2) continue;
    for (dim::SymbolId s : of) facts_of[s].push_back(symbols_of.size() - 1);
  }
  std::vector<dim::SymbolId> stack;
  for (const auto& [s, of] : facts_of)
    if ((*used)[s]) stack.push_back(s);
  while (!stack.empty()) {
    const auto found = facts_of.find(stack.back());
    stack.pop_back();
    for (size_t fact : std::exchange(found->second, {})) {
      for (dim::SymbolId s : std::exchange(symbols_of[fact], {})) {
        if ((*used)[s]) continue;
        (*used)[s] = true;
        stack.push_back(s);
      }
    }
  }
}

}  // namespace

Val Val::Constant(Tensor t) {
  Val v;
  v.kind = Kind::kTensor;
  v.constant = std::make_shared<const Tensor>(std::move(t));
  return v;
}

Val Val::Sequence(std::vector<Val> items) {
  Val v;
  v.kind = Kind::kSequence;
  v.items = std::make_shared<const std::vector<Val>>(std::move(items));
  return v;
}

Scope::Scope(std::string name, int64_t max_nodes, bool fast_math)
    : name_(std::move(name)),
      total_(std::make_shared<Total>()),
      fast_math_(fast_math),
      dims_(std::make_shared<dim::DimContext>()) {
  total_->max_nodes = max_nodes;
  OpenGraph();
}

Scope::Scope(Scope* parent, std::string name)
    : parent_(parent),
      parent_stage_(parent->stage()),
      name_(std::move(name)),
      total_(parent->total_),
      fast_math_(parent->fast_math_),
      dims_(parent->dims_) {
  OpenGraph();
}

void Scope::OpenGraph() {
  auto graph = std::make_shared<ir::Graph>(dims_);
  graph->max_nodes = std::max<int64_t>(0, total_->max_nodes - total_->nodes);
  graph->fast_math = fast_math_;
  graph->name = stages_.empty() ? name_ : absl::StrCat(name_, ".", stages_.size());
  const Scope* before = stages_.empty() ? parent_ : this;
  for (; before != nullptr; before = nullptr) {
    for (size_t i = before->stages_.size(); i-- > 0;) {
      if (before->stages_[i].graph == nullptr) continue;
      const dim::FactSet& facts = before->stages_[i].graph->facts();
      total_->known += static_cast<int64_t>(facts.facts().size()) + dims_->num_symbols();
      if (total_->known <= kMostKnown) graph->facts() = facts;  // else CheckTotal fails
      break;
    }
  }
  ir::Stage stage;
  stage.name = graph->name;
  stage.graph = std::move(graph);
  stages_.push_back(std::move(stage));
  builders_.push_back(std::make_unique<ir::Builder>(stages_.back().graph.get()));
  counted_ = 0;
  ++total_->stages;
}

absl::Status Scope::CheckTotal(int64_t more_nodes) const {
  if (total_->nodes + more_nodes > total_->max_nodes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the graphs of the program have more than max_nodes = ", total_->max_nodes,
                     " nodes together"));
  }
  if (total_->stages > kMostStages) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "sizes and steps that data gives make more stages than the limit of ", kMostStages));
  }
  if (total_->known > kMostKnown) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the ", total_->stages,
                     " stages that sizes and steps from data make know more sizes and facts "
                     "together than the limit of ",
                     kMostKnown));
  }
  return absl::OkStatus();
}

absl::Status Scope::CountNodes(bool refused) {
  const auto now = static_cast<int64_t>(graph().num_nodes());
  total_->nodes += now - counted_;
  counted_ = now;
  const int64_t left = std::max<int64_t>(0, total_->max_nodes - total_->nodes);
  graph().max_nodes = now + left;
  return CheckTotal(refused ? 1 : 0);
}

absl::Status Scope::ChargeNodes(int64_t count) {
  total_->nodes += count;
  return CheckTotal();
}

const Tensor* Scope::Remembered(int stage, ValueId id) const {
  const auto found = remembered_.find({stage, id});
  return found == remembered_.end() ? nullptr : &found->second;
}

void Scope::Remember(int stage, ValueId id, Tensor t) { remembered_[{stage, id}] = std::move(t); }

Scope::Place Scope::PlaceOf(const Val& v) {
  return {v.scope, v.id, v.id == kNoValue ? v.slot : v.stage};
}

void Scope::AddStageInput(SlotId slot, ValueId id) {
  stages_.back().inputs.push_back(slot);
  imports_[{stage(), slot}] = id;
  exports_[{stage(), id}] = slot;
}

SlotId Scope::NewSlot(ValueType type, int from_stage) {
  slots_.push_back({std::move(type), from_stage});
  return static_cast<SlotId>(slots_.size()) - 1;
}

absl::StatusOr<Val> Scope::AddInput(const std::string& name, ValueType type) {
  LATHE_RETURN_IF_ERROR(CheckTotal());
  LATHE_ASSIGN_OR_RETURN(const ValueId id, builder().Input(name, type));
  const SlotId slot = NewSlot(std::move(type), -1);
  inputs_.push_back(slot);
  input_names_.push_back(name);
  AddStageInput(slot, id);
  return Here(id);
}

Val Scope::Here(ValueId id) {
  Val v;
  v.kind = Val::Kind::kTensor;
  v.scope = this;
  v.stage = stage();
  v.id = id;
  return v;
}

ValueType Scope::TypeOf(const Val& v) const {
  if (v.constant) {
    ValueType type{v.constant->dtype(), {}};
    for (int64_t n : v.constant->shape()) type.shape.push_back(n);
    return type;
  }
  if (!IsTensor(v)) return {};
  if (v.id == kNoValue) return v.scope->slots_[static_cast<size_t>(v.slot)].type;
  return v.scope->stages_[static_cast<size_t>(v.stage)].graph->type(v.id);
}

absl::StatusOr<ValueId> Scope::Use(const Val& v) {
  if (!IsTensor(v)) return absl::InvalidArgumentError("a value is missing");
  if (!v.constant && v.scope == this && v.id != kNoValue && v.stage == stage()) return v.id;
  const Tensor* content = v.constant.get();
  std::pair<const void*, ValueId> key = {content, kNoValue};
  if (content == nullptr && v.id != kNoValue) {
    ir::Graph& graph = *v.scope->stages_[static_cast<size_t>(v.stage)].graph;
    const ir::Node& n = graph.node(v.id);
    if (n.op == ir::Op::k_constant) {
      content = &n.attrs.tensor;
      key = {&graph, v.id};
    } else if (const std::optional<bool> flag = KnownFlag(&graph, v.id)) {
      return builder().Constant(Tensor::Scalar<bool>(*flag));
    } else if (n.type.dtype == i64 || n.type.dtype == i32) {
      const ValueType type = n.type;
      if (const std::optional<std::vector<Dim>> dims = KnownSizes(&graph, v.id))
        return FromDims(*dims, type);
    }
  }
  if (content != nullptr) {
    const auto [it, is_new] = constants_.try_emplace({stage(), key}, kNoValue);
    if (!is_new) return it->second;
    if (v.constant) kept_.push_back(v.constant);
    LATHE_ASSIGN_OR_RETURN(it->second, builder().Constant(*content));
    return it->second;
  }
  LATHE_ASSIGN_OR_RETURN(const SlotId slot, SlotOf(v));
  return InputFromSlot(slot);
}

absl::StatusOr<ValueId> Scope::InputFromSlot(SlotId slot) {
  const auto found = imports_.find({stage(), slot});
  if (found != imports_.end()) return found->second;
  LATHE_ASSIGN_OR_RETURN(const ValueId id, builder().Input(absl::StrCat("slot", slot),
                                                           slots_[static_cast<size_t>(slot)].type));
  AddStageInput(slot, id);
  return id;
}

absl::StatusOr<ValueId> Scope::FromDims(const std::vector<Dim>& dims, const ValueType& type) {
  std::vector<ValueId> parts;
  bool constant = true;
  for (Dim d : dims) constant = constant && d.is_constant();
  std::vector<int64_t> shape;
  for (Dim d : type.shape) shape.push_back(d.constant());
  if (constant && (type.dtype == i64 || type.dtype == i32)) {
    Tensor t(type.dtype, shape);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (type.dtype == i64) {
        t.data<int64_t>()[i] = dims[i].constant();
      } else {
        t.data<int32_t>()[i] = static_cast<int32_t>(dims[i].constant());
      }
    }
    return builder().Constant(std::move(t));
  }
  for (Dim d : dims) {
    ir::Attrs attrs;
    attrs.dim = d;
    LATHE_ASSIGN_OR_RETURN(const ValueId size, builder().Create(ir::Op::k_size, {}, attrs));
    LATHE_ASSIGN_OR_RETURN(const ValueId one, builder().Reshape(size, {1}));
    parts.push_back(one);
  }
  ValueId all = parts[0];
  if (parts.size() > 1) {
    ir::Attrs attrs;
    attrs.axis = 0;
    LATHE_ASSIGN_OR_RETURN(all, builder().Create(ir::Op::k_concat, parts, attrs));
  }
  if (type.dtype != i64) {
    ir::Attrs attrs;
    attrs.dtype = type.dtype;
    LATHE_ASSIGN_OR_RETURN(all, builder().Create(ir::Op::k_cast, {all}, attrs));
  }
  return builder().Reshape(all, type.shape);
}

absl::StatusOr<SlotId> Scope::SlotOf(const Val& v) {
  if (!IsTensor(v)) return absl::InvalidArgumentError("a value is missing");
  if (v.constant) {
    LATHE_ASSIGN_OR_RETURN(const ValueId id, Use(v));
    return SlotOf(Here(id));
  }
  if (v.scope != this) return Capture(v);
  if (v.id == kNoValue) return v.slot;
  ir::Stage& stage = stages_[static_cast<size_t>(v.stage)];
  const auto [it, is_new] = exports_.try_emplace({v.stage, v.id}, kNoSlot);
  if (!is_new) return it->second;
  it->second = NewSlot(stage.graph->type(v.id), v.stage);
  ir::Builder& builder = *builders_[static_cast<size_t>(v.stage)];
  LATHE_RETURN_IF_ERROR(builder.Output(absl::StrCat("slot", it->second), v.id));
  stage.outputs.push_back(it->second);
  return it->second;
}

SlotId Scope::Capture(const Val& v) {
  const auto [it, is_new] = captured_.try_emplace(PlaceOf(v), kNoSlot);
  if (!is_new) return it->second;
  captures_.push_back(v);
  return it->second = NewSlot(TypeOf(v), -1);
}

void Scope::SetInputs(const std::vector<Val>& shared) {
  staged_->inputs = inputs_;
  staged_->input_names = input_names_;
  for (const Val& v : shared) {
    staged_->inputs.push_back(Capture(v));
    staged_->input_names.push_back(absl::StrCat("slot", staged_->inputs.back()));
  }
  for (SlotId slot : staged_->inputs)
    staged_->input_types.push_back(slots_[static_cast<size_t>(slot)].type);
  staged_->num_slots = static_cast<int>(slots_.size());
}

absl::StatusOr<Shape> Scope::Cut(Val v, const std::string& hint, const std::vector<Dim>& bounds) {
  ValueType type = TypeOf(v);
  int64_t count = 1;
  for (Dim d : type.shape) {
    if (!d.is_constant())
      return absl::InvalidArgumentError(absl::StrCat(hint, " has the type ", type.ToString(),
                                                     "; wanted a fixed number of sizes"));
    count *= d.constant();
    if (count > ir::kMaxElementDims)
      return absl::InvalidArgumentError(absl::StrCat(hint, " has the type ", type.ToString(),
                                                     "; wanted at most ", ir::kMaxElementDims,
                                                     " sizes"));
  }
  // Those that are known already stay what they are: -1 of a shape, a size.
  std::vector<std::optional<Dim>> known(static_cast<size_t>(count));
  std::vector<int64_t> places;
  const bool has_node = !v.constant && v.id != kNoValue;
  if (has_node && bounds.empty()) known = KnownElements(v.scope->GraphOf(v.stage), v.id, count);
  for (int64_t i = 0; i < count; ++i)
    if (!known[static_cast<size_t>(i)]) places.push_back(i);
  if (places.size() < known.size()) {
    LATHE_ASSIGN_OR_RETURN(v.id, ElementsAt(v.scope->GraphOf(v.stage), v.id, count, places));
    type = TypeOf(v);
  }
  LATHE_ASSIGN_OR_RETURN(const SlotId slot, SlotOf(v));
  LATHE_RETURN_IF_ERROR(CountNodes());
  OpenGraph();
  LATHE_RETURN_IF_ERROR(CheckTotal());
  ir::Attrs attrs;
  attrs.elements = Shape();
  Shape sizes;
  for (int64_t i = 0; i < count; ++i) {
    if (const std::optional<Dim>& d = known[static_cast<size_t>(i)]) {
      sizes.push_back(*d);
      continue;
    }
    const Dim symbol = dims_->FreshSymbol(count == 1 ? hint : absl::StrCat(hint, ".", i));
    LATHE_RETURN_IF_ERROR(symbol.status());
    attrs.elements->push_back(symbol);
    sizes.push_back(symbol);
  }
  LATHE_ASSIGN_OR_RETURN(const ValueId id,
                         builder().Input(absl::StrCat("slot", slot), type, std::move(attrs)));
  AddStageInput(slot, id);
  for (size_t i = 0; i < bounds.size() && i < sizes.size(); ++i) {
    LATHE_RETURN_IF_ERROR(
        graph().facts().Add(sizes[i] <= bounds[i], dim::Standing::kDeclared, {hint, ""}).status());
  }
  return sizes;
}

absl::Status CheckOneElement(const ValueType& type, DType dtype, const char* what) {
  if (type.dtype == dtype && type.rank() <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is ", type.ToString(), "; wanted one ", Name(dtype)));
}

absl::StatusOr<std::vector<Val>> Scope::AppendStage(ir::Stage stage, const std::vector<Val>& inputs,
                                                    const Val& condition, const Val& trips,
                                                    const std::vector<Scope*>& bodies,
                                                    std::vector<ValueType> outputs) {
  for (const Val& v : inputs) {
    LATHE_ASSIGN_OR_RETURN(const SlotId slot, SlotOf(v));
    stage.inputs.push_back(slot);
  }
  if (condition.present()) {
    LATHE_RETURN_IF_ERROR(CheckOneElement(TypeOf(condition), bool_, "the condition"));
    LATHE_ASSIGN_OR_RETURN(stage.condition, SlotOf(condition));
  }
  if (trips.present()) {
    LATHE_RETURN_IF_ERROR(CheckOneElement(TypeOf(trips), i64, "the number of trips"));
    LATHE_ASSIGN_OR_RETURN(stage.trips, SlotOf(trips));
  }
  // All bodies take the captures of all.
  std::vector<Val> shared;
  absl::flat_hash_set<Place> places;
  for (const Scope* body : bodies)
    for (const Val& v : body->captures_)
      if (places.insert(PlaceOf(v)).second) shared.push_back(v);
  for (const Val& v : shared) {
    LATHE_ASSIGN_OR_RETURN(const SlotId slot, SlotOf(v));
    stage.inputs.push_back(slot);
  }
  for (Scope* body : bodies) {
    body->SetInputs(shared);
    stage.bodies.push_back(body->staged_);
  }
  const int index = static_cast<int>(stages_.size());
  std::vector<Val> results;
  for (ValueType& type : outputs) {
    Val v;
    v.kind = Val::Kind::kTensor;
    v.scope = this;
    v.stage = index;
    v.slot = NewSlot(std::move(type), index);
    stage.outputs.push_back(v.slot);
    results.push_back(std::move(v));
  }
  LATHE_RETURN_IF_ERROR(CountNodes());
  stages_.push_back(std::move(stage));
  builders_.push_back(nullptr);
  OpenGraph();
  LATHE_RETURN_IF_ERROR(CheckTotal());
  return results;
}

bool Scope::Shows(int stage, dim::SymbolId symbol) {
  const ir::Graph& graph = *stages_[static_cast<size_t>(stage)].graph;
  Shown& shown = shown_[stage];
  for (; shown.num_inputs < graph.inputs.size(); ++shown.num_inputs) {
    for (Dim d : graph.type(graph.inputs[shown.num_inputs]).shape) {
      dim::SymbolId s = 0;
      if (dim::IsSymbol(d, &s)) shown.symbols.insert(s);
      if (stage > 0) continue;
      for (dim::SymbolId of : dim::FreeSymbols(d)) shown.symbols.insert(of);
    }
  }
  if (shown.symbols.contains(symbol)) return true;
  // Elements get their names when they are first asked for as sizes.
  const Dim size = dims_->SymbolDim(symbol);
  for (ValueId v : graph.inputs) {
    const std::optional<Shape>& elements = graph.node(v).attrs.elements;
    if (elements && std::find(elements->begin(), elements->end(), size) != elements->end())
      return true;
  }
  return false;
}

absl::StatusOr<SlotId> Scope::SlotOfSize(dim::SymbolId symbol, int before_stage) {
  const auto known = size_slots_.find(symbol);
  if (known != size_slots_.end() &&
      slots_[static_cast<size_t>(known->second)].from_stage < before_stage) {
    return known->second;
  }
  const Dim size = dims_->SymbolDim(symbol);
  for (int t = 0; t < before_stage; ++t) {
    ir::Stage& stage = stages_[static_cast<size_t>(t)];
    if (stage.graph == nullptr || !Shows(t, symbol)) continue;
    LATHE_RETURN_IF_ERROR(ChargeNodes(2));
    ir::Builder& builder = *builders_[static_cast<size_t>(t)];
    ir::Attrs attrs;
    attrs.dim = size;
    LATHE_ASSIGN_OR_RETURN(ValueId v, builder.Create(ir::Op::k_size, {}, attrs));
    LATHE_ASSIGN_OR_RETURN(v, builder.Reshape(v, {1}));
    const SlotId slot = NewSlot({i64, {1}}, t);
    LATHE_RETURN_IF_ERROR(builder.Output(absl::StrCat("slot", slot), v));
    stage.outputs.push_back(slot);
    size_slots_[symbol] = slot;
    return slot;
  }
  if (parent_ == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("no input gives the size ", dims_->SymbolName(symbol)));
  }
  LATHE_ASSIGN_OR_RETURN(const SlotId outer, parent_->SlotOfSize(symbol, parent_stage_ + 1));
  Val v;
  v.kind = Val::Kind::kTensor;
  v.scope = parent_;
  v.stage = parent_->slots_[static_cast<size_t>(outer)].from_stage;
  v.slot = outer;
  return size_slots_[symbol] = Capture(v);
}

absl::Status Scope::BindSymbols() {
  for (size_t i = stages_.size(); i-- > 0;) {
    if (stages_[i].graph == nullptr || (i == 0 && parent_ == nullptr)) continue;
    ir::Graph& graph = *stages_[i].graph;
    std::vector<bool> used = ir::UsedSymbols(graph);
    AddTied(graph.facts(), &used);
    for (ValueId v : graph.inputs) {
      const ir::Node& n = graph.node(v);
      dim::SymbolId s = 0;
      for (Dim d : n.type.shape)
        if (dim::IsSymbol(d, &s)) used[s] = false;
      if (n.attrs.elements)
        for (Dim d : *n.attrs.elements)
          if (dim::IsSymbol(d, &s)) used[s] = false;
    }
    for (dim::SymbolId s = 0; s < used.size(); ++s) {
      if (!used[s]) continue;
      LATHE_ASSIGN_OR_RETURN(const SlotId slot, SlotOfSize(s, static_cast<int>(i)));
      LATHE_RETURN_IF_ERROR(ChargeNodes(1));
      ir::Attrs attrs;
      attrs.elements = Shape{dims_->SymbolDim(s)};
      LATHE_RETURN_IF_ERROR(
          builders_[i]->Input(absl::StrCat("slot", slot), {i64, {1}}, std::move(attrs)).status());
      stages_[i].inputs.push_back(slot);
    }
  }
  return absl::OkStatus();
}

absl::Status Scope::Finish(const std::vector<Val>& results, const std::vector<std::string>& names) {
  staged_ = std::make_shared<ir::Staged>();
  LATHE_RETURN_IF_ERROR(CountNodes());
  for (const ir::Stage& stage : stages_)
    if (stage.graph != nullptr) stage.graph->max_nodes = total_->max_nodes;
  if (is_single_graph() && parent_ == nullptr) {
    for (size_t i = 0; i < results.size(); ++i) {
      LATHE_ASSIGN_OR_RETURN(const ValueId id, Use(results[i]));
      LATHE_RETURN_IF_ERROR(builder().Output(names[i], id));
    }
    return absl::OkStatus();
  }
  for (const Val& v : results) {
    LATHE_ASSIGN_OR_RETURN(const SlotId slot, SlotOf(v));
    staged_->outputs.push_back(slot);
  }
  for (ir::Stage& stage : stages_)
    if (stage.graph != nullptr) stage.graph->RemoveDeadNodes();
  LATHE_RETURN_IF_ERROR(BindSymbols());
  staged_->name = name_;
  if (parent_ == nullptr) SetInputs({});  // a body's are known when all bodies are
  staged_->output_names = names;
  for (const ir::Stage& stage : stages_) {
    if (stage.graph == nullptr || !stage.outputs.empty()) staged_->stages.push_back(stage);
  }
  return absl::OkStatus();
}

std::unique_ptr<ir::Graph> Scope::ReleaseGraph() {
  return std::make_unique<ir::Graph>(std::move(*stages_.back().graph));
}

}  // namespace lathe::onnx
