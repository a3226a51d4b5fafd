// What exporters write and what is left of it: each form as the nodes of a file, the program that
// the importer and the passes make of it, and of how many kernels that is, as a golden text
// (cleanup/NAME.txt), and the compiled function against the program as it was imported. onnx_test
// --bless renews the texts.
#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "compiler/passes/pass.h"
#include "gtest/gtest.h"
#include "ir/interpreter.h"
#include "ir/samples.h"
#include "runtime/function_state.h"
#include "tests/onnx/case_runner.h"
#include "tests/onnx/small_model.h"
#include "tests/util/golden.h"

namespace lathe::onnx {
namespace {

// Adds nodes whose results it names: Add("Mul", {x, y}) gives the name of the product.
class Nodes {
 public:
  std::string Add(const std::string& op, const Names& inputs,
                  const std::vector<Bytes>& attributes = {}) {
    const std::string name = absl::StrCat("v", count_++);
    g_.Node(op, inputs, {name}, attributes);
    return name;
  }
  std::string Number(float value) {
    const std::string name = absl::StrCat("c", count_++);
    g_.Initializer(TensorMessage<float>(name, {}, {value}));
    return name;
  }
  std::string Integers(const std::vector<int64_t>& values) {
    const std::string name = absl::StrCat("i", count_++);
    g_.Initializer(TensorMessage<int64_t>(name, {static_cast<int64_t>(values.size())}, values));
    return name;
  }
  // Weights of some numbers.
  std::string Floats(const std::vector<int64_t>& shape) {
    const std::string name = absl::StrCat("w", count_++);
    size_t count = 1;
    for (int64_t d : shape) count *= static_cast<size_t>(d);
    ++weights_;  // each its own
    std::vector<float> values;
    for (size_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>((i * 7 + weights_) % 5) / 4 -
                       static_cast<float>(i % 2) / 8 + 0.375f);
    g_.Initializer(TensorMessage<float>(name, shape, values));
    return name;
  }
  GraphWriter& graph() { return g_; }

