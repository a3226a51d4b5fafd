// What commands answer beyond the golden sessions, and what a session keeps and drops.
#include "gmock/gmock.h"
#include "repl/completion.h"
#include "tests/repl/repl_util.h"

namespace lathe::repl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kProgram[] =
    "dim batch in 1..64; dim seq in 1..8192\n"
    "x: f32[batch, seq, 16]\n"
    "w = randn([16, 10], seed=1)\n"
    "y = softmax(x @ w, axis=-1)\n";

TEST(Commands, CodeOfAValueIsShownAtEveryStage) {
  Console console(/*json=*/false);
  console.Run(kProgram);
  EXPECT_THAT(console.Run(":ir y"), AllOf(HasSubstr("program y"), HasSubstr("output y")));
  EXPECT_THAT(console.Run(":kernels y"), AllOf(HasSubstr("kernel s0"), HasSubstr("tasks [")));
  EXPECT_THAT(console.Run(":kernels y batch=1 seq=4"), HasSubstr("tasks ["));
  EXPECT_THAT(console.Run(":llvm y"), HasSubstr("define i64 @"));
  EXPECT_THAT(console.Run(":asm y"), HasSubstr(".text"));
  EXPECT_THAT(console.Run(":why y batch=2 seq=8"),
              AllOf(HasSubstr("batch = 2"), HasSubstr("version "), HasSubstr("memory: ")));
  EXPECT_EQ(console.output().faults(), 0);
}

TEST(Commands, CudaTextOfPointwiseAndRowKernels) {
  Console console(/*json=*/true);
  console.Run("x: f32[n, 100]; y = softmax(x, axis=-1); d: f64[n]; z = d * 2");
  for (const char* command : {":cuda y", ":cuda z", ":cuda y n=3"}) {
    const Json answer = console.Ask(command);
    ASSERT_TRUE(answer.contains("kernels")) << answer;
    ASSERT_FALSE(answer["kernels"].empty());
    EXPECT_THAT(answer["kernels"][0]["text"].get<std::string>(), HasSubstr("__global__"));
  }
}

TEST(Commands, KernelsWithoutCudaTextSaySo) {
  Console console(/*json=*/true);
  console.Run(
      "x: f32[n, 16]; w = constant(f32[16, 32]{1*512}); p = x @ w; y = softmax(p, axis=-1)");
  EXPECT_EQ(console.Ask(":cuda p")["error"]["code"], "UNIMPLEMENTED");
  const Json both = console.Ask(":cuda y");
  ASSERT_EQ(both["kernels"].size(), 2u) << both;
  EXPECT_THAT(both["kernels"][0]["text"].get<std::string>(), StartsWith("// "));
  EXPECT_THAT(both["kernels"][1]["text"].get<std::string>(), HasSubstr("__global__"));
}

TEST(Commands, TimeMeasuresEachAdmittedSizeOfARange) {
  Console console(/*json=*/true);
  console.Run("dim n in 1..64, n % 4 == 0; x: f32[n]; y = x + 1");
  const Json answer = console.Ask(":time y n=1..32");
  ASSERT_EQ(answer["times"].size(), 4u);  // 4, 8, 16, 32
  EXPECT_EQ(answer["times"][0]["sizes"]["n"], 4);
  EXPECT_GE(answer["times"][3]["calls"], 5);
  EXPECT_EQ(answer["skipped"], Json({1, 2}));
  EXPECT_EQ(console.Ask(":time y n=4..12:4")["times"].size(), 3u);
  EXPECT_EQ(console.Ask(":time y n=8")["times"].size(), 1u);
}

TEST(Commands, HelpKnowsEveryOpAndCommand) {
  Console console(/*json=*/true);
  const Json all = console.Ask(":help");
  EXPECT_EQ(all["commands"].size(), Commands().size());
  for (const Json& op : all["ops"]) {
    EXPECT_EQ(console.Ask(":help " + op.get<std::string>())["op"], op);
  }
  for (const Command& command : Commands()) {
    EXPECT_EQ(console.Ask(":help :" + std::string(command.name))["command"], command.name);
  }
}

