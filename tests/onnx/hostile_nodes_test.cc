// Nodes as no exporter writes them: inputs that are missing or sequences, axes of scalars, numbers
// beyond every size. Each is an error that names what is wrong, or loads as the format reads it.
#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

using testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr char kMicrosoft[] = "com.microsoft", kMl[] = "ai.onnx.ml";
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// A graph whose nodes stand after its inputs; the last one's outputs are the model's.
class Model {
 public:
  Model& Input(const std::string& name, int32_t type, const std::vector<DeclaredDim>& dims) {
    graph_.Input(name, type, dims);
    return *this;
  }
  Model& Numbers(const std::string& name, const Ints& values) {
    const auto count = static_cast<int64_t>(values.size());
    graph_.Initializer(TensorMessage<int64_t>(name, {count}, values));
    return *this;
  }
  template <typename T>
  Model& Number(const std::string& name, T value) {
    graph_.Initializer(TensorMessage<T>(name, {}, {value}));
    return *this;
  }
  Model& Node(const std::string& op, const Names& inputs, const Names& outputs,
              const std::vector<Bytes>& attributes = {}) {
    graph_.Node(op, inputs, outputs, attributes);
    return *this;
  }
  // What loading says once this node is the last.
  std::string Fault(const std::string& op, const Names& inputs,
                    const std::vector<Bytes>& attributes = {}, const std::string& domain = "",
                    int64_t opset = 21, const OnnxOptions& options = {}) const {
    GraphWriter g = graph_;
    g.Node(op, inputs, {"result"}, attributes, domain);
    g.Output("result");
    Opsets opsets = {{"", opset}};
    if (!domain.empty()) opsets.push_back({domain, 3});
    return LoadError(ModelMessage(g, opsets), options);
  }
  const GraphWriter& graph() const { return graph_; }

 private:
  GraphWriter graph_;
};

Model Vector() { return Model().Input("x", kFloat, {2}); }
Model Scalar() { return Model().Input("x", kFloat, {}); }
Model Image() { return Model().Input("x", kFloat, {1, 4, 4, 4}); }

// -- inputs

TEST(HostileNodes, InputsThatAreMissing) {
  const Model m = Vector().Input("c", kBool, {2}).Numbers("v", {0, 1});
  EXPECT_THAT(m.Fault("OneHot", {"x"}), HasSubstr("input 1 is missing"));
  EXPECT_THAT(m.Fault("OneHot", {"x", "", "v"}), HasSubstr("input 1 is missing"));
  EXPECT_THAT(m.Fault("NonZero", {}), HasSubstr("input 0 is missing"));
  EXPECT_THAT(m.Fault("Compress", {"", "c"}), HasSubstr("input 0 is missing"));
  EXPECT_THAT(m.Fault("Compress", {"x"}), HasSubstr("input 1 is missing"));
  EXPECT_THAT(m.Fault("Unique", {}), HasSubstr("input 0 is missing"));
  EXPECT_THAT(m.Fault("Shape", {}), HasSubstr("input 0 is missing"));
  EXPECT_THAT(m.Fault("Size", {}), HasSubstr("input 0 is missing"));
}

TEST(HostileNodes, InputsThatAreSequences) {
  const Model m =
      Vector().Input("c", kBool, {2}).Numbers("v", {0, 1}).Node("SequenceConstruct", {"x"}, {"s"});
  EXPECT_THAT(m.Fault("OneHot", {"x", "s", "v"}), HasSubstr("input 1 is a sequence"));
  EXPECT_THAT(m.Fault("NonZero", {"s"}), HasSubstr("input 0 is a sequence"));
  EXPECT_THAT(m.Fault("Compress", {"s", "c"}), HasSubstr("input 0 is a sequence"));
  EXPECT_THAT(m.Fault("Compress", {"x", "s"}), HasSubstr("input 1 is a sequence"));
  EXPECT_THAT(m.Fault("Unique", {"s"}), HasSubstr("input 0 is a sequence"));
}

