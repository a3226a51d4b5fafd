// The reader on models made in memory: everything a file can hold arrives.
#include "compiler/onnx/reader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/model_writer.h"

namespace lathe::onnx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Bytes SmallModel() {
  GraphWriter g("net");
  g.Input("x", kFloat, {"batch", 3, "", -1});
  g.Initializer(TensorMessage<float>("w", {3}, {1, 2, 3}));
  g.Node("Mul", {"x", "w"}, {"y"}, {}, "", "scale");
  g.Node("Clip", {"y", "", "w"}, {"z"}, {Attr("axis", -1), Attr("alpha", 0.5f), Attr("mode", "up")},
         "com.example");
  g.ValueInfo("y", TensorTypeMessage(kFloat));
  g.Output("z", kFloat, {});
  return ModelMessage(g, {{"", 21}, {"com.example", 2}});
}

TEST(ReadModel, EverythingOfASmallModelArrives) {
  const absl::StatusOr<ModelDef> m = ParseBytes(SmallModel());
  ASSERT_TRUE(m.ok()) << m.status();
  EXPECT_EQ(m->ir_version, 10);
  EXPECT_EQ(m->producer, "test");
  EXPECT_THAT(m->opsets, ElementsAre(std::pair<std::string, int64_t>("", 21),
                                     std::pair<std::string, int64_t>("com.example", 2)));
  const GraphDef& g = m->graph;
  EXPECT_EQ(g.name, "net");
  ASSERT_EQ(g.nodes.size(), 2u);
  EXPECT_EQ(g.nodes[0].name, "scale");
  EXPECT_EQ(g.nodes[0].op_type, "Mul");
  EXPECT_EQ(g.nodes[1].domain, "com.example");
  EXPECT_THAT(g.nodes[1].inputs, ElementsAre("y", "", "w"));
  EXPECT_THAT(g.nodes[1].outputs, ElementsAre("z"));
  ASSERT_NE(g.nodes[1].Find("axis"), nullptr);
  EXPECT_EQ(g.nodes[1].Find("axis")->i, -1);
  EXPECT_EQ(g.nodes[1].Find("alpha")->f, 0.5f);
  EXPECT_EQ(g.nodes[1].Find("mode")->s, "up");
  EXPECT_EQ(g.nodes[1].Find("other"), nullptr);

  ASSERT_EQ(g.inputs.size(), 1u);
  const Type& type = g.inputs[0].type;
  EXPECT_EQ(type.kind, Type::Kind::kTensor);
  EXPECT_EQ(type.element_type, kFloat);
  ASSERT_TRUE(type.shape.has_value());
  ASSERT_EQ(type.shape->size(), 4u);
  EXPECT_EQ((*type.shape)[0].name, "batch");
  EXPECT_FALSE((*type.shape)[0].value.has_value());
  EXPECT_EQ((*type.shape)[1].value, 3);
  EXPECT_EQ((*type.shape)[2].name, "");
  EXPECT_FALSE((*type.shape)[2].value.has_value());
  EXPECT_EQ((*type.shape)[3].value, -1);
  EXPECT_FALSE(g.value_info.at(0).type.shape.has_value());
  ASSERT_TRUE(g.outputs.at(0).type.shape.has_value());
  EXPECT_THAT(*g.outputs[0].type.shape, IsEmpty());
}

TEST(ReadModel, RawDataIsMappedNotCopied) {
  const Bytes bytes = SmallModel();
  const std::shared_ptr<void> owner = OwnedCopy(bytes);
  const char* const base = static_cast<const char*>(owner.get());
  absl::StatusOr<ModelDef> m = ParseModel({base, bytes.size()}, owner, "");
  ASSERT_TRUE(m.ok()) << m.status();
  const TensorData& w = m->graph.initializers.at(0);
  EXPECT_EQ(w.name, "w");
  EXPECT_EQ(w.num_bytes, 12);
  const auto* at = static_cast<const char*>(w.bytes.get());
  EXPECT_GE(at, base);
  EXPECT_LE(at + 12, base + bytes.size());
  absl::StatusOr<Tensor> t = ToTensor(w);
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->ToString(), "f32[3]{1, 2, 3}");
}