TEST(Commands, CacheCountsWhatIsCompiled) {
  Console console(/*json=*/true);
  EXPECT_EQ(console.Ask(":cache")["cache"]["compiles"], 0);
  console.Run("x: f32[n]; y = x + 1; :run y n=3; :run y n=4");
  const Json answer = console.Ask(":cache");
  ASSERT_EQ(answer["functions"].size(), 1u);
  EXPECT_EQ(answer["functions"][0]["value"], "y");
  EXPECT_EQ(answer["functions"][0]["versions"][0]["calls"], 2);
  EXPECT_GE(answer["cache"]["compiles"], 1);
  EXPECT_EQ(answer["cache"]["compiles_in_calls"], 0);
}

TEST(Session, ManySizesShareOneCompile) {
  Console console(/*json=*/true);
  console.Run(kProgram);
  const Json first = console.Ask(":run y batch=2 seq=3");
  EXPECT_GE(first["compiles"], 1);
  for (const char* command :
       {":run y batch=1 seq=1", ":run y batch=64 seq=2", ":peak y batch=1 seq=9",
        ":run y batch=3 seq=33", ":why y batch=1 seq=1"}) {
    const Json other = console.Ask(command);
    EXPECT_FALSE(other.contains("error")) << other;
    EXPECT_EQ(other.value("compiles", 0), 0) << command;
  }
  const Json again = console.Ask(":run y batch=2 seq=3");
  EXPECT_EQ(again["compiles"], 0);
  EXPECT_EQ(again["outputs"], first["outputs"]);
}

TEST(Session, NewValuesLeaveCompiledOnesAloneAndNewFactsDoNot) {
  Console console(/*json=*/true);
  console.Run("dim n; x: f32[n]; y = x + 1; :run y n=4");
  console.Run("z = x * 3");
  EXPECT_EQ(console.session().functions().all().size(), 1u);
  EXPECT_EQ(console.Ask(":run y n=4")["compiles"], 0);
  console.Run("assume n % 4 == 0");
  EXPECT_EQ(console.Ask(":run y n=3")["error"]["code"], "INVALID_ARGUMENT");
  EXPECT_TRUE(console.Ask(":run y n=4").contains("outputs"));
}

TEST(Session, ANameMeansItsLastValue) {
  Console console(/*json=*/true);
  console.Run("x = constant(i64[2]{1, 2}); y = x; y = x * 10");
  EXPECT_EQ(console.Ask(":run y")["outputs"][0]["data"], Json({10, 20}));
  console.Run("y = y + 1");
  EXPECT_EQ(console.Ask(":run y")["outputs"][0]["data"], Json({11, 21}));
}