TEST(HostileNodes, ConditionsAndTripsAreTensors) {
  GraphWriter branch, body;
  branch.Node("Neg", {"x"}, {"r"});
  branch.Output("r");
  body.Input("i", kInt64, {});
  body.Input("go", kBool, {});
  body.Input("v", kFloat, {2});
  body.Node("Identity", {"go"}, {"go_on"});
  body.Node("Neg", {"v"}, {"r"});
  body.Output("go_on");
  body.Output("r");
  const Model m =
      Vector().Node("SequenceConstruct", {"x"}, {"s"}).Node("Optional", {}, {"nothing"});
  const std::vector<Bytes> branches = {GraphAttr("then_branch", branch),
                                       GraphAttr("else_branch", branch)};
  EXPECT_THAT(m.Fault("If", {"s"}, branches), HasSubstr("input 0 is a sequence"));
  EXPECT_THAT(m.Fault("If", {"nothing"}, branches), HasSubstr("input 0 is missing"));
  EXPECT_THAT(m.Fault("If", {}, branches), HasSubstr("input 0 is missing"));
  const std::vector<Bytes> loop = {GraphAttr("body", body)};
  EXPECT_THAT(m.Fault("Loop", {"s", "", "x"}, loop), HasSubstr("input 0 is a sequence"));
  EXPECT_THAT(m.Fault("Loop", {"", "s", "x"}, loop), HasSubstr("input 1 is a sequence"));
  const Model f =
      Vector().Input("f", kFloat, {}).Input("many", kBool, {2, 2}).Input("n", kInt64, {});
  EXPECT_THAT(f.Fault("If", {"f"}, branches), HasSubstr("the condition is f32[]; wanted one bool"));
  EXPECT_THAT(f.Fault("If", {"many"}, branches), HasSubstr("the condition is bool[2, 2]"));
  EXPECT_THAT(f.Fault("Loop", {"n", "f", "x"}, loop), HasSubstr("the condition is f32[]"));
  EXPECT_THAT(f.Fault("Loop", {"f", "", "x"}, loop), HasSubstr("the number of trips is f32[]"));
  GraphWriter turned;  // gives a float in place of its condition
  turned.Input("i", kInt64, {});
  turned.Input("go", kBool, {});
  turned.Input("v", kFloat, {2});
  turned.Node("Neg", {"v"}, {"r"});
  turned.Output("v");
  turned.Output("r");
  EXPECT_THAT(f.Fault("Loop", {"n", "", "x"}, {GraphAttr("body", turned)}),
              HasSubstr("the body's condition is f32[2]; wanted one bool"));
  EXPECT_THAT(m.Fault("NonZero", {"nothing"}), HasSubstr("input 0 is missing"));
  EXPECT_THAT(m.Fault("Scan", {"x"}, {GraphAttr("body", body), Attr("num_scan_inputs", kLeast)}),
              HasSubstr("num_scan_inputs is -9223372036854775808 of 1 inputs"));
}

// -- axes

TEST(HostileNodes, ScalarsHaveNoAxis) {
  const Model m = Scalar()
                      .Input("scale", kFloat, {2})
                      .Input("q", kInt8, {})
                      .Input("c", kBool, {1})
                      .Numbers("axes", {0})
                      .Numbers("pads", {0, 0})
                      .Numbers("shape", {1});
  const Bytes axis = Attr("axis", 0);
  const auto no_axis = HasSubstr("axis 0 of a tensor of rank 0");
  EXPECT_THAT(m.Fault("QuantizeLinear", {"x", "scale"}, {axis}), no_axis);
  EXPECT_THAT(m.Fault("DequantizeLinear", {"q", "scale"}, {axis}), no_axis);
  EXPECT_THAT(m.Fault("Pad", {"x", "pads", "", "axes"}), no_axis);
  EXPECT_THAT(m.Fault("CenterCropPad", {"x", "shape"}, {Attr("axes", Ints{0})}), no_axis);
  EXPECT_THAT(m.Fault("Compress", {"x", "c"}, {axis}), no_axis);
  EXPECT_THAT(m.Fault("Unique", {"x"}, {axis}), no_axis);
  EXPECT_THAT(m.Fault("LayerNormalization", {"x", "scale"}, {axis}), no_axis);
  EXPECT_THAT(m.Fault("Split", {"x"}, {axis}), no_axis);
  EXPECT_THAT(m.Fault("Gather", {"x", "axes"}, {axis}), no_axis);
}

