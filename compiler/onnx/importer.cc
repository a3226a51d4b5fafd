#include "compiler/onnx/importer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/status_macros.h"

namespace lathe::onnx {
namespace {

// Of the standard, as of the Python package onnx 1.22.0. A newer version may mean something else by
// an operator's name.
constexpr std::pair<const char*, int64_t> kNewestOpsets[] = {{"", 27}, {"ai.onnx.ml", 5}};

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string OperatorName(const NodeDef& node) {
  const std::string domain = Domain(node.domain);
  return domain.empty() ? node.op_type : absl::StrCat(domain, ".", node.op_type);
}

// The names that a node reads of the graph that it is in, or of those around.
void CollectReads(const NodeDef& node, std::vector<const std::string*>* reads) {
  for (const std::string& name : node.inputs) reads->push_back(&name);
  for (const Attribute& a : node.attributes) {
    for (const auto& g : a.graphs) {
      std::vector<const std::string*> inner;
      absl::flat_hash_set<std::string> own;
      for (const ValueInfo& input : g->inputs) own.insert(input.name);
      for (const TensorData& t : g->initializers) own.insert(t.name);
      for (const auto& [name, sparse] : g->sparse_initializers) own.insert(name);
      for (const NodeDef& n : g->nodes) {
        CollectReads(n, &inner);
        own.insert(n.outputs.begin(), n.outputs.end());
      }
      for (const ValueInfo& output : g->outputs) inner.push_back(&output.name);
      for (const std::string* name : inner)
        if (!own.contains(*name)) reads->push_back(name);
    }
  }
}

// The nodes in an order in which each comes after those that it reads, as far as there is one; the
// file's own order where that is one, as the format wants it. Tools append nodes at the end.
std::vector<size_t> Order(const std::vector<NodeDef>& nodes) {
  absl::flat_hash_map<std::string, size_t> maker;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& name : nodes[i].outputs)
      if (!name.empty()) maker.try_emplace(name, i);
  std::vector<size_t> order;
  std::vector<char> state(nodes.size(), 0);  // 1: under way, 2: placed
  std::vector<std::pair<size_t, bool>> stack;
  for (size_t root = 0; root < nodes.size(); ++root) {
    stack.push_back({root, false});
    while (!stack.empty()) {
      const auto [at, ready] = stack.back();
      stack.pop_back();
      if (ready) {
        state[at] = 2;
        order.push_back(at);
        continue;
      }
      if (state[at] != 0) continue;
      state[at] = 1;
      stack.push_back({at, true});
      std::vector<const std::string*> reads;
      CollectReads(nodes[at], &reads);
      for (size_t k = reads.size(); k-- > 0;) {
        const auto found = maker.find(*reads[k]);
        if (found != maker.end() && state[found->second] == 0)
          stack.push_back({found->second, false});
      }
    }
  }
  return order;
}

// Those of sub-graphs included.
void CollectNodes(const std::vector<NodeDef>& nodes, std::vector<const NodeDef*>* all) {
  for (const NodeDef& n : nodes) {
    all->push_back(&n);
    for (const Attribute& a : n.attributes)
      for (const auto& g : a.graphs) CollectNodes(g->nodes, all);
  }
}

// The newest version that is known of the domain is passed by what `owner` imports and `nodes` use.
absl::Status CheckVersions(const std::string& owner,
                           const std::vector<std::pair<std::string, int64_t>>& imports,
                           const std::vector<NodeDef>& nodes) {
  std::vector<const NodeDef*> all;
  CollectNodes(nodes, &all);
  absl::flat_hash_set<std::string> used;
  for (const NodeDef* n : all) used.insert(Domain(n->domain));
  for (const auto& [domain, version] : imports) {
    for (const auto& [known, newest] : kNewestOpsets) {
      if (Domain(domain) != known || version <= newest || !used.contains(known)) continue;
      return absl::UnimplementedError(
          absl::StrCat(owner, " is written for version ", version, " of the operators of ",
                       *known == '\0' ? "ai.onnx" : known, "; the newest that Lathe knows is ",
                       newest, ": export it for that one, or convert it"));
    }
  }
  return absl::OkStatus();
}

// The inputs of a sub-graph that is given `count` values: where it lists more, without those that
// have an initializer. Files of IR version 3 and older list these too.
std::vector<std::string> InputNames(const GraphDef& graph, size_t count) {
  std::set<std::string> given;
  if (graph.inputs.size() > count) {
    for (const TensorData& t : graph.initializers) given.insert(t.name);
    for (const auto& [name, sparse] : graph.sparse_initializers) given.insert(name);
  }
  std::vector<std::string> names;
  for (const ValueInfo& input : graph.inputs)
    if (!given.contains(input.name)) names.push_back(input.name);
  return names;
}

}  // namespace