TEST(Session, JsonHoldsAtMost65536Elements) {
  Console console(/*json=*/true);
  console.Run("y = iota([n], axis=0, dtype=i64)");
  console.Run("dim n; y = iota([n], axis=0, dtype=i64)");
  const Json whole = console.Ask(":run y n=65536"), cut = console.Ask(":run y n=65537");
  EXPECT_EQ(whole["outputs"][0]["data"].size(), 65'536u);
  EXPECT_FALSE(whole["outputs"][0].contains("elements"));
  EXPECT_EQ(cut["outputs"][0]["data"].size(), 65'536u);
  EXPECT_EQ(cut["outputs"][0]["elements"], 65'537);
  EXPECT_EQ(cut["outputs"][0]["shape"], Json({65'537}));
}

TEST(Session, WitnessNamesEveryDeclaredSizeAndBreaksTheClaim) {
  Console console(/*json=*/true);
  console.Run("dim a in 1..8; dim b <= 3; dim c; x: f32[a, ?<=5]");
  const Json answer = console.Ask(":prove a + b <= c");
  EXPECT_EQ(answer["answer"], "refuted");
  const Json& witness = answer["witness"];
  ASSERT_EQ(witness.size(), 4u) << answer;
  EXPECT_GT(witness["a"].get<int64_t>() + witness["b"].get<int64_t>(), witness["c"].get<int64_t>());
  EXPECT_LE(witness["b"].get<int64_t>(), 3);
}

TEST(Session, CallsThatNeedTooMuchMemoryAreRefused) {
  Console console(/*json=*/true, {.memory_bytes = int64_t{1} << 20});
  console.Run("x: f32[n]; y = x + 1");
  EXPECT_EQ(console.Ask(":run y n=1048576")["error"]["code"], "RESOURCE_EXHAUSTED");
  EXPECT_EQ(console.Ask(":run y n=1099511627775")["error"]["code"], "RESOURCE_EXHAUSTED");
  EXPECT_TRUE(console.Ask(":run y n=9223372036854775807").contains("error"));
  EXPECT_TRUE(console.Ask(":run y n=1024").contains("outputs"));
}

TEST(Session, FaultsNameTheFile) {
  Console console(/*json=*/false, {.file = "demo.lathe"});
  EXPECT_THAT(console.Run("x: f32[n]\ny = x + q"),
              HasSubstr("demo.lathe:2:9: error: there is no value 'q'"));
  EXPECT_THAT(console.Run("\n\n:run x m=1"), HasSubstr("demo.lathe:3:8: error: there is no size"));
  EXPECT_THAT(console.Run(":prove n < "), HasSubstr("demo.lathe:1:11: error: "));
}

TEST(Session, TypesAreShownAtTheKeyboardOnly) {
  EXPECT_EQ(Console(false).Run("x: f32[n]"), "");
  EXPECT_EQ(Console(false, {.show_types = true}).Run("x: f32[n]"), "x: f32[n]\n");
}

TEST(Driver, StatementsMayComeInPieces) {
  for (const bool interactive : {false, true}) {
    Console console(/*json=*/true);
    Driver driver(&console.session(), &console.output(), interactive);
    driver.AddLine("x: f32[n]; y = exp(\n");
    EXPECT_TRUE(driver.pending());
    EXPECT_EQ(console.session().text().ValueNames(), std::vector<std::string>{"x"});
    driver.AddLine("x\n");
    driver.AddLine("\n");
    EXPECT_EQ(driver.pending(), !interactive);  // at the keyboard an empty line ends it
    driver.AddLine(interactive ? "y = exp(x)" : ")");
    EXPECT_FALSE(driver.pending());
    EXPECT_THAT(console.session().text().ValueNames(), ElementsAre("x", "y"));
    driver.AddLine("z = (x");
    driver.Finish();
    EXPECT_EQ(console.output().faults(), interactive ? 2 : 1);
  }
}

TEST(Driver, PlacesCountTheLinesOfTheWholeText) {
  Console console(/*json=*/true);
  Driver driver(&console.session(), &console.output());
  driver.AddLine("x: f32[n]");
  driver.AddLine("# a comment");
  driver.AddLine("y = exp(x); z = exp(");
  driver.AddLine("  q)");
  EXPECT_EQ(console.output().faults(), 1);
  EXPECT_THAT(console.Run(""), "");
}

TEST(Completion, OffersOpsNamesAndCommands) {
  Console console(/*json=*/false);
  console.Run("dim seq; soft_value = constant(f32[]{1})");
  const Session& session = console.session();
  EXPECT_THAT(Complete(session, "y = soft"), ElementsAre("soft_value", "softmax"));
  EXPECT_THAT(Complete(session, "y = sof; :ke"), ElementsAre(":kernels"));
  EXPECT_THAT(Complete(session, ":run soft"), ElementsAre("soft_value"));
  EXPECT_THAT(Complete(session, ":run soft_value s"), ElementsAre("seq", "soft_value"));
  EXPECT_THAT(Complete(session, ":help softm"), ElementsAre("softmax"));
  EXPECT_THAT(Complete(session, "dim"), Contains("dim"));
  EXPECT_THAT(Complete(session, ":"), Contains(":quit"));
  EXPECT_THAT(Complete(session, "zzz"), ElementsAre());
  EXPECT_THAT(Complete(session, ""), Not(Contains(":quit")));
  EXPECT_EQ(WordStart("y = x@soft"), 6u);
}

}  // namespace
}  // namespace lathe::repl