// numpy reduces a scalar over axis 0 and -1, and so do exporters.
TEST(HostileNodes, ScalarsAreReduced) {
  for (const int64_t axis : {0, -1})
    EXPECT_EQ(Scalar().Numbers("axes", {axis}).Fault("ReduceSum", {"x", "axes"}), "no error");
}

TEST(HostileNodes, APermutationHasEveryAxis) {
  const Model m = Model().Input("x", kFloat, {2, 3});
  const auto fault = [&](const Ints& perm) {
    return m.Fault("Transpose", {"x"}, {Attr("perm", perm)});
  };
  EXPECT_EQ(fault({1, 0}), "no error");
  EXPECT_THAT(fault({int64_t{1} << 32, 1}), HasSubstr("axis 4294967296 of a tensor of rank 2"));
  EXPECT_THAT(fault({0}), HasSubstr("perm has 1 axes for f32[2, 3]"));
}

// -- numbers

TEST(HostileNodes, ARangeOfNoNumbers) {
  const Model m = Vector().Numbers("none", {}).Number<int64_t>("one", 1);
  EXPECT_NE(m.Fault("Range", {"none", "one", "one"}), "no error");
  EXPECT_NE(m.Fault("Range", {"one", "none", "one"}), "no error");
  EXPECT_NE(m.Fault("Range", {"one", "one", "none"}), "no error");
  EXPECT_THAT(m.Fault("Range", {"one", "one"}), HasSubstr("input 2 is missing"));
}

TEST(HostileNodes, ARangeByTheLeastStep) {
  GraphWriter g = Model()
                      .Input("x", kInt64, {})
                      .Number<int64_t>("start", 0)
                      .Number<int64_t>("limit", -5)
                      .Number<int64_t>("delta", kLeast)
                      .Node("Range", {"start", "limit", "delta"}, {"r"})
                      .Node("Add", {"r", "x"}, {"y"})
                      .graph();
  g.Output("y");
  SmallModel model(g, 21);
  EXPECT_EQ(Elements<int64_t>(model, {Tensor::Scalar<int64_t>(7)}), Ints{7});
}

TEST(HostileNodes, TuplesOfIndicesAreNoLongerThanTheRank) {
  const Model m = Vector()
                      .Input("i", kInt64, {0, 4294967295})
                      .Input("j", kInt64, {0, 2147483648})
                      .Input("k", kInt64, {1, 1})
                      .Input("none", kFloat, {0});
  EXPECT_THAT(m.Fault("ScatterND", {"x", "i", "none"}),
              HasSubstr("tuples of 4294967295 indices into f32[2]"));
  EXPECT_THAT(m.Fault("GatherND", {"x", "j"}),
              HasSubstr("tuples of 2147483648 indices into f32[2]"));
  EXPECT_EQ(m.Fault("GatherND", {"x", "k"}), "no error");
  for (const int64_t batch : {int64_t{1} << 32, int64_t{-1}, kMost, kLeast})
    EXPECT_THAT(m.Fault("GatherND", {"x", "k"}, {Attr("batch_dims", batch)}),
                HasSubstr(absl::StrCat("behind ", batch, " axes")));
}

TEST(HostileNodes, ElementTypesAreNotCutToTheirLowBits) {
  const Model m = Vector().Input("m", kFloat, {2, 2}).Number<int64_t>("n", 4);
  const int64_t beyond = (int64_t{1} << 32) + kFloat;
  const auto no_type = HasSubstr(" is 4294967297, which is no element type");
  EXPECT_THAT(m.Fault("Cast", {"x"}, {Attr("to", beyond)}), no_type);
  EXPECT_THAT(m.Fault("BitCast", {"x"}, {Attr("to", beyond)}, "", 26), no_type);
  EXPECT_THAT(m.Fault("EyeLike", {"m"}, {Attr("dtype", beyond)}), no_type);
  EXPECT_THAT(m.Fault("QuantizeLinear", {"x", "x"}, {Attr("output_dtype", beyond)}), no_type);
  EXPECT_THAT(m.Fault("LayerNormalization", {"m", "x"}, {Attr("stash_type", beyond)}), no_type);
  EXPECT_THAT(m.Fault("RandomNormalLike", {"x"}, {Attr("dtype", beyond)}), no_type);
  EXPECT_THAT(m.Fault("HannWindow", {"n"}, {Attr("output_datatype", beyond)}), no_type);
}

