#include "compiler/onnx/importer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/passes/evaluate.h"
#include "ir/element_dims.h"
#include "ir/lexer.h"
#include "ir/status_macros.h"

namespace lathe::onnx {

using ir::ValueId;

namespace {

std::string Domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string OperatorName(const NodeDef& node) {
  const std::string domain = Domain(node.domain);
  return domain.empty() ? node.op_type : absl::StrCat(domain, ".", node.op_type);
}

// Letters, digits, '_' and '.' of `name`; everything else becomes '_'.
std::string Word(const std::string& name) {
  std::string word;
  for (char c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.';
    word.push_back(fits ? c : '_');
  }
  if (word.empty() || (word[0] >= '0' && word[0] <= '9') || word[0] == '.') word = "_" + word;
  if (word == "_" || word == "None") word += "0";
  if (!ir::IsPlainName(word)) word += "_";  // a word of the text form, or dots that end nothing
  if (!ir::IsPlainName(word)) std::replace(word.begin(), word.end(), '.', '_');
  return word;
}

std::string Unique(std::string word, const std::set<std::string>& taken) {
  if (!taken.contains(word)) return word;
  for (int i = 1;; ++i) {
    const std::string next = absl::StrCat(word, "_", i);
    if (!taken.contains(next)) return next;
  }
}

// The names that a node reads, those of its sub-graphs included, which may be names of the graph
// around them.
void CollectReads(const NodeDef& node, std::vector<const std::string*>* reads, int depth) {
  for (const std::string& name : node.inputs) reads->push_back(&name);
  if (depth >= ir::kMaxBlockDepth) return;
  for (const Attribute& a : node.attributes) {
    for (const auto& g : a.graphs) {
      for (const NodeDef& inner : g->nodes) CollectReads(inner, reads, depth + 1);
      for (const ValueInfo& output : g->outputs) reads->push_back(&output.name);
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
      CollectReads(nodes[at], &reads, 0);
      for (size_t k = reads.size(); k-- > 0;) {
        const auto found = maker.find(*reads[k]);
        if (found != maker.end() && state[found->second] == 0)
          stack.push_back({found->second, false});
      }
    }
  }
  return order;
}

void CollectNodes(const std::vector<NodeDef>& nodes, std::vector<const NodeDef*>* all, int depth) {
  for (const NodeDef& n : nodes) {
    all->push_back(&n);
    if (depth >= ir::kMaxBlockDepth) continue;
    for (const Attribute& a : n.attributes)
      for (const auto& g : a.graphs) CollectNodes(g->nodes, all, depth + 1);
  }
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

// Those of sub-graphs and functions included.
std::vector<const NodeDef*> AllNodes(const ModelDef& model) {
  std::vector<const NodeDef*> all;
  CollectNodes(model.graph.nodes, &all, 0);
  for (const FunctionDef& f : model.functions) CollectNodes(f.nodes, &all, 0);
  return all;
}

}  // namespace

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
  for (const auto& [name, version] : *opsets_)
    if (Domain(name) == Domain(domain)) return version;
  return 1;
}

const Attribute* Importer::AttributeOfCall(const std::string& name) const {
  const Call* call = call_;
  if (call == nullptr) return nullptr;
  const Attribute* given = call->node->Find(name);
  if (given == nullptr) {
    for (const Attribute& a : call->function->attribute_defaults)
      if (a.name == name) return &a;
    return nullptr;
  }
  // An attribute of an enclosing function that this call passes on.
  for (call = call->outer; given != nullptr && !given->ref_attr_name.empty();) {
    if (call == nullptr) return nullptr;
    const std::string& outer = given->ref_attr_name;
    given = call->node->Find(outer);
    if (given == nullptr) {
      for (const Attribute& a : call->function->attribute_defaults)
        if (a.name == outer) given = &a;
    }
    call = call->outer;
  }
  return given;
}

const FunctionDef* Importer::FindFunction(const NodeDef& node) const {
  for (const FunctionDef& f : model_.functions) {
    if (f.name == node.op_type && Domain(f.domain) == Domain(node.domain) &&
        f.overload == node.overload) {
      return &f;
    }
  }
  return nullptr;
}

// -- inputs of the model

absl::StatusOr<Dim> Importer::InputDim(const std::string& input, size_t axis, const Dimension& d) {
  std::string name = d.name == "?" || d.name == "-1" || d.name == "None" ? "" : d.name;
  const auto open = options_.open.find({input, static_cast<int>(axis)});
  if (open != options_.open.end()) {
    name = open->second;
  } else if (d.value && *d.value >= 0) {
    return Dim(*d.value);
  }
  if (name.empty()) name = absl::StrCat(input, "_d", axis);
  const auto [it, is_new] = dim_names_.try_emplace(name);
  if (is_new) {
    std::set<std::string> taken;
    for (const auto& [other, symbol] : dim_names_) taken.insert(symbol);
    it->second = Unique(Word(name), taken);
  }
  const Dim symbol = root_->dims()->Symbol(it->second);
  if (!symbol.ok()) return symbol.status();
  return symbol;
}

absl::StatusOr<ir::ValueType> Importer::InputType(const std::string& name, const Type& type,
                                                  int item) {
  TensorData nothing;
  nothing.element_type = type.element_type;
  nothing.dims = {0};
  absl::StatusOr<Tensor> like = ToTensor(nothing);
  if (!like.ok()) {
    return absl::Status(like.status().code(),
                        absl::StrCat("input '", name, "': ", std::string(like.status().message())));
  }
  ir::ValueType result{like->dtype(), {}};
  std::vector<Dimension> dims;
  if (type.shape) {
    dims = *type.shape;
  } else {
    const auto content = contents_.find(name);
    if (content == contents_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", name, "' is declared without a rank; give a tensor for it"));
    }
    dims.resize(static_cast<size_t>(content->second.rank()));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    // Items of a sequence differ in what has a name.
    if (item >= 0 && !dims[i].name.empty())
      dims[i].name = ItemName(dims[i].name, static_cast<size_t>(item));
    LATHE_ASSIGN_OR_RETURN(const Dim d, InputDim(name, i, dims[i]));
    result.shape.push_back(d);
  }
  return result;
}

absl::StatusOr<Val> Importer::AddTensorInput(const std::string& name, const Type& type, int item) {
  if (fixed_->contains(name)) return Val::Constant(contents_.at(name).Contiguous());
  LATHE_ASSIGN_OR_RETURN(ir::ValueType value_type, InputType(name, type, item));
  const std::string word = Unique(Word(name), taken_);
  taken_.insert(word);
  LATHE_ASSIGN_OR_RETURN(const Val v, root_->AddInput(word, std::move(value_type)));
  root_inputs_[v.id] = name;
  input_names_.push_back(name);
  return v;
}

absl::StatusOr<Val> Importer::AddInput(const ValueInfo& input) {
  const Type* type = &input.type;
  const auto items = options_.sequence_contents.find(input.name);
  const bool has_items = items != options_.sequence_contents.end();
  if (type->kind == Type::Kind::kOptional && type->element != nullptr) {
    if (!has_items && !contents_.contains(input.name)) return Val();
    type = type->element.get();
  }
  if (type->kind == Type::Kind::kTensor) return AddTensorInput(input.name, *type);
  if (type->kind != Type::Kind::kSequence || type->element == nullptr ||
      type->element->kind != Type::Kind::kTensor) {
    return absl::UnimplementedError(
        absl::StrCat("input '", input.name,
                     "' is a map, a sparse tensor or a sequence of such; wanted tensors, sequences "
                     "or optionals of them"));
  }
  if (!has_items) {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", input.name,
                     "' is a sequence; give tensors for it (sequence_contents) that say how many "
                     "items it has"));
  }
  Val sequence;
  sequence.kind = Val::Kind::kSequence;
  for (size_t i = 0; i < items->second.size(); ++i) {
    LATHE_ASSIGN_OR_RETURN(
        Val item, AddTensorInput(ItemName(input.name, i), *type->element, static_cast<int>(i)));
    sequence.items.push_back(std::move(item));
  }
  return sequence;
}