Importer::Importer(const ModelDef& model, const OnnxOptions& options)
    : model_(model), options_(options), contents_(options.contents) {
  for (const auto& [name, items] : options.sequence_contents)
    for (size_t i = 0; i < items.size(); ++i) contents_.try_emplace(ItemName(name, i), items[i]);
  for (const auto& [domain, version] : model.opsets)
    model_opsets_.try_emplace(Domain(domain), version);
  for (const FunctionDef& f : model.functions) {
    functions_.try_emplace({Domain(f.domain), f.name, f.overload}, &f);
    FunctionTables& tables = tables_[&f];
    for (const auto& [domain, version] : f.opsets)
      tables.opsets.try_emplace(Domain(domain), version);
    for (const Attribute& a : f.attribute_defaults) tables.defaults.try_emplace(a.name, &a);
  }
}

// -- names

Val Importer::Lookup(const std::string& name) const {
  for (size_t i = env_.size(); i-- > env_base_;) {
    const auto found = env_[i].find(name);
    if (found != env_[i].end()) return found->second;
  }
  return Val();
}

void Importer::Bind(const std::string& name, Val v) {
  if (!name.empty()) env_.back()[name] = std::move(v);
}

std::string Importer::Where(const NodeDef& node) const {
  std::string name = node.name;
  if (name.empty()) {
    for (const std::string& out : node.outputs) {
      if (!out.empty()) {
        name = out;
        break;
      }
    }
  }
  constexpr size_t kLongestShown = 128;
  return absl::StrCat("node '", name.substr(0, kLongestShown), "' (", OperatorName(node), ")");
}

int64_t Importer::OpsetOf(const std::string& domain) const {
  const auto found = opsets_->find(Domain(domain));
  return found == opsets_->end() ? 1 : found->second;
}

const Attribute* Importer::AttributeOfCall(const std::string& name) const {
  return AttributeOf(call_, name);
}

const Attribute* Importer::AttributeOf(const Call* call, const std::string& name) {
  if (call == nullptr) return nullptr;
  if (const Attribute* given = call->node->Find(name)) {
    if (given->ref_attr_name.empty()) return given;
    // One of the enclosing function, which this call passes on if it is there.
    if (const Attribute* passed = AttributeOf(call->outer, given->ref_attr_name)) return passed;
  }
  const auto found = call->tables->defaults.find(name);
  return found == call->tables->defaults.end() ? nullptr : found->second;
}

const FunctionDef* Importer::FindFunction(const NodeDef& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find({Domain(node.domain), node.op_type, node.overload});
  return found == functions_.end() ? nullptr : found->second;
}

Importer::Used Importer::InUse() const {
  Used used;
  CollectNodes(model_.graph.nodes, &used.nodes);
  absl::flat_hash_set<const FunctionDef*> called;
  for (size_t i = 0; i < used.nodes.size(); ++i) {
    const FunctionDef* function = FindFunction(*used.nodes[i]);
    if (function == nullptr || !called.insert(function).second) continue;
    used.functions.push_back(function);
    CollectNodes(function->nodes, &used.nodes);
  }
  return used;
}

// -- what the file holds

absl::Status Importer::AddInitializers(const GraphDef& graph) {
  LATHE_RETURN_IF_ERROR(ChargeCopies(graph));
  for (const TensorData& t : graph.initializers) {
    absl::StatusOr<Tensor> tensor = ToTensor(t);
    if (!tensor.ok()) {
      return absl::Status(
          tensor.status().code(),
          absl::StrCat("initializer '", t.name, "': ", std::string(tensor.status().message())));
    }
    Bind(t.name, Val::Constant(*std::move(tensor)));
  }
  for (const auto& [name, sparse] : graph.sparse_initializers) {
    LATHE_ASSIGN_OR_RETURN(Tensor dense, Densify(sparse, options_.max_folded_bytes));
    Bind(name, Val::Constant(std::move(dense)));
  }
  return absl::OkStatus();
}

// -- nodes

std::map<std::string, int> Importer::Operators() const {
  std::map<std::string, int> counts;
  const Used used = InUse();
  for (const NodeDef* n : used.nodes) ++counts[OperatorName(*n)];
  return counts;
}

absl::Status Importer::CheckOpsets() const {
  LATHE_RETURN_IF_ERROR(CheckVersions("the model", model_.opsets, model_.graph.nodes));
  const Used used = InUse();
  for (const FunctionDef* f : used.functions) {
    LATHE_RETURN_IF_ERROR(
        CheckVersions(absl::StrCat("the function '", f->name, "'"), f->opsets, f->nodes));
  }
  return absl::OkStatus();
}

