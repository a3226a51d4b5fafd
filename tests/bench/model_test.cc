// `lathe-bench model`: where sizes and inputs come from, and what is refused.
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/lathe_bench/suites.h"
#include "compiler/io/npz.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/samples.h"
#include "tests/onnx/model_writer.h"

namespace lathe::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;

class ModelSuite : public testing::Test {
 protected:
  // rows = gather(table, ids), with table: f32[rows, 3] and ids: i64[n, 2].
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("lathe_model_suite_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    onnx::GraphWriter g("rows");
    g.Input("table", onnx::kFloat, {"rows", 3});
    g.Input("ids", onnx::kInt64, {"n", 2});
    g.Node("Gather", {"table", "ids"}, {"y"});
    g.Output("y");
    options_.model = Path("model.onnx");
    std::ofstream(options_.model, std::ios::binary) << onnx::ModelMessage(g);
    options_.threads = options_.rounds = 1;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // The JSON object that it ends with; null, and the error in error_, if it fails.
  Json Run() {
    testing::internal::CaptureStdout();
    const absl::Status s = ModelRun(options_);
    std::string shown = testing::internal::GetCapturedStdout();
    error_ = s.ToString();
    if (!s.ok()) return Json();
    shown.pop_back();
    return Json::parse(shown.substr(shown.rfind('\n') + 1));
  }

  fs::path folder_;
  SuiteOptions options_;
  std::string error_;
};

TEST_F(ModelSuite, SizesAreThoseOfTheOptionOrOfATrace) {
  options_.dims = "rows=4,n=2;n=1,rows=1";
  const Json named = Run();
  ASSERT_TRUE(named.is_object()) << error_;
  ASSERT_EQ(named["calls"].size(), 2u);
  EXPECT_EQ(named["calls"][0]["sizes"], (Json{{"n", 2}, {"rows", 4}}));
  std::ofstream(Path("trace.csv")) << "rows,n\n4,2\n1,1\n4,2\n";
  options_.dims = "@" + Path("trace.csv");
  const Json traced = Run();
  ASSERT_TRUE(traced.is_object()) << error_;
  EXPECT_EQ(traced["calls"][0]["calls"], 3);  // the first, a warm one, and that of line 4
  EXPECT_EQ(traced["compiles_in_calls"], 0);
}

TEST_F(ModelSuite, ASizeThatIsMissingOrUnknownIsAnErrorThatListsTheDims) {
  for (const char* dims : {"", "n=2", "n=2,rows=4,length=3"}) {
    options_.dims = dims;
    EXPECT_TRUE(Run().is_null()) << dims;
    EXPECT_THAT(error_, HasSubstr("the model's dims are n, rows")) << dims;
  }
  EXPECT_THAT(error_, HasSubstr("length=3"));
  options_.dims = "n=2,n=3";
  EXPECT_TRUE(Run().is_null());
  EXPECT_THAT(error_, HasSubstr("gives n twice"));
}

TEST_F(ModelSuite, FactsAndOpenedAxesAreThoseOfTheOptions) {
  options_.facts = "n in 1..8; rows >= 2";
  options_.open = "table:1=width; ids:1=depth";
  options_.dims = "rows=4,n=2,width=5,depth=1";
  EXPECT_TRUE(Run().is_object()) << error_;
  options_.dims = "rows=4,n=9,width=5,depth=1";
  EXPECT_TRUE(Run().is_null());
  EXPECT_THAT(error_, HasSubstr("n <= 8"));
  options_.open = "table=width";
  EXPECT_TRUE(Run().is_null());
  EXPECT_THAT(error_, HasSubstr("wanted input:axis=name"));
}

TEST_F(ModelSuite, InputsOfAFileGiveTheSizes) {
  const Tensor table = Tensor::FromVector<float>({1, 3}, {1, 2, 3});
  options_.inputs = Path("in.npz");
  for (const bool inside : {true, false}) {
    const Tensor ids = Tensor::FromVector<int64_t>({1, 2}, {0, inside ? 0 : 7});
    ASSERT_TRUE(io::WriteNpz(options_.inputs, {{"table", table}, {"ids", ids}}).ok());
    const Json run = Run();
    ASSERT_EQ(run.is_object(), inside) << error_;
    if (!inside) continue;
    EXPECT_EQ(run["calls"][0]["sizes"], (Json{{"n", 1}, {"rows", 1}}));
    EXPECT_GT(run["calls"][0]["peak_bytes"], 0);
  }
  EXPECT_THAT(error_, HasSubstr("7"));  // the elements are the file's
  ASSERT_TRUE(io::WriteNpz(options_.inputs, {{"table", table}}).ok());
  EXPECT_TRUE(Run().is_null());
  EXPECT_THAT(error_, HasSubstr("has no array 'ids'"));
  options_.dims = "n=1,rows=1";
  EXPECT_TRUE(Run().is_null());
  EXPECT_THAT(error_, HasSubstr("leave --dims out"));
}

TEST(TimingInputs, HoldNoDenormalAndNoIndexOutOfRange) {
  const absl::StatusOr<ir::Graph> g = ir::Parse(
      "x: f32[n]; h: f16[n]; k: i64[n]; table: f32[r, 2]; y = gather(table, k, axis=0); "
      "i: u8[n]; b: bool[n]; output y");
  ASSERT_TRUE(g.ok()) << g.status();
  for (const int64_t rows : {3, 1}) {
    const std::vector<Tensor> inputs = ir::TimingInputs(*g, {10'000, rows}, 1);
    bool ones = false;
    for (int64_t e = 0; e < 10'000; ++e) {
      ASSERT_TRUE(std::isnormal(inputs[0].data<float>()[e])) << e;
      ASSERT_GE(std::abs(static_cast<float>(inputs[1].data<Half>()[e])), 0x1p-14f) << e;
      const int64_t index = inputs[2].data<int64_t>()[e];
      ASSERT_TRUE(index == 0 || (index == 1 && rows > 1)) << index;
      ASSERT_LE(inputs[4].data<uint8_t>()[e], 1);
      ones |= inputs[4].data<uint8_t>()[e] == 1;
    }
    EXPECT_TRUE(ones);
  }
}

}  // namespace
}  // namespace lathe::bench