TEST(ReadModel, EveryAttributeKindArrives) {
  GraphWriter inner("inner");
  inner.Node("Identity", {"outer"}, {"o"});
  inner.Output("o");
  const Bytes tensor = TensorMessage<int64_t>("", {2}, {7, 8});
  const Bytes sparse =
      MessageWriter()
          .Add(proto::SparseTensor::values, TensorMessage<float>("s", {2}, {5, 6}))
          .Add(proto::SparseTensor::indices, TensorMessage<int64_t>("", {2, 2}, {0, 1, 2, 0}))
          .AddEach(proto::SparseTensor::dims, std::vector<int64_t>{3, 2});
  using Kind = Attribute::Kind;
  GraphWriter g;
  g.Node("All", {}, {},
         {Attr("floats", std::vector<float>{1, 2}), Attr("ints", std::vector<int64_t>{-1, 1 << 20}),
          Attr("strings", Names{"a", ""}), TensorAttr("tensor", tensor), GraphAttr("graph", inner),
          AttrOfKind("tensors", Kind::kTensors)
              .Add(proto::Attribute::tensors, tensor)
              .Add(proto::Attribute::tensors, tensor),
          AttrOfKind("graphs", Kind::kGraphs)
              .Add(proto::Attribute::graphs, inner)
              .Add(proto::Attribute::graphs, inner),
          AttrOfKind("sparse", Kind::kSparseTensor).Add(proto::Attribute::sparse_tensor, sparse),
          AttrOfKind("sparses", Kind::kSparseTensors).Add(proto::Attribute::sparse_tensors, sparse),
          AttrOfKind("type", Kind::kType)
              .Add(proto::Attribute::tp, SequenceTypeMessage(TensorTypeMessage(kInt64))),
          AttrOfKind("types", Kind::kTypes)
              .Add(proto::Attribute::type_protos, OptionalTypeMessage(TensorTypeMessage(kBool))),
          AttrOfKind("packed_ints", Kind::kInts)
              .AddPacked(proto::Attribute::ints, std::vector<int64_t>{3, 300})
              .AddPacked(proto::Attribute::ints, std::vector<int64_t>{-3}),
          AttrOfKind("packed_floats", Kind::kFloats)
              .AddPacked(proto::Attribute::floats, std::vector<float>{1.5f, 2.5f}),
          AttrOfKind("empty", Kind::kInts), RefAttr("ref", Kind::kInt, "outer_attribute"),
          // IR version 1: no type.
          MessageWriter().Add(proto::Attribute::name, Bytes("old")).Add(proto::Attribute::i, 5)});
  const absl::StatusOr<ModelDef> m = ParseBytes(ModelMessage(g));
  ASSERT_TRUE(m.ok()) << m.status();
  const NodeDef& n = m->graph.nodes.at(0);
  EXPECT_THAT(n.Find("floats")->floats, ElementsAre(1, 2));
  EXPECT_THAT(n.Find("ints")->ints, ElementsAre(-1, 1 << 20));
  EXPECT_THAT(n.Find("strings")->strings, ElementsAre("a", ""));
  EXPECT_THAT(n.Find("tensor")->tensors.at(0).dims, ElementsAre(2));
  EXPECT_EQ(n.Find("graph")->graphs.at(0)->nodes.at(0).op_type, "Identity");
  EXPECT_EQ(n.Find("graph")->graphs.at(0)->outputs.at(0).type.kind, Type::Kind::kNone);
  EXPECT_EQ(n.Find("tensors")->tensors.size(), 2u);
  EXPECT_EQ(n.Find("graphs")->graphs.size(), 2u);
  EXPECT_THAT(n.Find("sparse")->sparse.at(0).dims, ElementsAre(3, 2));
  EXPECT_EQ(n.Find("sparses")->sparse.size(), 1u);
  EXPECT_EQ(n.Find("type")->types.at(0).kind, Type::Kind::kSequence);
  EXPECT_EQ(n.Find("type")->types.at(0).element->element_type, kInt64);
  EXPECT_EQ(n.Find("types")->types.at(0).kind, Type::Kind::kOptional);
  EXPECT_THAT(n.Find("packed_ints")->ints, ElementsAre(3, 300, -3));
  EXPECT_THAT(n.Find("packed_floats")->floats, ElementsAre(1.5f, 2.5f));
  EXPECT_EQ(n.Find("empty")->kind, Kind::kInts);
  EXPECT_EQ(n.Find("ref")->ref_attr_name, "outer_attribute");
  EXPECT_EQ(n.Find("ref")->kind, Kind::kInt);
  EXPECT_EQ(n.Find("old")->kind, Kind::kInt);
  EXPECT_EQ(n.Find("old")->i, 5);
}

