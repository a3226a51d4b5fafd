// `:import`: a model file as the program of a session.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/model_writer.h"
#include "tests/repl/repl_util.h"

namespace lathe::repl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Import : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("lathe_import_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // y = x op x with x: f32[n, 4]. The command that imports it.
  std::string Model(const std::string& op) {
    onnx::GraphWriter graph("small");
    graph.Input("x", onnx::kFloat, {"n", 4});
    graph.Output("y");
    graph.Node(op, {"x", "x"}, {"y"});
    return Write(op, graph);
  }
  std::string Write(const std::string& name, const onnx::GraphWriter& graph) {
    const fs::path path = folder_ / (name + ".onnx");
    std::ofstream(path, std::ios::binary) << onnx::ModelMessage(graph);
    return ":import " + path.string();
  }

  fs::path folder_;
  Console console_{/*json=*/true};
};

TEST_F(Import, CommandsAndStatementsWorkOnTheModel) {
  const Json imported = console_.Ask(Model("Add"));
  EXPECT_EQ(imported["inputs"], Json::parse(R"([{"name": "x", "type": "f32[n, 4]"}])"));
  EXPECT_EQ(imported["outputs"], Json::parse(R"([{"name": "y", "type": "f32[n, 4]"}])"));
  EXPECT_EQ(imported["dims"], Json::parse(R"({"n": "n"})"));
  EXPECT_EQ(console_.Ask(":shape y")["shape"], "f32[n, 4]");
  EXPECT_EQ(console_.Ask("assume n <= 8")["kind"], "assume");
  EXPECT_EQ(console_.Ask(":prove 2*n <= 16")["answer"], "proved");
  EXPECT_EQ(console_.Ask("z = y - x")["type"], "f32[n, 4]");
  const Json x = console_.Ask(":run x n=3")["outputs"][0]["data"];
  ASSERT_EQ(x.size(), 12u);
  EXPECT_EQ(console_.Ask(":run z n=3")["outputs"][0]["data"], x);
  EXPECT_NE(console_.Ask(":run output n=3")["outputs"][0]["data"], x);
  EXPECT_THAT(console_.Ask(":why output n=3")["why"].get<std::string>(), HasSubstr("n <= 8"));
  EXPECT_EQ(console_.Ask(":kernels y")["kernels"].size(), 1u);
  EXPECT_THAT(console_.Ask("z = y * nothing")["error"]["message"].get<std::string>(),
              HasSubstr("there is no value 'nothing'"));
}

TEST_F(Import, TheNextModelTakesThePlaceOfTheOneBefore) {
  console_.Ask("old: f32[m]");
  console_.Ask(Model("Sub"));
  EXPECT_TRUE(console_.Ask(":shape old").contains("error"));
  const Json zeros = console_.Ask(":run y n=1")["outputs"][0]["data"];
  EXPECT_EQ(zeros, Json::parse("[0.0, 0.0, 0.0, 0.0]"));
  console_.Ask(Model("Add"));  // its y has the number of the other one's
  EXPECT_NE(console_.Ask(":run y n=1")["outputs"][0]["data"], zeros);
}

TEST_F(Import, WhatCannotBeImportedChangesNothing) {
  onnx::GraphWriter staged("staged");
  staged.Input("x", onnx::kFloat, {"n"});
  staged.Output("y");
  staged.Node("NonZero", {"x"}, {"y"});
  console_.Ask("old: f32[m]");
  EXPECT_EQ(console_.Ask(":import")["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_EQ(console_.Ask(":import " + (folder_ / "none.onnx").string())["error"]["code"],
            "NOT_FOUND");
  const Json refused = console_.Ask(Write("staged", staged));
  EXPECT_EQ(refused["error"]["code"], "UNIMPLEMENTED");
  EXPECT_THAT(refused["error"]["message"].get<std::string>(), HasSubstr("jit-repl inspect"));
  EXPECT_EQ(console_.Ask(":shape old")["shape"], "f32[m]");
}

}  // namespace
}  // namespace lathe::repl