TEST(HostileNodes, ASplitHasAsManyPartsAsOutputs) {
  for (const int64_t parts : {int64_t{1} << 60, int64_t{2}, int64_t{0}, kLeast})
    EXPECT_THAT(Vector().Fault("Split", {"x"}, {Attr("num_outputs", parts)}),
                HasSubstr(absl::StrCat("num_outputs is ", parts)));
  EXPECT_EQ(Vector().Fault("Split", {"x"}, {Attr("num_outputs", 1)}), "no error");
}

TEST(HostileNodes, NumbersOfWindowsAreSizes) {
  const Model m = Model()
                      .Input("x", kFloat, {1, 4, 5})
                      .Input("w", kFloat, {2, 4, 3})
                      .Input("t", kFloat, {4, 1, 2})
                      .Input("i", kInt64, {1, 4, 5});
  constexpr int64_t kWraps = (int64_t{1} << 62) + 1;
  const Bytes two = Attr("kernel_shape", Ints{2});
  const auto said = [](const std::string& name) { return HasSubstr(name + " has the number "); };
  EXPECT_THAT(m.Fault("Conv", {"x", "w"}, {Attr("strides", Ints{kWraps})}), said("strides"));
  EXPECT_THAT(m.Fault("Conv", {"x", "w"}, {Attr("dilations", Ints{kMost})}), said("dilations"));
  EXPECT_THAT(m.Fault("Conv", {"x", "w"}, {Attr("pads", Ints{kMost, kMost})}), said("pads"));
  EXPECT_THAT(m.Fault("ConvTranspose", {"x", "t"},
                      {Attr("strides", Ints{2}), Attr("pads", Ints{kMost, kMost})}),
              said("pads"));
  EXPECT_THAT(m.Fault("ConvTranspose", {"x", "t"}, {Attr("output_padding", Ints{kMost})}),
              said("output_padding"));
  EXPECT_THAT(m.Fault("ConvTranspose", {"x", "t"}, {Attr("output_shape", Ints{kMost})}),
              said("output_shape"));
  EXPECT_THAT(m.Fault("MaxPool", {"x"}, {Attr("kernel_shape", Ints{kMost})}), said("kernel_shape"));
  EXPECT_THAT(m.Fault("AveragePool", {"x"}, {two, Attr("strides", Ints{kMost})}), said("strides"));
  EXPECT_THAT(m.Fault("MaxUnpool", {"x", "i"}, {two, Attr("strides", Ints{kMost})}),
              said("strides"));
  EXPECT_THAT(m.Fault("MaxUnpool", {"x", "i"}, {two, Attr("pads", Ints{kMost, kMost})}),
              said("pads"));
}

// The product of stride and channels is beyond int64, though neither is beyond a size.
TEST(HostileNodes, AStrideOverManyChannels) {
  constexpr int64_t kChannels = (int64_t{1} << 24) + 1, kStride = int64_t{1} << 40;
  EXPECT_EQ(Model()
                .Input("x", kFloat, {1, kChannels, 5})
                .Input("w", kFloat, {1, kChannels, 3})
                .Fault("Conv", {"x", "w"}, {Attr("strides", Ints{kStride})}),
            "no error");
}

TEST(HostileNodes, NumbersOfBlocksAreSizes) {
  const Model m = Model()
                      .Input("x", kFloat, {1, 4, 4})
                      .Numbers("image", {4})
                      .Numbers("block", {2})
                      .Input("a", kFloat, {2, 32})
                      .Input("b", kUint8, {2, 2, 8})
                      .Input("scales", kFloat, {2, 2});
  for (const char* name : {"strides", "dilations"})
    EXPECT_THAT(m.Fault("Col2Im", {"x", "image", "block"}, {Attr(name, Ints{kMost})}),
                HasSubstr("has the number"));
  EXPECT_THAT(m.Fault("Col2Im", {"x", "image", "block"}, {Attr("pads", Ints{kMost, kMost})}),
              HasSubstr("pads has the number"));
  const auto product = [&](int64_t k, int64_t n, int64_t block) {
    return m.Fault("MatMulNBits", {"a", "b", "scales"},
                   {Attr("K", k), Attr("N", n), Attr("block_size", block)}, kMicrosoft);
  };
  EXPECT_EQ(product(32, 2, 16), "no error");
  EXPECT_THAT(product(kMost, 2, 16), HasSubstr("K has the number"));
  EXPECT_THAT(product(32, kMost, 16), HasSubstr("N has the number"));
  EXPECT_THAT(product(32, 2, kMost), HasSubstr("block_size has the number"));
  EXPECT_NE(product(int64_t{1} << 40, int64_t{1} << 40, 16), "no error");
  for (const int64_t block : {int64_t{1} << 32, kMost})
    for (const char* op : {"DepthToSpace", "SpaceToDepth"})
      EXPECT_NE(Image().Fault(op, {"x"}, {Attr("blocksize", block)}), "no error") << op << block;
  EXPECT_THAT(Model()
                  .Input("x", kFloat, {1, 2, 4})
                  .Input("w", kFloat, {4, 12})
                  .Fault("Attention", {"x", "w"},
                         {Attr("num_heads", 2), Attr("qkv_hidden_sizes", Ints{kMost, kMost, 4})},
                         kMicrosoft),
              HasSubstr("qkv_hidden_sizes has the number"));
}

