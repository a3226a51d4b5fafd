// The program of one value: what it keeps of the session's, and what it leaves out.
#include "repl/extract.h"

#include "gmock/gmock.h"
#include "ir/philox.h"
#include "ir/samples.h"
#include "ir/text_parser.h"
#include "repl/inputs.h"
#include "tests/repl/repl_util.h"

namespace lathe::repl {
namespace {

std::string Extracted(const std::string& text, const std::string& name) {
  absl::StatusOr<ir::Graph> graph = ir::Parse(text);
  if (!graph.ok()) return std::string(graph.status().message());
  const absl::StatusOr<ir::ValueId> value = ir::TextSession(&*graph).Find(name);
  if (!value.ok()) return std::string(value.status().message());
  const auto extracted = Extract(*graph, std::vector<NamedValue>{{name, *value}});
  return extracted.ok() ? ir::Print(**extracted) : std::string(extracted.status().message());
}

std::vector<std::string> InputNames(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (ir::ValueId v : graph.inputs) names.push_back(graph.ValueName(v));
  return names;
}

TEST(Extract, KeepsEverySampleOfEveryOp) {
  for (const ir::OpInfo& op : ir::AllOps()) {
    for (int t = 0; t < kNumDTypes; ++t) {
      for (uint32_t symbolic : {0b0000u, 0b0101u, 0b1111u}) {
        for (ir::OpSample& s :
             ir::SamplesOf(op.op, static_cast<DType>(t), {.symbolic = symbolic})) {
          if (!s.status.ok()) continue;
          std::vector<NamedValue> outputs;
          for (size_t i = 0; i < s.graph.body.results.size(); ++i) {
            outputs.push_back({s.graph.output_names[i], s.graph.body.results[i]});
          }
          const auto extracted = Extract(s.graph, outputs);
          ASSERT_TRUE(extracted.ok()) << s.label << ": " << extracted.status();
          EXPECT_TRUE(ir::Verify(**extracted).ok()) << s.label;
          // Where an input isn't needed or a size needs one of its own, the texts differ.
          if (InputNames(**extracted) == InputNames(s.graph)) {
            s.graph.RemoveDeadNodes();
            (*extracted)->name = s.graph.name;
            EXPECT_EQ(ir::Print(**extracted), ir::Print(s.graph)) << s.label;
          }
        }
      }
    }
  }
}

TEST(Extract, LeavesOutWhatTheValueDoesNotNeed) {
  EXPECT_EQ(Extracted("dim a in 1..8; dim b in 1..4; assume a <= b\n"
                      "x: f32[a]\n"
                      "z: f32[b]\n"
                      "i: i64[b]\n"
                      "g = gather(z, i, axis=0)\n"  // may fail on data
                      "r = reshape(z, [-1, 2])\n"   // requires b % 2 == 0
                      "y = exp(x)",
                      "y"),
            "dim a in 1..8\n"
            "x: f32[a]\n"
            "y: f32[a] = exp(x)\n"
            "output y\n");
}

TEST(Extract, SizesWithoutAnInputGetOne) {
  EXPECT_EQ(Extracted("dim a, b; assume a == b\nx: f32[a]\ny = x / b", "y").find("sizes."),
            std::string::npos);
  EXPECT_THAT(Extracted("dim a, b\nx: f32[a]\ny = x / b", "y"),
              ::testing::HasSubstr("sizes.b: bool[b, 0]"));
}

TEST(Inputs, AreThoseOfPhiloxByTheInputsNumber) {
  Console console(/*json=*/true);
  console.Run("dim n; a: f32[n]; b: f32[n]; y = b + 0");
  const Json answer = console.Ask(":run y n=3 seed=5");
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(answer["outputs"][0]["data"][i].get<float>(),
              ir::PhiloxNormal(5 + (uint64_t{1} << 32), i));
  }
}

TEST(Inputs, IntegersAreSmallAndIndexWhatIsGatheredFrom) {
  Console console(/*json=*/true);
  console.Run("dim n, rows; i: i32[n]; t: f32[rows, 2]; e = embedding(t, i); j = i + 0");
  const Json numbers = console.Ask(":run j n=100");
  for (const Json& v : numbers["outputs"][0]["data"]) {
    EXPECT_GE(v, 0);
    EXPECT_LE(v, 7);
  }
  for (const char* command : {":run e n=100 rows=1", ":run e n=100 rows=3", ":run e n=0 rows=0"}) {
    EXPECT_TRUE(console.Ask(command).contains("outputs")) << command;
  }
}

}  // namespace
}  // namespace lathe::repl
