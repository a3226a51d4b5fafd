// The peer benchmark's line protocol: replies, and errors that leave the contestant usable.
#include "bench/lathe_bench/contestant.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "compiler/io/npz.h"
#include "gtest/gtest.h"
#include "tests/onnx/model_writer.h"

namespace lathe::bench {
namespace {

using Json = nlohmann::json;

class ContestantTest : public testing::Test {
 protected:
  void SetUp() override {
    base_ = absl::StrCat(testing::TempDir(), "/contestant_", getpid());
    onnx::GraphWriter g;
    g.Input("x", onnx::kFloat, {"n", 3});
    g.Initializer(onnx::TensorMessage<float>("w", {3}, {1, 2, 3}));
    g.Node("Mul", {"x", "w"}, {"y"});
    g.Output("y", onnx::kFloat, {"n", 3});
    std::ofstream(base_ + ".onnx", std::ios::binary) << onnx::ModelMessage(g, {{"", 21}});
    std::ofstream(base_ + ".json")
        << R"({"inputs": [{"name": "x", "dtype": "float32", "shape": ["n", 3], "fill": "uniform"}]})";
  }
  void TearDown() override {
    for (const char* end : {".onnx", ".json", ".npz", ".in.npz"})
      std::remove((base_ + end).c_str());
  }

  static std::vector<Json> Serve(const std::vector<Json>& requests) {
    std::stringstream in, out;
    for (const Json& r : requests) in << (r.is_string() ? r.get<std::string>() : r.dump()) << "\n";
    ServeContestant(in, out);
    std::vector<Json> replies;
    for (std::string line; std::getline(out, line);) replies.push_back(Json::parse(line));
    return replies;
  }

  Json Load() const { return {{"op", "load"}, {"model", base_ + ".onnx"}, {"threads", 1}}; }
  std::string base_;
};

TEST_F(ContestantTest, LoadsCallsAndTimes) {
  const Json a = {{"n", 2}}, b = {{"n", 5}};
  const std::vector<Json> replies =
      Serve({{{"op", "describe"}},
             Load(),
             {{"op", "first_call"}, {"case", a}},
             {{"op", "first_call"}, {"case", b}},
             {{"op", "first_call"}, {"case", a}},
             {{"op", "time"}, {"case", a}, {"min_s", 0}, {"reps", 3}},
             {{"op", "settle"}},
             {{"op", "outputs"}, {"case", b}, {"path", base_ + ".npz"}},
             {{"op", "counters"}},
             {{"op", "rss"}}});
  ASSERT_EQ(replies.size(), 10u);
  for (const Json& r : replies) EXPECT_FALSE(r.contains("error")) << r;
  EXPECT_EQ(replies[0].at("name"), "lathe");
  EXPECT_NEAR(replies[1].at("time_s"),
              double{replies[1].at("import_s")} + double{replies[1].at("plan_s")} +
                  double{replies[1].at("compile_s")},
              1e-6);
  EXPECT_TRUE(replies[2].at("novel") && replies[3].at("novel") && !replies[4].at("novel"));
  EXPECT_EQ(replies[5].at("times_s").size(), 3u);
  EXPECT_EQ(replies[8].at("compiles_in_calls"), 0);
  const absl::StatusOr<io::Arrays> arrays = io::ReadNpz(base_ + ".npz");
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->at("y").shape(), (std::vector<int64_t>{5, 3}));
}

TEST_F(ContestantTest, InputsOfAFile) {
  const Tensor x = Tensor::FromVector<float>({1, 3}, {1, 10, 100});
  ASSERT_TRUE(io::WriteNpz(base_ + ".in.npz", {{"x", x}}).ok());
  const std::vector<Json> replies =
      Serve({Load(), {{"op", "outputs"}, {"inputs", base_ + ".in.npz"}, {"path", base_ + ".npz"}}});
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_FALSE(replies[1].contains("error")) << replies[1];
  const absl::StatusOr<io::Arrays> arrays = io::ReadNpz(base_ + ".npz");
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->at("y").data<float>()[2], 300);
}

TEST_F(ContestantTest, WhatFailsIsSaidAndTheNextRequestServed) {
  const std::vector<Json> replies = Serve({"no json",
                                           {{"op", "dance"}},
                                           {{"op", "first_call"}, {"case", {{"n", 2}}}},
                                           {{"op", "load"}},
                                           {{"op", "load"}, {"model", base_ + ".none"}},
                                           Load(),
                                           {{"op", "first_call"}, {"case", Json::object()}},
                                           {{"op", "first_call"}, {"inputs", base_ + ".none"}},
                                           {{"op", "first_call"}, {"case", {{"n", 2}}}},
                                           {{"op", "quit"}},
                                           {{"op", "describe"}}});
  ASSERT_EQ(replies.size(), 9u);
  for (size_t i : {0, 1, 2, 3, 4, 6, 7}) EXPECT_TRUE(replies[i].contains("error")) << i;
  EXPECT_FALSE(replies[8].contains("error")) << replies[8];
}

}  // namespace
}  // namespace lathe::bench