TEST(ReadModel, FunctionsAndSparseInitializersArrive) {
  GraphWriter g;
  g.Node("Twice", {"x"}, {"y"}, {}, "local");
  g.SparseInitializer(TensorMessage<float>("s", {2}, {5, 6}),
                      TensorMessage<int64_t>("", {2}, {1, 5}), {2, 3});
  const Bytes function =
      FunctionMessage("local", "Twice", {"a"}, {"b"}, {NodeMessage("Add", {"a", "a"}, {"b"})},
                      {{"", 18}}, {"alpha"}, {Attr("beta", 2.0f)});
  const absl::StatusOr<ModelDef> m = ParseBytes(ModelMessage(g, {{"", 21}}, {function}));
  ASSERT_TRUE(m.ok()) << m.status();
  const FunctionDef& f = m->functions.at(0);
  EXPECT_EQ(f.domain + "." + f.name, "local.Twice");
  EXPECT_THAT(f.inputs, ElementsAre("a"));
  EXPECT_THAT(f.outputs, ElementsAre("b"));
  EXPECT_THAT(f.attributes, ElementsAre("alpha"));
  EXPECT_EQ(f.attribute_defaults.at(0).f, 2.0f);
  EXPECT_EQ(f.nodes.at(0).op_type, "Add");
  EXPECT_EQ(f.opsets.at(0).second, 18);
  EXPECT_EQ(m->graph.sparse_initializers.at(0).first, "s");
  EXPECT_THAT(m->graph.sparse_initializers[0].second.dims, ElementsAre(2, 3));
}

TEST(ReadModel, UnknownFieldsAreSkipped) {
  const Bytes bytes = MessageWriter(SmallModel()).Add(999, Bytes("later")).Add(1000, 7);
  EXPECT_TRUE(ParseBytes(bytes).ok());
}

TEST(ReadModel, WhatIsNoModelSaysSo) {
  EXPECT_THAT(std::string(ParseBytes("").status().message()), HasSubstr("no ir_version"));
  EXPECT_THAT(
      std::string(ParseBytes(MessageWriter().Add(proto::Model::ir_version, 8)).status().message()),
      HasSubstr("no graph"));
  EXPECT_THAT(std::string(ParseBytes(ModelMessage(GraphWriter(), {})).status().message()),
              HasSubstr("no opset_import"));
  EXPECT_TRUE(ParseBytes(ModelMessage(GraphWriter(), {}, {}, 2)).ok());
  EXPECT_EQ(ReadModel("/nonexistent.onnx").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadModel("/dev/null").status().message()),
              HasSubstr("not a regular file"));
}

TEST(ReadModel, ErrorsNameByteAndField) {
  GraphWriter g;
  g.Node("A", {}, {"a"});
  g.Node("B", {"a"}, {"b"},
         {Attr("one", 1), Bytes("\x0a\x7f", 2)});  // a name that runs past the end
  const Bytes bytes = ModelMessage(g);
  const std::string message(ParseBytes(bytes).status().message());
  const size_t at = bytes.find("\x0a\x7f");
  EXPECT_EQ(message, "byte " + std::to_string(at) +
                         ", ModelProto.graph.node[1].attribute[1].name: is cut short: it runs past "
                         "the end of its message");
}

}  // namespace
}  // namespace lathe::onnx
