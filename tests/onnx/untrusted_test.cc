// Files from anyone: limits before allocation, a place in every error, and never a crash. Run under
// the sanitizers of the asan preset, the same tests show that nothing is read past the file.
#include <chrono>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/model_writer.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A model whose deepest sub-graph is at `depth`.
Bytes Nested(int depth) {
  GraphWriter inner("deepest");
  inner.Node("Relu", {"x"}, {"y"});
  Bytes graph = inner;
  for (int i = 0; i < depth; ++i) {
    GraphWriter outer;
    outer.Node("If", {"c"}, {"y"}, {GraphAttr("then_branch", graph)});
    graph = outer;
  }
  return ModelMessage(graph);
}

std::string Error(const Bytes& bytes, const ReadLimits& limits = {}) {
  const absl::Status s = ParseBytes(bytes, limits).status();
  return absl::StrCat(absl::StatusCodeToString(s.code()), " ", s.message());
}

TEST(Untrusted, ASubGraphAtDepth32ReadsAndOneAt33NamesTheLimit) {
  EXPECT_TRUE(ParseBytes(Nested(32)).ok());
  EXPECT_THAT(Error(Nested(33)), HasSubstr("the limit of sub-graph depth is 32"));
  EXPECT_THAT(Error(Nested(33)), StartsWith("RESOURCE_EXHAUSTED byte "));
  EXPECT_THAT(Error(Nested(2000)), HasSubstr("the limit of sub-graph depth is 32"));
  EXPECT_THAT(Error(Nested(2), {.depth = 1}), HasSubstr("the limit of sub-graph depth is 1"));
}

TEST(Untrusted, TypesNestNoDeeperThanTheLimit) {
  auto model = [](int depth) {
    Bytes type = TensorTypeMessage(kFloat);
    for (int i = 0; i < depth; ++i)
      type = i % 2 == 0 ? SequenceTypeMessage(type) : OptionalTypeMessage(type);
    GraphWriter g;
    g.Input("x", type);
    return ModelMessage(g);
  };
  EXPECT_TRUE(ParseBytes(model(32)).ok());
  EXPECT_THAT(Error(model(33)), HasSubstr("the limit of types within types is 32"));
  EXPECT_THAT(Error(model(5000)), HasSubstr("the limit of types within types is 32"));
}

TEST(Untrusted, EveryLimitIsNamedWhenPassed) {
  GraphWriter g("a_long_name");
  g.Input("x", kFloat, {1, 2, 3});
  g.Node("A", {"x"}, {"y"}, {Attr("a", 1), Attr("s", "0123456789")});
  g.Node("B", {"y"}, {"z"});
  const Bytes function = FunctionMessage("d", "F", {}, {}, {NodeMessage("C", {}, {})}, {{"", 21}});
  const Bytes bytes = ModelMessage(g, {{"", 21}}, {function});
  EXPECT_TRUE(ParseBytes(bytes, {.nodes = 3}).ok());
  EXPECT_THAT(Error(bytes, {.nodes = 2}),
              HasSubstr("functions[0].node[0]: the limit of nodes is 2"));
  EXPECT_THAT(Error(bytes, {.attributes = 1}),
              HasSubstr("node[0].attribute[1]: the limit of a node's attributes is 1"));
  EXPECT_THAT(Error(bytes, {.rank = 2}), HasSubstr("shape.dim[2]: the rank limit is 2"));
  EXPECT_THAT(Error(bytes, {.name_bytes = 10}),
              HasSubstr("ModelProto.graph.name: has 11 bytes, the limit is 10"));
  EXPECT_THAT(Error(bytes, {.string_bytes = 9}),
              HasSubstr("attribute[1].s: has 10 bytes, the limit is 9"));
  EXPECT_THAT(Error(bytes, {.memory = 100}), HasSubstr("more than the limit of 100 bytes"));
  g.Initializer(RawTensorMessage("w", kFloat, std::vector<int64_t>(17, 1), "abcd"));
  EXPECT_THAT(Error(ModelMessage(g)), HasSubstr("initializer[0].dims[16]: the rank limit is 16"));
}