absl::Status Importer::CheckOperators() const {
  std::map<std::string, std::pair<int, const NodeDef*>> missing;
  const Used used = InUse();
  for (const NodeDef* n : used.nodes) {
    if (FindFunction(*n) != nullptr || FindMapper(Domain(n->domain), n->op_type) != nullptr)
      continue;
    auto& entry = missing[OperatorName(*n)];
    if (entry.first++ == 0) entry.second = n;
  }
  if (missing.empty()) return absl::OkStatus();
  std::vector<std::string> list;
  for (const auto& [name, entry] : missing)
    list.push_back(absl::StrCat(name, " (", entry.first, ", first ", Where(*entry.second), ")"));
  return absl::UnimplementedError(absl::StrCat("the model uses operators that Lathe doesn't have: ",
                                               absl::StrJoin(list, ", ")));
}

absl::Status Importer::ImportNode(const NodeDef& node, Scope& scope) {
  const auto located = [&](const absl::Status& s) {
    if (absl::IsAborted(s)) return s;
    return absl::Status(s.code(), absl::StrCat(Where(node), ": ", std::string(s.message())));
  };
  // A full graph is one of many: the limit is that of all.
  const auto refused = [&](const absl::Status& s) {
    const absl::Status counted = absl::IsResourceExhausted(s) ? scope.CountNodes(true) : s;
    return located(counted.ok() ? s : counted);
  };
  if (++imported_ > options_.max_nodes) {
    return located(absl::ResourceExhaustedError(
        absl::StrCat("with all calls of functions and steps of loops written out, the model has "
                     "more than max_nodes = ",
                     options_.max_nodes, " nodes")));
  }
  if (absl::Status charged = ChargeNode(node); !charged.ok()) return located(charged);
  scope.builder().set_location({Where(node), 0, 0});
  std::map<int, Val> outputs;
  if (const FunctionDef* function = FindFunction(node)) {
    std::vector<Val> inputs;
    for (const std::string& name : node.inputs)
      inputs.push_back(name.empty() ? Val() : Lookup(name));
    absl::StatusOr<std::vector<Val>> results = ImportFunction(*function, node, scope, inputs);
    if (!results.ok()) return located(results.status());
    for (size_t i = 0; i < results->size(); ++i) outputs[static_cast<int>(i)] = (*results)[i];
  } else {
    const Mapper* map = FindMapper(Domain(node.domain), node.op_type);
    if (map == nullptr) return located(absl::UnimplementedError("there is no such operator"));
    NodeContext c(*this, scope, node, OpsetOf(node.domain));
    constexpr int kMostCuts = 16;
    for (int cuts = 0;; ++cuts) {
      (*map)(c);
      if (!c.pending()) break;
      if (cuts == kMostCuts) return located(absl::InternalError("is cut again and again"));
      const NodeContext::Pending pending = *c.pending();
      const std::string hint = absl::StrCat(Word(node.op_type), ".", pending.key);
      absl::StatusOr<Shape> sizes = scope.Cut(pending.value, hint, pending.bounds);
      if (!sizes.ok()) return refused(sizes.status());
      scope.builder().set_location({Where(node), 0, 0});
      c.sizes()[pending.key] = *std::move(sizes);
      c.Restart();
    }
    if (!c.ok()) return refused(c.status());
    if (absl::Status counted = scope.CountNodes(); !counted.ok()) return located(counted);
    outputs = c.outputs();
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    const auto found = outputs.find(static_cast<int>(i));
    if (found == outputs.end())
      return located(absl::UnimplementedError(absl::StrCat("output ", i, " isn't supported")));
    Bind(node.outputs[i], found->second);
  }
  return absl::OkStatus();
}

