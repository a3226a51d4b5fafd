#include "tests/fuzz/targets.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "bench/lathe_bench/description.h"
#include "compiler/io/npy.h"
#include "compiler/io/npz.h"
#include "compiler/io/safetensors.h"
#include "compiler/onnx/importer.h"
#include "compiler/onnx/reader.h"
#include "compiler/passes/pass.h"
#include "ir/dim/facts.h"
#include "ir/staged.h"

namespace lathe::fuzz {
namespace {

constexpr int64_t kMostBytes = 64 << 20;  // what a run may take
constexpr onnx::ReadLimits kModelLimits = {.file_bytes = kMostBytes, .memory = kMostBytes};
constexpr io::ArrayLimits kArrayLimits = {.bytes = kMostBytes, .header_bytes = 1 << 20};

volatile unsigned touched;  // what reads end in, so that they aren't left out

void Touch(const void* data, int64_t size) {
  unsigned sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += static_cast<const unsigned char*>(data)[i];
  touched = sum;
}

// What the file beside a folder of external data holds.
constexpr std::string_view kSecret = "to be read by nobody";

// A wrong answer: stops the run, as a fault does.
void Demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void TouchTensor(const Tensor& t) {
  Demand(t.is_contiguous(), "an array that was read is contiguous");
  Touch(t.raw(), t.num_bytes());
  if (t.dtype() == DType::kBool)
    for (int64_t i = 0; i < t.num_elements(); ++i)
      Demand(t.data<unsigned char>()[i] <= 1, "a bool is 0 or 1");
}

void TouchTensor(const onnx::TensorData& t) {
  Touch(t.bytes.get(), t.num_bytes);
  const std::string_view all(static_cast<const char*>(t.bytes.get()),
                             static_cast<size_t>(t.num_bytes));
  Demand(all.find(kSecret) == all.npos, "external data lies below the model's folder");
  const absl::StatusOr<Tensor> tensor = onnx::ToTensor(t);
  if (tensor.ok()) TouchTensor(*tensor);
}

void TouchGraph(const onnx::GraphDef& g);

void TouchNodes(const std::vector<onnx::NodeDef>& nodes) {
  for (const onnx::NodeDef& n : nodes)
    for (const onnx::Attribute& a : n.attributes) {
      for (const onnx::TensorData& t : a.tensors) TouchTensor(t);
      for (const onnx::SparseTensorData& s : a.sparse) TouchTensor(s.values);
      for (const auto& inner : a.graphs) TouchGraph(*inner);  // at most 32 deep
    }
}

void TouchGraph(const onnx::GraphDef& g) {
  TouchNodes(g.nodes);
  for (const onnx::TensorData& t : g.initializers) TouchTensor(t);
  for (const auto& [name, s] : g.sparse_initializers) {
    TouchTensor(s.values);
    TouchTensor(s.indices);
  }
}

// The bytes in an allocation of just their size, so that sanitizers see a read past the end.
struct Copy {
  explicit Copy(absl::Span<const char> from) : data(new char[from.size()]), size(from.size()) {
    if (size > 0) std::memcpy(data.get(), from.data(), size);
  }
  absl::Span<const char> bytes() const { return {data.get(), size}; }
  std::shared_ptr<void> owner() const { return {data, data.get()}; }
  std::shared_ptr<char[]> data;
  size_t size;
};

bool ReadModel(absl::Span<const char> bytes, const std::string& folder) {
  const Copy copy(bytes);
  const absl::StatusOr<onnx::ModelDef> m =
      onnx::ParseModel(copy.bytes(), copy.owner(), folder, kModelLimits);
  if (!m.ok()) return false;
  TouchGraph(m->graph);
  for (const onnx::FunctionDef& f : m->functions) TouchNodes(f.nodes);
  return true;
}

bool RunModel(absl::Span<const char> bytes) { return ReadModel(bytes, ""); }

// A folder for a model, with links that lead out of it.
class Folder {
 public:
  Folder() {
    namespace fs = std::filesystem;
    std::string pattern = (fs::temp_directory_path() / "lathe_external_XXXXXX").string();
    Demand(mkdtemp(pattern.data()) != nullptr, "a folder can be made");
    root_ = pattern;
    fs::create_directories(root_ / "model/below");
    const auto write = [&](const char* name, std::string_view text) {
      std::ofstream(root_ / name, std::ios::binary) << text;
    };
    write("secret.bin", kSecret);
    write("model/w.bin", "0123456789abcdef");
    write("model/below/v.bin", "ABCDEFGH");
    fs::create_symlink(root_ / "secret.bin", root_ / "model/link.bin");
    fs::create_directory_symlink(root_, root_ / "model/up");
    fs::create_hard_link(root_ / "secret.bin", root_ / "model/hard.bin");
  }
  ~Folder() { std::filesystem::remove_all(root_); }
  std::string model() const { return (root_ / "model").string(); }