TEST(HostileNodes, PadsAreSizes) {
  const Bytes pads = Attr("pads", Ints{kLeast, 0});
  EXPECT_THAT(Vector().Fault("Pad", {"x"}, {pads}, "", 10), HasSubstr("pads has the number"));
  EXPECT_THAT(Vector().Numbers("p", {0, kMost}).Fault("Pad", {"x", "p"}),
              HasSubstr("pads has the number"));
}

TEST(HostileNodes, ADepthIsASize) {
  const auto fault = [](float depth) {
    return Model()
        .Input("i", kInt64, {2})
        .Number("depth", depth)
        .Numbers("v", {0, 1})
        .Fault("OneHot", {"i", "depth", "v"});
  };
  EXPECT_EQ(fault(3), "no error");
  EXPECT_THAT(fault(1e30F), HasSubstr("the depth is 1e+30"));
  EXPECT_THAT(fault(std::nanf("")), HasSubstr("the depth is"));
  EXPECT_THAT(fault(-std::numeric_limits<float>::infinity()), HasSubstr("the depth is -inf"));
}

// -- ai.onnx.ml

std::vector<Bytes> OneSplit(int64_t feature, int64_t targets) {
  const Names modes = {"BRANCH_LEQ", "LEAF", "LEAF"};
  return {Attr("nodes_treeids", Ints{0, 0, 0}),
          Attr("nodes_nodeids", Ints{0, 1, 2}),
          Attr("nodes_featureids", Ints{feature, 0, 0}),
          Attr("nodes_modes", modes),
          Attr("nodes_truenodeids", Ints{1, 0, 0}),
          Attr("nodes_falsenodeids", Ints{2, 0, 0}),
          Attr("nodes_values", Floats{0, 0, 0}),
          Attr("target_treeids", Ints{0, 0}),
          Attr("target_nodeids", Ints{1, 2}),
          Attr("target_ids", Ints{0, 0}),
          Attr("target_weights", Floats{1, 2}),
          Attr("n_targets", targets)};
}

TEST(HostileNodes, TreesOfFeaturesAndTargetsBeyondAll) {
  const Model m = Model().Input("x", kFloat, {1, 2});
  const auto fault = [&](int64_t feature, int64_t targets, const OnnxOptions& options = {}) {
    return m.Fault("TreeEnsembleRegressor", {"x"}, OneSplit(feature, targets), kMl, 21, options);
  };
  EXPECT_EQ(fault(1, 1), "no error");
  EXPECT_THAT(fault(kMost, 1), HasSubstr("feature 9223372036854775807 is out of range"));
  EXPECT_THAT(fault(-1, 1), HasSubstr("feature -1 is out of range"));
  EXPECT_THAT(fault(1, int64_t{1} << 24), HasSubstr("max_folded_bytes"));
  OnnxOptions few;
  few.max_folded_bytes = 3 * 4 * 5;
  EXPECT_EQ(fault(1, 5, few), "no error");
  EXPECT_THAT(fault(1, 6, few), HasSubstr("a table of 3 by 6 elements of type f32"));
}