TEST(Untrusted, SmallFilesThatPromiseMuchStayWithinTheMemoryLimit) {
  // Two bytes each that want a whole structure.
  Bytes graph;
  for (int i = 0; i < 200'000; ++i) graph += Bytes("\x0a\x00", 2);  // an empty node
  EXPECT_THAT(Error(ModelMessage(graph), {.memory = 1 << 20}), HasSubstr("RESOURCE_EXHAUSTED"));
  // One byte for each number of eight.
  const Bytes ints =
      AttrOfKind("i", Attribute::Kind::kInts).Add(proto::Attribute::ints, Bytes(1 << 20, '\1'));
  GraphWriter g;
  g.Node("A", {}, {}, {ints});
  EXPECT_TRUE(ParseBytes(ModelMessage(g)).ok());
  EXPECT_THAT(Error(ModelMessage(g), {.memory = 4 << 20}), HasSubstr("attribute[0].ints"));
}

TEST(Untrusted, AChainOf200000NodesReadsQuickly) {
  GraphWriter g;
  for (int i = 0; i < 200'000; ++i)
    g.Node("Relu", {absl::StrCat("v", i)}, {absl::StrCat("v", i + 1)});
  const Bytes bytes = ModelMessage(g);
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<ModelDef> m = ParseBytes(bytes);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ(m->graph.nodes.size(), 200'000u);
  std::cout << "200,000 nodes in " << seconds.count() << " s\n";
  EXPECT_LT(seconds.count(), 10);
  EXPECT_THAT(Error(bytes, {.nodes = 199'999}), HasSubstr("the limit of nodes is 199999"));
}

TEST(Untrusted, AChainOf200000NodesIsImportedCompiledAndCalled) {
  GraphWriter g;
  g.Input("v0", kFloat, {"n"});
  g.Initializer(TensorMessage<float>("one", {1}, {1}));
  for (int i = 0; i < 200'000; i += 2) {
    g.Node("Relu", {absl::StrCat("v", i)}, {absl::StrCat("v", i + 1)});
    g.Node("Add", {absl::StrCat("v", i + 1), "one"}, {absl::StrCat("v", i + 2)});
  }
  g.Output("v200000", kFloat, {"n"});
  SmallModel model(g, 21);
  Tensor x(f32, {3});
  for (int i = 0; i < 3; ++i) x.data<float>()[i] = static_cast<float>(6 * i - 5);
  EXPECT_EQ(model.Floats({x}, {3}), (std::vector<float>{100'000, 100'001, 100'007}));
}

TEST(Untrusted, AMessageGivenTwiceIsRefused) {
  const Bytes bytes =
      MessageWriter(ModelMessage(GraphWriter())).Add(proto::Model::graph, GraphWriter());
  EXPECT_THAT(Error(bytes), HasSubstr("ModelProto.graph: is given twice"));
}

TEST(Untrusted, AttributesThatContradictThemselvesAreRefused) {
  auto error = [](const Bytes& attribute) {
    GraphWriter g;
    g.Node("A", {}, {}, {attribute});
    return Error(ModelMessage(g));
  };
  using Kind = Attribute::Kind;
  EXPECT_THAT(error(AttrOfKind("a", Kind::kInts).Add(proto::Attribute::f, 1.0f)),
              HasSubstr("an attribute of type INTS has a value of FLOAT"));
  EXPECT_THAT(error(AttrOfKind("a", Kind::kGraph)), HasSubstr("type GRAPH has no value"));
  EXPECT_THAT(error(AttrOfKind("a", static_cast<Kind>(77))), HasSubstr("attribute type 77"));
  EXPECT_THAT(error(MessageWriter().Add(proto::Attribute::name, Bytes("a"))),
              HasSubstr("neither type nor value"));
}

// A model with a bit of everything.
Bytes Everything() {
  GraphWriter inner("inner");
  inner.Node("Identity", {"x"}, {"o"});
  inner.Output("o", kFloat, {"n", 2});
  GraphWriter g("net");
  g.Input("x", kFloat, {"n", 2});
  g.Input("s", SequenceTypeMessage(TensorTypeMessage(kInt64, {""})));
  g.Initializer(TensorMessage<float>("w", {2}, {1, 2}));
  g.Initializer(MessageWriter()
                    .AddPacked(proto::Tensor::dims, std::vector<int64_t>{2, 1})
                    .Add(proto::Tensor::data_type, kFloat16)
                    .Add(proto::Tensor::name, Bytes("h"))
                    .AddPacked(proto::Tensor::int32_data, std::vector<int64_t>{0x3c00, 0x4000}));
  g.SparseInitializer(TensorMessage<float>("z", {1}, {5}), TensorMessage<int64_t>("", {1}, {3}),
                      {2, 2});
  g.Node("If", {"c"}, {"y"}, {GraphAttr("then_branch", inner), GraphAttr("else_branch", inner)});
  g.Node("F", {"y"}, {"z"},
         {Attr("f", 1.5f), Attr("i", -3), Attr("s", "text"),
          Attr("is", std::vector<int64_t>{1, -1}), Attr("fs", std::vector<float>{1, 2}),
          Attr("ss", Names{"a", "b"}), TensorAttr("t", TensorMessage<int64_t>("", {1}, {7}))},
         "local");
  g.Output("z", OptionalTypeMessage(TensorTypeMessage(kFloat)));
  return ModelMessage(g, {{"", 21}, {"local", 1}},
                      {FunctionMessage("local", "F", {"a"}, {"b"},
                                       {NodeMessage("Mul", {"a", "a"}, {"b"})}, {{"", 21}})});
}

TEST(Untrusted, EveryTruncationIsAnErrorThatNamesItsPlace) {
  const Bytes whole = Everything();
  ASSERT_TRUE(ParseBytes(whole).ok()) << ParseBytes(whole).status();
  int models = 0;
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<ModelDef> m = ParseBytes(whole.substr(0, size));
    if (m.ok()) {
      ++models;  // cut between fields of the model, behind all that it must have
    } else {
      EXPECT_THAT(std::string(m.status().message()), StartsWith("byte ")) << size;
      EXPECT_THAT(std::string(m.status().message()), HasSubstr("ModelProto")) << size;
    }
  }
  EXPECT_EQ(models, 2);  // before the second opset and before the function
}

void TouchAll(const TensorData& t, unsigned* sum) {
  for (int64_t i = 0; i < t.num_bytes; ++i)
    *sum += static_cast<const unsigned char*>(t.bytes.get())[i];
}

TEST(Untrusted, FlippedAndMixedBytesAreErrorsOrModels) {
  const Bytes whole = Everything();
  unsigned sum = 0;
  for (unsigned seed : {1, 2, 3}) {
    std::mt19937 random(seed);
    int models = 0;
    constexpr int kTries = 10'000;
    for (int i = 0; i < kTries; ++i) {
      Bytes bytes = whole;
      for (size_t changes = 1 + random() % 4; changes > 0; --changes) {
        char& at = bytes[random() % bytes.size()];
        if (seed == 1) at ^= static_cast<char>(1 << random() % 8);          // a bit
        if (seed == 2) at = static_cast<char>(random());                    // a byte
        if (seed == 3) bytes.erase(random() % bytes.size(), random() % 5);  // some bytes less
      }
      const absl::StatusOr<ModelDef> m = ParseBytes(bytes);
      if (!m.ok()) {
        EXPECT_THAT(std::string(m.status().message()), StartsWith("byte "));
        EXPECT_NE(m.status().code(), absl::StatusCode::kInternal) << m.status();
        continue;
      }
      ++models;
      for (const TensorData& t : m->graph.initializers) TouchAll(t, &sum);
      for (const NodeDef& n : m->graph.nodes)
        for (const Attribute& a : n.attributes)
          for (const TensorData& t : a.tensors) TouchAll(t, &sum);
    }
    std::cout << "seed " << seed << ": " << models << " of " << kTries << " still read\n";
  }
  EXPECT_NE(sum, 0u);
}

}  // namespace
}  // namespace lathe::onnx