absl::Status Importer::AddInputs() {
  for (const ValueInfo& input : model_.graph.inputs) {
    if (env_.back().contains(input.name)) continue;  // an initializer gives it
    LATHE_ASSIGN_OR_RETURN(Val v, AddInput(input));
    Bind(input.name, std::move(v));
  }
  for (const std::string& spec : options_.dims) {
    absl::Status s = root_->graph().facts().AddSpec(nullptr, spec, {"option", ""});
    if (!s.ok())
      return absl::Status(s.code(), absl::StrCat("dims '", spec, "': ", std::string(s.message())));
  }
  return absl::OkStatus();
}

absl::Status Importer::AddInitializers(const GraphDef& graph) {
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
    LATHE_ASSIGN_OR_RETURN(Tensor dense, Densify(sparse));
    Bind(name, Val::Constant(std::move(dense)));
  }
  return absl::OkStatus();
}

// -- nodes

std::map<std::string, int> Importer::Operators() const {
  std::map<std::string, int> counts;
  for (const NodeDef* n : AllNodes(model_)) ++counts[OperatorName(*n)];
  return counts;
}

absl::Status Importer::CheckOperators() const {
  std::map<std::string, std::pair<int, const NodeDef*>> missing;
  for (const NodeDef* n : AllNodes(model_)) {
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
  if (++imported_ > options_.max_nodes) {
    return located(absl::ResourceExhaustedError(
        absl::StrCat("with all calls of functions and steps of loops written out, the model has "
                     "more than max_nodes = ",
                     options_.max_nodes, " nodes")));
  }
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
      if (!sizes.ok()) return located(sizes.status());
      scope.builder().set_location({Where(node), 0, 0});
      c.sizes()[pending.key] = *std::move(sizes);
      c.Restart();
    }
    if (!c.ok()) return located(c.status());
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
  for (const size_t at : Order(nodes)) {
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
  if (depth_ >= ir::kMaxBlockDepth) {
    return absl::ResourceExhaustedError(
        absl::StrCat("sub-graphs are nested deeper than the limit of ", ir::kMaxBlockDepth));
  }
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

absl::StatusOr<std::vector<Val>> Importer::ImportFunction(const FunctionDef& function,
                                                          const NodeDef& call, Scope& scope,
                                                          const std::vector<Val>& inputs) {
  for (const Call* c = call_; c != nullptr; c = c->outer) {
    if (c->function == &function)
      return absl::InvalidArgumentError("the function calls itself; recursion is refused");
  }
  if (depth_ >= ir::kMaxBlockDepth)
    return absl::ResourceExhaustedError(
        absl::StrCat("calls are nested deeper than the limit of ", ir::kMaxBlockDepth));
  if (inputs.size() > function.inputs.size())
    return absl::InvalidArgumentError(absl::StrCat("the function takes ", function.inputs.size(),
                                                   " inputs; found ", inputs.size()));
  const Call here{&function, &call, call_};
  const size_t outer_base = env_base_;
  const auto* outer_opsets = opsets_;
  ++depth_;
  env_base_ = env_.size();
  env_.emplace_back();
  call_ = &here;
  if (!function.opsets.empty()) opsets_ = &function.opsets;
  absl::Status s;
  for (size_t i = 0; i < function.inputs.size() && s.ok(); ++i)
    Bind(function.inputs[i], i < inputs.size() ? inputs[i] : Val());
  if (s.ok()) s = ImportNodes(function.nodes, scope);
  std::vector<Val> results;
  for (const std::string& output : function.outputs)
    if (s.ok()) results.push_back(Lookup(output));
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
  opsets_ = &model_.opsets;
  LATHE_RETURN_IF_ERROR(CheckOperators());
  root_ = std::make_unique<Scope>(Word(model_.graph.name.empty() ? "model" : model_.graph.name),
                                  options_.max_nodes);
  env_.emplace_back();
  LATHE_RETURN_IF_ERROR(AddInitializers(model_.graph));
  LATHE_RETURN_IF_ERROR(AddInputs());
  LATHE_RETURN_IF_ERROR(ImportNodes(model_.graph.nodes, *root_));
  std::vector<Val> results;
  std::vector<std::string> names;
  std::set<std::string> taken;
  const auto add = [&](const std::string& name, Val v) {
    results.push_back(std::move(v));
    names.push_back(Unique(Word(name), taken));
    taken.insert(names.back());
    output_names_.push_back(name);
  };
  for (const ValueInfo& output : model_.graph.outputs) {
    Val v = Lookup(output.name);
    if (!v.present() && !env_.back().contains(output.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("nothing computes the model's output '", output.name, "'"));
    }
    if (v.kind == Val::Kind::kTensor) add(output.name, v);
    for (size_t i = 0; i < v.items.size(); ++i) add(ItemName(output.name, i), v.items[i]);
  }
  return root_->Finish(results, names);
}

}  // namespace lathe::onnx
