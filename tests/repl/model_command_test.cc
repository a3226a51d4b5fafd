// `jit-repl run` and `jit-repl inspect` on a model file.
#include "repl/model_command.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "compiler/io/npz.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/onnx/model_writer.h"

namespace lathe::repl {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// y = x + x with x: f32[n, 4].
std::string WriteModel(const fs::path& folder) {
  onnx::GraphWriter graph("doubles");
  graph.Input("x", onnx::TensorTypeMessage(onnx::kFloat, {"n", 4}));
  graph.Output("y");
  graph.Node("Add", {"x", "x"}, {"y"});
  const fs::path path = folder / "model.onnx";
  std::ofstream(path, std::ios::binary) << onnx::ModelMessage(graph);
  return path.string();
}

class ModelCommand : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("lathe_model_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    model_ = WriteModel(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The exit status; what was written is in text_.
  int Run(const std::vector<std::string>& words) {
    EXPECT_TRUE(IsModelCommand(words));
    const absl::StatusOr<ModelArguments> arguments = ReadModelArguments(words);
    if (!arguments.ok()) {
      text_ = std::string(arguments.status().message());
      return 2;
    }
    std::FILE* file = std::tmpfile();
    const int status = RunModelCommand(*arguments, file, file);
    text_.assign(static_cast<size_t>(std::ftell(file)), '\0');
    std::rewind(file);
    EXPECT_EQ(std::fread(text_.data(), 1, text_.size(), file), text_.size());
    std::fclose(file);
    return status;
  }

  fs::path folder_;
  std::string model_, text_;
};

TEST_F(ModelCommand, RunWritesTheOutputsOfTheArraysGiven) {
  const std::string in = (folder_ / "in.npz").string(), out = (folder_ / "out.npz").string();
  for (int64_t n : {3, 0, 1}) {
    Tensor x(f32, {n, 4});
    for (int64_t i = 0; i < 4 * n; ++i) x.data<float>()[i] = static_cast<float>(i);
    ASSERT_TRUE(io::WriteNpz(in, {{"x", x}}).ok());
    ASSERT_EQ(Run({"run", model_, "--inputs", in, "--outputs=" + out}), 0) << text_;
    EXPECT_THAT(text_, HasSubstr("y: f32[" + std::to_string(n) + ", 4]"));
    EXPECT_THAT(text_, HasSubstr("0 compiles in the call"));
    const absl::StatusOr<io::Arrays> written = io::ReadNpz(out);
    ASSERT_TRUE(written.ok()) << written.status();
    for (int64_t i = 0; i < 4 * n; ++i)
      EXPECT_EQ(written->at("y").data<float>()[i], static_cast<float>(2 * i));
  }
}

TEST_F(ModelCommand, InspectSaysWhatTheModelNeeds) {
  ASSERT_EQ(Run({"inspect", model_, "--dim", "n in 1..8", "--at", "n=3"}), 0) << text_;
  EXPECT_THAT(text_, HasSubstr("x: f32[n, 4]"));
  EXPECT_THAT(text_, HasSubstr("n <= 8   declared by option"));
  EXPECT_THAT(text_, HasSubstr("Add 1"));
  EXPECT_THAT(text_, HasSubstr("library routines: copies of inputs that aren't contiguous: x\n"));
  EXPECT_THAT(text_, HasSubstr("peak bytes"));
  ASSERT_EQ(Run({"inspect", model_, "--json", "--open", "x:1=width"}), 0) << text_;
  EXPECT_THAT(text_, HasSubstr(R"("type":"f32[n, width]")"));
}

// indices = NonZero(x) reshaped to [-1, 3], and the steps of a Loop joined, each x reshaped to
// [-1, 2], with x: f32[n, 5].
std::string WriteStagedModel(const fs::path& folder) {
  onnx::GraphWriter body;
  body.Input("step", onnx::kInt64, {});
  body.Input("goes_on", onnx::kBool, {});
  body.Output("goes_on");
  body.Output("halves");
  body.Node("Reshape", {"x", "in_twos"}, {"halves"});
  onnx::GraphWriter graph("staged");
  graph.Input("x", onnx::kFloat, {"n", 5});
  graph.Input("count", onnx::kInt64, {});
  graph.Initializer(onnx::TensorMessage<int64_t>("in_twos", {2}, {-1, 2}));
  graph.Initializer(onnx::TensorMessage<int64_t>("in_threes", {2}, {-1, 3}));
  graph.Output("indices");
  graph.Output("steps");
  graph.Node("NonZero", {"x"}, {"found"});
  graph.Node("Reshape", {"found", "in_threes"}, {"indices"});
  graph.Node("Loop", {"count", ""}, {"steps"}, {onnx::GraphAttr("body", body)});
  const fs::path path = folder / "staged.onnx";
  std::ofstream(path, std::ios::binary) << onnx::ModelMessage(graph);
  return path.string();
}

TEST_F(ModelCommand, InspectSaysWhatLaterStagesAndBodiesNeed) {
  ASSERT_EQ(Run({"inspect", WriteStagedModel(folder_), "--dim", "n in 1..8", "--json"}), 0)
      << text_;
  const nlohmann::json json = nlohmann::json::parse(text_);
  std::vector<std::string> claims;
  for (const nlohmann::json& fact : json["facts"])
    claims.push_back(fact.get<std::string>().substr(0, fact.get<std::string>().find("   ")));
  // Of the first stage, by the option; of the second, of which one more is required; of the body.
  EXPECT_EQ(claims, (std::vector<std::string>{"1 <= n", "n <= 8", "NonZero.count <= 5*n",
                                              "2*NonZero.count % 3 == 0", "5*n % 2 == 0"}));
  ASSERT_EQ(json["library_routines"].size(), 3u) << text_;
  EXPECT_EQ(json["library_routines"][0],
            "copies that join what the steps give: node 'steps' (Loop)");
}

// Names are bytes in a file, and text in what is printed.
TEST_F(ModelCommand, NamesThatAreNotText) {
  onnx::GraphWriter graph("bytes");
  graph.Input("x", onnx::TensorTypeMessage(onnx::kFloat, {"n"}));
  graph.Output("\xff");
  graph.Node("Exp", {"x"}, {"\xff"});
  const std::string path = (folder_ / "bytes.onnx").string();
  std::ofstream(path, std::ios::binary) << onnx::ModelMessage(graph);
  ASSERT_EQ(Run({"inspect", path, "--json"}), 0) << text_;
  EXPECT_THAT(text_, HasSubstr("\"outputs\":[\"\xef\xbf\xbd\"]"));
  EXPECT_EQ(Run({"inspect", path}), 0) << text_;
}

TEST_F(ModelCommand, FaultsAreToldAndGiveTheirStatus) {
  EXPECT_EQ(Run({"run", model_}), 2);
  EXPECT_THAT(text_, HasSubstr("--inputs is missing"));
  EXPECT_EQ(Run({"inspect", model_, "--at", "n"}), 2);
  EXPECT_EQ(Run({"inspect", model_, "--frobnicate", "1"}), 2);
  EXPECT_EQ(Run({"inspect", (folder_ / "none.onnx").string()}), 1);
  EXPECT_THAT(text_, HasSubstr("none.onnx"));
  EXPECT_EQ(Run({"run", model_, "--inputs", (folder_ / "none.npz").string(), "--json"}), 1);
  EXPECT_THAT(text_, HasSubstr(R"({"error":{"code":)"));
  EXPECT_EQ(Run({"inspect", model_, "--dim", "n <= 4", "--dim", "n >= 5"}), 1);
}

}  // namespace
}  // namespace lathe::repl