 private:
  GraphWriter g_;
  int count_ = 0;
  size_t weights_ = 0;
};

struct Form {
  const char* name;
  std::vector<DeclaredDim> x;  // the shape of the input "x"
  std::function<std::string(Nodes&)> write;
};

std::string Gelu(Nodes& n, const std::string& x) {
  const std::string erf = n.Add("Erf", {n.Add("Div", {x, n.Number(1.41421356f)})});
  const std::string both = n.Add("Mul", {x, n.Add("Add", {erf, n.Number(1)})});
  return n.Add("Mul", {both, n.Number(0.5f)});
}

std::string LayerNorm(Nodes& n, const std::string& x) {
  const auto mean = [&](const std::string& v) {
    return n.Add("ReduceMean", {v, n.Integers({-1})}, {Attr("keepdims", 1)});
  };
  const std::string d = n.Add("Sub", {x, mean(x)});
  const std::string variance = mean(n.Add("Pow", {d, n.Number(2)}));
  const std::string root = n.Add("Sqrt", {n.Add("Add", {variance, n.Number(1e-5f)})});
  const std::string scaled = n.Add("Mul", {n.Add("Div", {d, root}), n.Floats({4})});
  return n.Add("Add", {scaled, n.Floats({4})});
}

// Heads from the last axis, the keys transposed twice, a mask that is added.
std::string Attention(Nodes& n, const std::string& x) {
  const auto heads = [&](const std::vector<int64_t>& order) {
    const std::string projected = n.Add("MatMul", {x, n.Floats({4, 4})});
    const std::string split = n.Add("Reshape", {projected, n.Integers({0, 0, 2, 2})});
    return n.Add("Transpose", {split}, {Attr("perm", order)});
  };
  const std::string q = heads({0, 2, 1, 3}), k = heads({0, 2, 3, 1}), v = heads({0, 2, 1, 3});
  const std::string scores = n.Add("Div", {n.Add("MatMul", {q, k}), n.Number(1.41421356f)});
  n.graph().Input("mask", kFloat, {"b", 1, 1, "s"});
  const std::string p = n.Add("Softmax", {n.Add("Add", {scores, "mask"})}, {Attr("axis", -1)});
  const std::string merged = n.Add("Transpose", {n.Add("MatMul", {p, v})},
                                   {Attr("perm", std::vector<int64_t>{0, 2, 1, 3})});
  return n.Add("Reshape", {merged, n.Integers({0, 0, 4})});
}

std::string Rotary(Nodes& n, const std::string& x) {
  const auto half = [&](int64_t from, int64_t to) {
    return n.Add("Slice", {x, n.Integers({from}), n.Integers({to}), n.Integers({-1})});
  };
  const std::string turned =
      n.Add("Concat", {n.Add("Neg", {half(2, INT64_MAX)}), half(0, 2)}, {Attr("axis", -1)});
  n.graph().Input("cos", kFloat, {"s", 4});
  n.graph().Input("sin", kFloat, {"s", 4});
  return n.Add("Add", {n.Add("Mul", {x, "cos"}), n.Add("Mul", {turned, "sin"})});
}

std::string ConvolutionAndNorm(Nodes& n, const std::string& x) {
  const std::string y = n.Add("Conv", {x, n.Floats({3, 2, 1, 3}), n.Floats({3})},
                              {Attr("pads", std::vector<int64_t>{0, 1, 0, 1})});
  n.graph().Initializer(TensorMessage<float>("variance", {3}, {1, 0.25f, 4}));
  return n.Add("Relu", {n.Add("BatchNormalization",
                              {y, n.Floats({3}), n.Floats({3}), n.Floats({3}), "variance"})});
}

std::string TransposedProduct(Nodes& n, const std::string& x) {
  const std::string w =
      n.Add("Transpose", {n.Floats({3, 4})}, {Attr("perm", std::vector<int64_t>{1, 0})});
  const std::string y = n.Add("Add", {n.Add("MatMul", {x, w}), n.Floats({3})});
  return n.Add("Transpose", {n.Add("Transpose", {y}, {Attr("perm", std::vector<int64_t>{1, 0})})},
               {Attr("perm", std::vector<int64_t>{1, 0})});
}

std::string QuantisedProduct(Nodes& n, const std::string& x) {
  n.graph().Initializer(TensorMessage<int8_t>("w", {4, 2}, {1, -2, 3, -4, 5, -6, 7, -8}));
  n.graph().Initializer(TensorMessage<int8_t>("w_zero", {}, {0}));
  n.graph().Node("DynamicQuantizeLinear", {x}, {"q", "q_scale", "q_zero"});
  const std::string product = n.Add("MatMulInteger", {"q", "w", "q_zero", "w_zero"});
  const std::string scale = n.Add("Mul", {"q_scale", n.Number(0.5f)});
  const std::string floats = n.Add("Cast", {product}, {Attr("to", int64_t{kFloat})});
  return n.Add("Add", {n.Add("Mul", {floats, scale}), n.Floats({2})});
}

// Everything here is x + 3, or a size.
std::string ConstantsAndIdentities(Nodes& n, const std::string& x) {
  const std::string shape = n.Add("Shape", {x});
  const std::string rows = n.Add("Gather", {shape, n.Integers({0})});
  const std::string flat =
      n.Add("Reshape", {x, n.Add("Concat", {rows, n.Integers({-1})}, {Attr("axis", 0)})});
  const std::string back = n.Add("Reshape", {n.Add("Identity", {flat}), shape});
  const std::string ones = n.Add("ConstantOfShape", {n.Integers({4})});
  const std::string three = n.Add("Add", {n.Add("Exp", {ones}), n.Number(2)});
  const std::string same = n.Add("Cast", {n.Add("Dropout", {back})}, {Attr("to", int64_t{kFloat})});
  return n.Add("Add", {n.Add("Mul", {same, n.Number(1)}), three});
}

const std::vector<Form>& Forms() {
  static const std::vector<Form> forms = {
      {"gelu", {"b", 4}, [](Nodes& n) { return Gelu(n, "x"); }},
      {"layer_norm", {"b", 4}, [](Nodes& n) { return LayerNorm(n, "x"); }},
      {"attention", {"b", "s", 4}, [](Nodes& n) { return Attention(n, "x"); }},
      {"rotary_embedding", {"b", 2, "s", 4}, [](Nodes& n) { return Rotary(n, "x"); }},
      {"batch_norm_in_convolution",
       {"b", 2, 1, "t"},
       [](Nodes& n) { return ConvolutionAndNorm(n, "x"); }},
      {"transpose_in_product", {"b", 4}, [](Nodes& n) { return TransposedProduct(n, "x"); }},
      {"quantised_product", {"b", 4}, [](Nodes& n) { return QuantisedProduct(n, "x"); }},
      {"constants_and_identities",
       {"b", 4},
       [](Nodes& n) { return ConstantsAndIdentities(n, "x"); }},
  };
  return forms;
}

class Cleanup : public testing::TestWithParam<Form> {};

TEST_P(Cleanup, OfAFormIsWhatItsFileSays) {
  Nodes nodes;
  nodes.graph().Input("x", kFloat, GetParam().x);
  nodes.graph().Output(GetParam().write(nodes));
  absl::StatusOr<OnnxModel> model = LoadBytes(ModelMessage(nodes.graph(), {{"", 20}}));
  ASSERT_TRUE(model.ok()) << model.status();
  ir::Graph graph = model->program.graph().Clone();
  compiler::PassContext context;
  const absl::Status passes = compiler::RunPasses(graph, context);
  ASSERT_TRUE(passes.ok()) << passes;
  const ir::Graph imported = model->program.graph().Clone();
  Engine engine({.threads = 1});
  absl::StatusOr<Function> f = engine.compile(std::move(model->program));
  ASSERT_TRUE(f.ok()) << f.status();
  ASSERT_TRUE(f->prepare().ok());
  const std::string found = absl::StrCat(
      "# kernels: ", f->state()->table()->versions()[0]->groups.size(), "\n", ir::Print(graph));
  const std::filesystem::path file = std::filesystem::path(LATHE_SOURCE_DIR) /
                                     "tests/onnx/cleanup" / absl::StrCat(GetParam().name, ".txt");
  if (Blesses()) {
    std::ofstream(file, std::ios::binary) << found;
  } else {
    EXPECT_EQ(found, ReadFile(file)) << file << " differs; onnx_test --bless renews it";
  }
  for (const int64_t size : {3, 1, 0, 19, 3}) {
    const std::vector<int64_t> sizes(static_cast<size_t>(imported.dims()->num_symbols()), size);
    const std::vector<Tensor> inputs = ir::SampleInputs(imported, sizes, 1, false);
    const absl::StatusOr<std::vector<Tensor>> got = f->call(inputs);
    const absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(imported, inputs);
    ASSERT_TRUE(got.ok() && wanted.ok()) << got.status() << wanted.status();
    EXPECT_EQ(Difference((*got)[0], (*wanted)[0], 1e-5), "") << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Cleanup, testing::ValuesIn(Forms()),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace lathe::onnx
