// The inputs of a model: their types, the names of their sizes, and what the options say of them.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "compiler/onnx/importer.h"
#include "ir/status_macros.h"

namespace lathe::onnx {
namespace {

// The name that the file gives a size; empty if it has none. Exporters write "?" and "-1".
std::string DeclaredName(const Dimension& d) {
  if (d.value && *d.value >= 0) return "";
  return d.name == "?" || d.name == "-1" || d.name == "None" ? "" : d.name;
}

const Type& Inner(const Type& type) {  // of an optional
  return type.kind == Type::Kind::kOptional && type.element != nullptr ? *type.element : type;
}

bool IsTensor(const Type& type) { return type.kind == Type::Kind::kTensor; }

}  // namespace

absl::StatusOr<Dim> Importer::InputDim(const std::string& input, size_t axis, const Dimension& d,
                                       int item) {
  const std::string declared = DeclaredName(d);
  const auto open = options_.open.find({input, static_cast<int>(axis)});
  std::string symbol;
  if (open != options_.open.end()) {
    symbol = open->second.empty() ? dim_names_.MadeSymbol(absl::StrCat(input, "_d", axis))
                                  : dim_names_.Symbol(open->second);
  } else if (d.value && *d.value >= 0) {
    return Dim(*d.value);
  } else if (declared.empty()) {
    symbol = dim_names_.MadeSymbol(absl::StrCat(input, "_d", axis));
  } else if (item >= 0) {  // items of a sequence differ in what has a name
    symbol = dim_names_.MadeSymbol(ItemName(declared, static_cast<size_t>(item)));
  } else {
    symbol = dim_names_.Symbol(declared);
  }
  const Dim dim = root_->dims()->Symbol(symbol);
  if (!dim.ok()) return dim.status();
  return dim;
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
    LATHE_ASSIGN_OR_RETURN(const Dim d, InputDim(name, i, dims[i], item));
    result.shape.push_back(d);
  }
  return result;
}

absl::StatusOr<Val> Importer::AddTensorInput(const std::string& name, const Type& type, int item) {
  if (fixed_->contains(name)) return Val::Constant(contents_.at(name).Contiguous());
  LATHE_ASSIGN_OR_RETURN(ir::ValueType value_type, InputType(name, type, item));
  const std::string word = taken_.TakeLike(Word(name));
  LATHE_ASSIGN_OR_RETURN(const Val v, root_->AddInput(word, std::move(value_type)));
  root_inputs_[v.id] = name;
  input_names_.push_back(name);
  return v;
}

absl::StatusOr<Val> Importer::AddInput(const ValueInfo& input) {
  const Type& type = Inner(input.type);
  const auto items = options_.sequence_contents.find(input.name);
  const bool has_items = items != options_.sequence_contents.end();
  if (&type != &input.type && !has_items && !contents_.contains(input.name)) return Val();
  if (IsTensor(type)) return AddTensorInput(input.name, type);
  if (type.kind != Type::Kind::kSequence || type.element == nullptr ||
      type.element->kind != Type::Kind::kTensor) {
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
  std::vector<Val> sequence;
  for (size_t i = 0; i < items->second.size(); ++i) {
    LATHE_ASSIGN_OR_RETURN(
        Val item, AddTensorInput(ItemName(input.name, i), *type.element, static_cast<int>(i)));
    sequence.push_back(std::move(item));
  }
  return Val::Sequence(std::move(sequence));
}

absl::Status Importer::CheckOptions() const {
  std::map<std::string, const Type*> inputs;
  for (const ValueInfo& input : model_.graph.inputs)
    if (!env_.back().contains(input.name)) inputs[input.name] = &Inner(input.type);
  // Of a tensor or an item of a sequence; nothing if it isn't known, 0 if there is no such thing.
  const auto rank = [&](const std::string& name) -> std::optional<int> {
    const auto input = inputs.find(name);
    if (input != inputs.end() && input->second->shape)
      return static_cast<int>(input->second->shape->size());
    if (const auto content = contents_.find(name); content != contents_.end())
      return content->second.rank();
    if (input == inputs.end() || !IsTensor(*input->second)) return 0;
    return std::nullopt;
  };
  std::vector<std::string> faults;
  for (const auto& [place, name] : options_.open) {
    const auto& [input, axis] = place;
    const std::optional<int> r = rank(input);
    if (axis < 0 || (r && axis >= *r))
      faults.push_back(absl::StrCat("open '", input, "':", axis, " is no axis of an input"));
  }
  for (const auto& [name, tensor] : contents_)
    if (!tensor.ok() || (tensor.raw() == nullptr && tensor.num_elements() > 0))
      faults.push_back(absl::StrCat("contents '", name, "' have no memory"));
  for (const auto& [name, tensor] : options_.contents)
    if (!inputs.contains(name)) faults.push_back(absl::StrCat("contents '", name, "' is no input"));
  for (const auto& [name, items] : options_.sequence_contents) {
    if (!inputs.contains(name))
      faults.push_back(absl::StrCat("sequence_contents '", name, "' is no input"));
  }
  if (faults.empty()) return absl::OkStatus();
  std::vector<std::string> list;
  for (const auto& [name, type] : inputs) {
    const std::optional<int> r = IsTensor(*type) ? rank(name) : std::nullopt;
    list.push_back(absl::StrCat("'", name, "'", r ? absl::StrCat(" of rank ", *r) : ""));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(faults, ", "), "; the model's inputs are ",
                   list.empty() ? "none" : absl::StrJoin(list, ", ")));
}

absl::Status Importer::AddInputs() {
  LATHE_RETURN_IF_ERROR(CheckOptions());
  for (const ValueInfo& input : model_.graph.inputs) {
    const Type& type = Inner(input.type);
    if (env_.back().contains(input.name) || !IsTensor(type) || !type.shape) continue;
    for (const Dimension& d : *type.shape)
      if (const std::string name = DeclaredName(d); !name.empty()) dim_names_.Declare(name);
  }
  for (const ValueInfo& input : model_.graph.inputs) {
    if (env_.back().contains(input.name)) continue;  // an initializer gives it
    LATHE_ASSIGN_OR_RETURN(Val v, AddInput(input));
    Bind(input.name, std::move(v));
  }
  for (const std::string& spec : options_.dims) {
    absl::Status s = root_->graph().facts().AddSpec(
        nullptr, dim_names_.InSymbols(spec, root_->dims()), {"option", ""});
    if (!s.ok())
      return absl::Status(s.code(), absl::StrCat("dims '", spec, "': ", std::string(s.message())));
  }
  return absl::OkStatus();
}

}  // namespace lathe::onnx