TEST(HostileNodes, ModesOfTreesAreWholeNumbersInRange) {
  const Model m = Model().Input("x", kFloat, {1, 2});
  const auto fault = [&](double mode) {
    const auto numbers = [](const char* name, double value) {
      return TensorAttr(name, TensorMessage<double>(name, {1}, {value}));
    };
    return m.Fault("TreeEnsemble", {"x"},
                   {Attr("nodes_featureids", Ints{0}), Attr("tree_roots", Ints{0}),
                    Attr("nodes_truenodeids", Ints{0}), Attr("nodes_falsenodeids", Ints{0}),
                    Attr("nodes_trueleafs", Ints{1}), Attr("nodes_falseleafs", Ints{1}),
                    Attr("leaf_targetids", Ints{0}), numbers("nodes_splits", 0),
                    numbers("nodes_modes", mode), numbers("leaf_weights", 1)},
                   kMl);
  };
  EXPECT_EQ(fault(0), "no error");
  EXPECT_THAT(fault(1e30), HasSubstr("there is no mode 1e+30"));
  EXPECT_THAT(fault(std::nan("")), HasSubstr("there is no mode"));
}

std::string WordsFault(const Ints& places, const OnnxOptions& options = {}) {
  return Model()
      .Input("x", kInt64, {3})
      .Fault("TfIdfVectorizer", {"x"},
             {Attr("pool_int64s", Ints{7}), Attr("ngram_counts", Ints{0}),
              Attr("ngram_indexes", places), Attr("min_gram_length", 1), Attr("max_gram_length", 1),
              Attr("max_skip_count", 0), Attr("mode", "TF")},
             "", 21, options);
}

TEST(HostileNodes, PlacesOfWordsAreWithinTheLimit) {
  EXPECT_EQ(WordsFault({7}), "no error");
  EXPECT_THAT(WordsFault({kMost}), HasSubstr("ngram_indexes has entries from"));
  EXPECT_THAT(WordsFault({-1}), HasSubstr("ngram_indexes has entries from -1 to -1"));
  EXPECT_THAT(WordsFault({(1 << 24) - 1}), HasSubstr("max_folded_bytes"));
  OnnxOptions few;
  few.max_folded_bytes = 64;
  EXPECT_EQ(WordsFault({7}, few), "no error");
  EXPECT_THAT(WordsFault({8}, few), HasSubstr("a table of 1 by 9 elements of type i64"));
}

// One support vector, of the first class.
std::string VotesFault(int64_t classes, size_t rho, const OnnxOptions& options = {}) {
  Ints labels, per_class(static_cast<size_t>(classes), 0);
  for (int64_t i = 0; i < classes; ++i) labels.push_back(i);
  per_class[0] = 1;
  return Model()
      .Input("x", kFloat, {1, 1})
      .Fault("SVMClassifier", {"x"},
             {Attr("classlabels_ints", labels), Attr("vectors_per_class", per_class),
              Attr("coefficients", Floats(static_cast<size_t>(classes) - 1, 1)),
              Attr("rho", Floats(rho, 0)), Attr("support_vectors", Floats{1})},
             kMl, 21, options);
}

TEST(HostileNodes, TablesOfPairsOfClassesAreWithinTheLimit) {
  EXPECT_EQ(VotesFault(4, 6), "no error");
  EXPECT_THAT(VotesFault(3000, 1), HasSubstr("1 numbers in rho; wanted 4498500"));
  EXPECT_THAT(VotesFault(600, 600 * 599 / 2), HasSubstr("max_folded_bytes"));
  OnnxOptions few;
  few.max_folded_bytes = 6 * 4 * 4;
  EXPECT_EQ(VotesFault(4, 6, few), "no error");
  EXPECT_THAT(VotesFault(5, 10, few), HasSubstr("a table of 10 by 5 elements of type f32"));
}

TEST(HostileNodes, SupportVectorsAreCountedByTheCoefficients) {
  EXPECT_THAT(
      Model()
          .Input("x", kFloat, {1, 1})
          .Fault("SVMClassifier", {"x"},
                 {Attr("classlabels_ints", Ints{0, 1}), Attr("vectors_per_class", Ints{1, kMost}),
                  Attr("coefficients", Floats{1, 1}), Attr("rho", Floats{0}),
                  Attr("support_vectors", Floats{1, 1})},
                 kMl),
      HasSubstr("vectors_per_class has the entry 9223372036854775807"));
}

}  // namespace
}  // namespace lathe::onnx