 private:
  std::filesystem::path root_;
};

bool RunExternal(absl::Span<const char> bytes) {
  static const Folder folder;
  return ReadModel(bytes, folder.model());
}

// Small limits, so that a run is short.
bool RunImport(absl::Span<const char> bytes) {
  const Copy copy(bytes);
  const absl::StatusOr<onnx::ModelDef> m =
      onnx::ParseModel(copy.bytes(), copy.owner(), "", kModelLimits);
  if (!m.ok()) return false;
  OnnxOptions options;
  options.max_nodes = 10'000;
  options.max_folded_bytes = 1 << 16;
  absl::StatusOr<OnnxModel> model = onnx::ImportModel(*m, options);
  if (!model.ok()) return false;
  if (model->program.is_staged()) {
    const absl::Status verified = ir::Verify(model->program.staged());
    Demand(verified.ok(), verified.ToString().c_str());
    return true;
  }
  const std::unique_ptr<ir::Graph> graph = model->program.release();
  Demand(ir::Verify(*graph).ok(), "a graph that was imported verifies");
  compiler::PassContext context;
  context.fold_bytes = 1 << 16;
  context.fold_work = 1 << 16;
  Demand(compiler::RunPipeline(*graph, context).ok(), "the passes run on it");
  Demand(ir::Verify(*graph).ok(), "it verifies after them");
  return true;
}

bool RunProgram(absl::Span<const char> bytes) {
  const absl::StatusOr<ir::Graph> graph = ir::Parse({bytes.data(), bytes.size()});
  if (!graph.ok()) return false;
  Demand(ir::Verify(*graph).ok(), "a program that was read verifies");
  const std::string text = ir::Print(*graph);
  const absl::StatusOr<ir::Graph> again = ir::Parse(text);
  Demand(again.ok(), "what was printed can be read");
  Demand(ir::Print(*again) == text, "and prints the same");
  return true;
}

bool RunFacts(absl::Span<const char> bytes) {
  dim::DimContext context;
  const std::string text(bytes.data(), bytes.size());
  const absl::StatusOr<std::vector<Claim>> claims = dim::ParseClaims(text, &context, true);
  if (!claims.ok()) return false;
  dim::FactSet facts(&context);
  for (const Claim& claim : *claims) {
    if (!facts.Add(claim, dim::Standing::kDeclared, {"text", ""}).ok()) continue;
    Demand(facts.Prove(claim).verdict != dim::Verdict::kRefuted, "a fact isn't refuted by itself");
    const absl::StatusOr<std::vector<Claim>> again =
        dim::ParseClaims(claim.ToString(), &context, false);
    Demand(again.ok(), "what was printed can be read");
  }
  return true;
}

bool RunTensor(absl::Span<const char> bytes) {
  const Copy copy(bytes);
  for (onnx::Type::Kind kind : {onnx::Type::Kind::kSequence, onnx::Type::Kind::kOptional}) {
    onnx::Type type;
    type.kind = kind;
    const absl::StatusOr<std::vector<onnx::TensorData>> value =
        onnx::ParseValue(copy.bytes(), copy.owner(), "", type, kModelLimits);
    if (value.ok())
      for (const onnx::TensorData& t : *value) TouchTensor(t);
  }
  const absl::StatusOr<onnx::TensorData> t =
      onnx::ParseTensor(copy.bytes(), copy.owner(), "", kModelLimits);
  if (t.ok()) TouchTensor(*t);
  return t.ok();
}

bool RunNpy(absl::Span<const char> bytes) {
  const Copy copy(bytes);
  const absl::StatusOr<Tensor> t = io::ParseNpy(copy.bytes(), copy.owner(), "a", kArrayLimits);
  if (!t.ok()) return false;
  TouchTensor(*t);
  const absl::StatusOr<std::string> image = io::FormatNpy(*t);
  Demand(image.ok(), "what was read can be written");
  const absl::StatusOr<Tensor> again = io::ParseNpy(*image, nullptr, "again", kArrayLimits);
  Demand(again.ok() && again->shape() == t->shape() && again->dtype() == t->dtype() &&
             (t->num_bytes() == 0 ||
              std::memcmp(again->raw(), t->raw(), static_cast<size_t>(t->num_bytes())) == 0),
         "what was written reads back as it was");
  return true;
}

bool RunNpz(absl::Span<const char> bytes) {
  const Copy copy(bytes);
  const absl::StatusOr<io::Arrays> arrays = io::ParseNpz(copy.bytes(), "z", kArrayLimits);
  if (!arrays.ok()) return false;
  for (const auto& [name, t] : *arrays) TouchTensor(t);
  return true;
}

bool RunSafetensors(absl::Span<const char> bytes) {
  const Copy copy(bytes);
  const absl::StatusOr<io::Safetensors> s =
      io::ParseSafetensors(copy.bytes(), copy.owner(), "s", kArrayLimits);
  if (!s.ok()) return false;
  for (const auto& [name, t] : s->arrays) TouchTensor(t);
  return true;
}

bool RunDescription(absl::Span<const char> bytes) {
  const absl::StatusOr<bench::Description> d =
      bench::ParseDescription({bytes.data(), bytes.size()}, "text");
  if (!d.ok()) return false;
  Sizes sizes;
  for (const bench::ModelInput& in : *d) {
    int64_t elements = 1;
    for (const auto& e : in.shape) {
      sizes[e.symbol] = 3;
      if (__builtin_mul_overflow(elements, e.symbol.empty() ? e.value : 3, &elements)) return true;
    }
    if (elements > 1 << 16) return true;  // allowed, and too large to make here
  }
  const absl::StatusOr<std::vector<Tensor>> inputs = bench::MakeInputs(*d, sizes, 1);
  if (inputs.ok())
    for (const Tensor& t : *inputs) TouchTensor(t);
  return true;
}

constexpr Target kTargets[] = {{"model", RunModel},
                               {"external", RunExternal},
                               {"import", RunImport},
                               {"program", RunProgram},
                               {"facts", RunFacts},
                               {"tensor", RunTensor},
                               {"npy", RunNpy},
                               {"npz", RunNpz},
                               {"safetensors", RunSafetensors},
                               {"description", RunDescription}};

}  // namespace

absl::Span<const Target> Targets() { return kTargets; }

const Target* FindTarget(const char* name) {
  for (const Target& t : kTargets)
    if (std::strcmp(t.name, name) == 0) return &t;
  return nullptr;
}

}  // namespace lathe::fuzz