absl::Status Importer::ImportNodes(const std::vector<NodeDef>& nodes, Scope& scope) {
  const auto [order, is_new] = orders_.try_emplace(&nodes);
  if (is_new) order->second = Order(nodes);
  for (const size_t at : order->second) {
    const NodeDef& node = nodes[at];
    for (const std::string& name : node.inputs) {
      if (name.empty() || Lookup(name).present()) continue;
      bool optional = false;  // an optional without a value
      for (size_t i = env_.size(); i-- > env_base_;) optional |= env_[i].contains(name);
      if (!optional) {
        return absl::InvalidArgumentError(
            absl::StrCat(Where(node), ": nothing before it computes its input '", name, "'"));
      }
    }
    LATHE_RETURN_IF_ERROR(ImportNode(node, scope));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Val>> Importer::ImportGraph(const GraphDef& graph, Scope& scope,
                                                       const std::vector<Val>& inputs) {
  if (depth_ >= options_.limits.depth) {
    return absl::ResourceExhaustedError(
        absl::StrCat("sub-graphs are nested deeper than the limit of ", options_.limits.depth));
  }
  LATHE_RETURN_IF_ERROR(ChargeGraph(graph));
  const std::vector<std::string> names = InputNames(graph, inputs.size());
  if (inputs.size() != names.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the sub-graph '", graph.name, "' has ", names.size(), " inputs; wanted ", inputs.size()));
  }
  ++depth_;
  env_.emplace_back();
  std::vector<Val> results;
  absl::Status s = AddInitializers(graph);
  for (size_t i = 0; i < inputs.size(); ++i) Bind(names[i], inputs[i]);
  if (s.ok()) s = ImportNodes(graph.nodes, scope);
  for (const ValueInfo& output : graph.outputs) {
    if (!s.ok()) break;
    results.push_back(Lookup(output.name));
    if (!results.back().present() && !env_.back().contains(output.name))
      s = absl::InvalidArgumentError(absl::StrCat(
          "the sub-graph '", graph.name, "' doesn't compute its output '", output.name, "'"));
  }
  env_.pop_back();
  --depth_;
  if (!s.ok()) return s;
  return results;
}

absl::Status Importer::CallsItself(const FunctionDef& function, const NodeDef& call) const {
  std::vector<std::string> way = {OperatorName(call)};
  for (const Call* c = call_; c != nullptr; c = c->outer) {
    way.insert(way.begin(), OperatorName(*c->node));
    if (c->function == &function) break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the function calls itself (", absl::StrJoin(way, " > "), "); recursion is refused"));
}

absl::StatusOr<std::vector<Val>> Importer::ImportFunction(const FunctionDef& function,
                                                          const NodeDef& call, Scope& scope,
                                                          const std::vector<Val>& inputs) {
  for (const Call* c = call_; c != nullptr; c = c->outer)
    if (c->function == &function) return CallsItself(function, call);
  if (depth_ >= options_.limits.depth)
    return absl::ResourceExhaustedError(
        absl::StrCat("calls are nested deeper than the limit of ", options_.limits.depth));
  if (inputs.size() > function.inputs.size())
    return absl::InvalidArgumentError(absl::StrCat("the function takes ", function.inputs.size(),
                                                   " inputs; found ", inputs.size()));
  LATHE_RETURN_IF_ERROR(ChargeFunction(function));
  const FunctionTables& tables = tables_[&function];
  const Call here{&function, &tables, &call, call_};
  const size_t outer_base = env_base_;
  const auto* outer_opsets = opsets_;
  ++depth_;
  env_base_ = env_.size();
  env_.emplace_back();
  call_ = &here;
  if (!tables.opsets.empty()) opsets_ = &tables.opsets;
  absl::Status s;
  for (size_t i = 0; i < function.inputs.size() && s.ok(); ++i)
    Bind(function.inputs[i], i < inputs.size() ? inputs[i] : Val());
  if (s.ok()) s = ImportNodes(function.nodes, scope);
  std::vector<Val> results;
  for (const std::string& output : function.outputs) {
    if (!s.ok()) break;
    results.push_back(Lookup(output));
    if (!results.back().present() && !env_.back().contains(output))
      s = absl::InvalidArgumentError(
          absl::StrCat("the function doesn't compute its output '", output, "'"));
  }
  env_.pop_back();
  env_base_ = outer_base;
  opsets_ = outer_opsets;
  call_ = here.outer;
  --depth_;
  if (!s.ok()) return s;
  return results;
}

absl::Status Importer::Run(std::set<std::string>* fixed) {
  fixed_ = fixed;
  opsets_ = &model_opsets_;
  LATHE_RETURN_IF_ERROR(CheckOpsets());
  LATHE_RETURN_IF_ERROR(CheckOperators());
  root_ = std::make_unique<Scope>(Word(model_.graph.name.empty() ? "model" : model_.graph.name),
                                  options_.max_nodes, options_.fast_math);
  env_.emplace_back();
  LATHE_RETURN_IF_ERROR(AddInitializers(model_.graph));
  LATHE_RETURN_IF_ERROR(AddInputs());
  LATHE_RETURN_IF_ERROR(ImportNodes(model_.graph.nodes, *root_));
  std::vector<Val> results;
  std::vector<std::string> names;
  TakenNames taken;
  const auto add = [&](const std::string& name, Val v) {
    results.push_back(std::move(v));
    names.push_back(taken.TakeLike(Word(name)));
    output_names_.push_back(name);
  };
  for (const ValueInfo& output : model_.graph.outputs) {
    Val v = Lookup(output.name);
    if (!v.present() && !env_.back().contains(output.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("nothing computes the model's output '", output.name, "'"));
    }
    if (v.kind == Val::Kind::kTensor) add(output.name, v);
    if (v.kind != Val::Kind::kSequence) continue;
    for (size_t i = 0; i < v.items->size(); ++i) add(ItemName(output.name, i), (*v.items)[i]);
  }
  return root_->Finish(results, names);
}

}  // namespace lathe::onnx
