// What the compiler promises of a whole model, on the encoder: no compile in a call, versions that
// appear behind the calls and agree bit for bit, few kernels, no transposes, no scalar tails, and
// memory that is known beforehand.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "codegen/kernel/kernel.h"
#include "ir/compare.h"
#include "ir/interpreter.h"
#include "runtime/engine_state.h"
#include "runtime/function_state.h"
#include "runtime/version.h"
#include "tests/whole/case.h"
#include "tests/whole/encoder.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using Shapes = std::vector<std::pair<int64_t, int64_t>>;

// Rows of 1 to 1024, few and many, in no order.
const Shapes kShapes = {{1, 1}, {2, 17}, {1, 4}, {8, 128}, {3, 1}, {1, 33}, {4, 32}, {1, 128}};

Function Compile(Engine& engine, const examples::EncoderConfig& config,
                 CompileOptions options = {}) {
  absl::StatusOr<Function> f = engine.compile(examples::TraceEncoder(config), options);
  if (f.ok()) {
    if (const absl::Status s = f->prepare(); !s.ok()) f = s;
  }
  EXPECT_TRUE(f.ok()) << f.status();
  return f.ok() ? *f : Function(nullptr);
}

std::vector<Tensor> Results(const Function& f, const examples::EncoderConfig& config,
                            const Shapes& shapes = kShapes) {
  std::vector<Tensor> results;
  for (const auto& [batch, seq] : shapes) {
    absl::StatusOr<std::vector<Tensor>> out = f.call(EncoderInputs(config, batch, seq));
    EXPECT_TRUE(out.ok()) << batch << " x " << seq << ": " << out.status();
    results.push_back(out.ok() ? (*out)[0] : Tensor());
  }
  return results;
}

void ExpectSame(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const absl::Status s = ir::SameBits(found[i], wanted[i]);
    EXPECT_TRUE(s.ok()) << "shape " << i << ": " << s;
  }
}

TEST(Claims, NoCallWaitsForACompiler) {
  const examples::EncoderConfig config = SmallEncoder();
  Engine engine({.threads = 2});
  engine.hold_background(true);
  const Function f = Compile(engine, config);
  const int64_t compiles = engine.counters().compiles;
  const std::vector<Tensor> held = Results(f, config);
  EXPECT_EQ(engine.counters().compiles, compiles);
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
  EXPECT_EQ(f.versions().size(), 1u);
  EXPECT_EQ(engine.counters().versions_swapped, 0);
  engine.hold_background(false);
  f.wait_for_versions();
  EXPECT_GE(f.versions().size(), 2u);
  EXPECT_GE(engine.counters().versions_swapped, 1);
  ExpectSame(Results(f, config), held);
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
  int64_t calls = 0;
  for (const Function::VersionInfo& v : f.versions()) {
    EXPECT_GT(v.calls, 0) << v.name;
    calls += v.calls;
  }
  EXPECT_EQ(calls, static_cast<int64_t>(2 * kShapes.size()));
}

TEST(Claims, CompiledCodeIsTheInterpreterAndTheEvaluator) {
  const examples::EncoderConfig config = SmallEncoder();
  absl::StatusOr<Program> p = examples::TraceEncoder(config);
  ASSERT_TRUE(p.ok()) << p.status();
  Engine engine({.threads = 2, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  ASSERT_TRUE(f.ok()) << f.status();
  for (const auto& [batch, seq] : Shapes{{1, 1}, {2, 7}, {0, 5}, {3, 0}, {0, 0}, {1, 33}, {8, 4}}) {
    const std::vector<Tensor> inputs = EncoderInputs(config, batch, seq);
    const auto found = f->call(inputs);
    ASSERT_TRUE(found.ok()) << batch << " x " << seq << ": " << found.status();
    const auto wanted = ir::Interpret(p->graph(), inputs, {.in_f64 = true});
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    EXPECT_EQ((*found)[0].shape(), (*wanted)[0].shape());
    EXPECT_LT(ir::RelativeError((*found)[0], (*wanted)[0]), 2e-6) << batch << " x " << seq;
    const absl::Status s = SameAsEvaluator(*f, inputs, *found);
    EXPECT_TRUE(s.ok()) << batch << " x " << seq << ": " << s;
  }
}

TEST(Claims, VersionsThreadsOrderAndVectorsDontChangeABit) {
  const examples::EncoderConfig config = SmallEncoder();
  Engine one({.threads = 1}), two({.threads = 2}), narrow({.threads = 2, .cpu = "avx2"});
  const Function f = Compile(one, config);
  f.wait_for_versions();
  const std::vector<Tensor> wanted = Results(f, config);
  for (const Function::VersionInfo& v : f.versions()) {
    SCOPED_TRACE(v.name);
    ASSERT_TRUE(f.pin_version(v.name).ok());
    ExpectSame(Results(f, config), wanted);
  }
  ASSERT_TRUE(f.pin_version("").ok());
  EXPECT_FALSE(f.pin_version("no such version").ok());

  ExpectSame(Results(Compile(two, config), config), wanted);
  ExpectSame(Results(Compile(narrow, config), config), wanted);

  Shapes backwards(kShapes.rbegin(), kShapes.rend());
  std::vector<Tensor> results = Results(f, config, backwards);
  std::reverse(results.begin(), results.end());
  ExpectSame(results, wanted);
}

TEST(Claims, FewKernelsAndFewVersionsOfEach) {
  examples::EncoderConfig config = SmallEncoder();
  std::map<int64_t, int> kernels;
  for (int64_t layers : {1, 3}) {
    config.layers = layers;
    Engine engine({.threads = 1});
    const Function f = Compile(engine, config);
    f.wait_for_versions();
    for (int64_t seq : {1, 2, 3, 7, 8, 17, 31, 64, 127, 128})
      Results(f, config, {{1, seq}, {4, seq}});
    f.wait_for_versions();
    std::map<std::string, std::set<std::string>> artefacts;
    std::set<std::string> all;
    for (const Function::VersionInfo& v : f.versions()) {
      kernels[layers] = std::max(kernels[layers], v.kernels);
      for (size_t i = 0; i < v.kernel_families.size(); ++i)
        artefacts[v.kernel_families[i]].insert(v.kernel_keys[i]);
      all.insert(v.kernel_keys.begin(), v.kernel_keys.end());
    }
    size_t most = 0;
    for (const auto& [family, keys] : artefacts) {
      EXPECT_LE(keys.size(), 6u) << family;
      most = std::max(most, keys.size());
    }
    EXPECT_GE(most, 2u) << "the versions have no code of their own";
    // Nothing else was compiled on the way, and nothing is for the same function again.
    EXPECT_EQ(engine.state()->cache.counters().entries, static_cast<int64_t>(all.size()));
    const int64_t compiles = engine.counters().compiles;
    const Function again = Compile(engine, config);
    again.wait_for_versions();
    EXPECT_EQ(engine.counters().compiles, compiles);
  }
  EXPECT_LE((kernels[3] - kernels[1]) / 2, 7);
}

// Whether the statements compute with floats, rather than move elements.
bool ComputesFloats(const std::vector<kernel::Stmt>& body) {
  using kernel::KOp;
  for (const kernel::Stmt& s : body) {
    const bool moves = s.op <= KOp::kMask || s.op == KOp::kSplat || s.op == KOp::kCast ||
                       s.op == KOp::kBitcast || s.op == KOp::kSelect || s.op >= KOp::kLoad;
    if (s.kind == kernel::StmtKind::kLet && IsFloat(s.type.dtype) && !moves) return true;
    if (ComputesFloats(s.body) || ComputesFloats(s.other)) return true;
  }
  return false;
}

// The labels of a function's kernels, over all versions, that only load and store floats.
std::vector<std::string> KernelsThatMove(const Function& f) {
  std::vector<std::string> labels;
  const std::shared_ptr<const rt::VersionTable> table = f.state()->table();
  for (const std::shared_ptr<const rt::Version>& v : table->versions()) {
    for (const rt::GroupReport& g : v->groups) {
      const absl::StatusOr<std::shared_ptr<kernel::Kernel>> k = kernel::ParseKernel(g.kernel_text);
      EXPECT_TRUE(k.ok()) << k.status();
      if (!k.ok()) continue;
      bool computes = ComputesFloats((*k)->body);
      for (const auto& callee : (*k)->callees) computes |= ComputesFloats(callee->body);
      if (!computes) labels.push_back(absl::StrCat(v->name, ": ", g.label));
    }
  }
  return labels;
}

TEST(Claims, NoTransposeStandsAlone) {
  Engine engine({.threads = 1});
  const std::string input = "dim n, m\nx: f32[n, m]\noutput y = ";
  for (const char* moved : {"permute(x, axes=[1, 0])", "reshape(permute(x, axes=[1, 0]), [n*m])"}) {
    EXPECT_EQ(KernelsThatMove(CompileText(engine, input + moved + "\n")).size(), 1u) << moved;
    EXPECT_TRUE(KernelsThatMove(CompileText(engine, input + moved + " + 1\n")).empty()) << moved;
  }
  const Function f = Compile(engine, SmallEncoder());
  f.wait_for_versions();
  EXPECT_GE(f.versions().size(), 2u);
  for (const std::string& label : KernelsThatMove(f)) ADD_FAILURE() << label;
}

// Stores of single elements in the innermost loops of a kernel's text. Per-row results and copies
// of single elements belong to loops around others, or to no loop.
std::vector<std::string> ScalarStores(const std::string& text) {
  struct Loop {
    bool is_loop = false, innermost = true;
    std::vector<std::string> stores;
  };
  std::vector<Loop> open;
  std::set<std::string> vectors;
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    line.erase(0, begin);
    std::istringstream words(line);
    std::string first, second, op, type;
    words >> first >> second >> op >> type;
    if (first == "kernel" || first == "callee") vectors.clear();
    if (!first.empty() && first[0] == '%' && type.find('x') != std::string::npos)
      vectors.insert(first);
    if (line.back() == '{') {
      const bool is_loop = first == "for";
      if (is_loop)
        for (Loop& l : open) l.innermost = false;
      open.push_back({.is_loop = is_loop});
    } else if (line == "}" && !open.empty()) {
      Loop done = std::move(open.back());
      open.pop_back();
      if (done.is_loop && done.innermost)
        found.insert(found.end(), done.stores.begin(), done.stores.end());
    } else if (first == "store" && !open.empty()) {
      const size_t value = line.find('%', line.find("] = "));
      if (value != std::string::npos &&
          vectors.count(line.substr(value, line.find(' ', value) - value)) == 0)
        open.back().stores.push_back(line);
    }
  }
  return found;
}

TEST(Claims, NoTailIsScalar) {
  EXPECT_EQ(ScalarStores("for i0 in [0] to [s0] step 1 {\n  %1 = load f32 b0[i0]\n"
                         "  store b1[i0] = %1\n}\n")
                .size(),
            1u);
  Engine engine({.threads = 1});
  const Function f = Compile(engine, SmallEncoder());
  f.wait_for_versions();
  const std::shared_ptr<const rt::VersionTable> table = f.state()->table();
  for (const std::shared_ptr<const rt::Version>& v : table->versions()) {
    for (const rt::GroupReport& g : v->groups) {
      const std::vector<std::string> scalar = ScalarStores(g.kernel_text);
      EXPECT_TRUE(scalar.empty()) << g.label << ": " << scalar[0];
      if (g.kind == "pointwise") {
        EXPECT_NE(g.kernel_text.find(" mask %"), std::string::npos) << g.label;
      }
    }
  }
}

int64_t Peak(const Function& f, int64_t batch, int64_t seq) {
  const absl::StatusOr<int64_t> bytes = f.peak_bytes({{"batch", batch}, {"seq", seq}});
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or(-1);
}

TEST(Claims, PeakBytesIsTheAllocatorsHighWaterMark) {
  const examples::EncoderConfig config = SmallEncoder();
  for (const auto& [batch, seq] : kShapes) {
    Engine engine({.threads = 2, .background_compiles = false});
    const Function f = Compile(engine, config);
    const std::vector<Tensor> inputs = EncoderInputs(config, batch, seq);
    engine.reset_peak();
    const int64_t before = engine.counters().live_bytes;
    {
      const auto out = f.call(inputs);
      ASSERT_TRUE(out.ok()) << out.status();
    }
    EXPECT_EQ(engine.counters().peak_bytes - before, Peak(f, batch, seq)) << batch << " x " << seq;
  }
}

TEST(Claims, ThePlanIsNearTheLeastPossible) {
  const examples::EncoderConfig config = SmallEncoder();
  Engine engine({.threads = 2, .background_compiles = false, .poison_values = true});
  const Function f = Compile(engine, config);
  for (const auto& [batch, seq] : kShapes) {
    engine.reset_peak();
    ASSERT_TRUE(f.call(EncoderInputs(config, batch, seq)).ok());
    const int64_t live = engine.counters().poison_peak_bytes, peak = Peak(f, batch, seq);
    EXPECT_LE(live, peak) << batch << " x " << seq;
    EXPECT_LE(static_cast<double>(peak), 1.15 * static_cast<double>(live)) << batch << " x " << seq;
  }
}

TEST(Claims, TheLargestSizeFitsAndTheNextDoesNot) {
  Engine engine({.threads = 1, .background_compiles = false});
  const Function f = Compile(engine, SmallEncoder());
  const int64_t budget = Peak(f, 4, 50) + 1000;
  const absl::StatusOr<int64_t> seq = f.largest("seq", {{"batch", 4}}, budget);
  ASSERT_TRUE(seq.ok()) << seq.status();
  EXPECT_GE(*seq, 50);
  EXPECT_LE(Peak(f, 4, *seq), budget);
  EXPECT_GT(Peak(f, 4, *seq + 1), budget);
}

TEST(Claims, StrategiesSayWhichVersionsExist) {
  const examples::EncoderConfig config = SmallEncoder();
  Engine engine({.threads = 1});
  const Function f = Compile(engine, config, {.strategy = Strategy::kFullDynamic});
  f.wait_for_versions();
  const std::vector<Tensor> generic = Results(f, config);
  f.wait_for_versions();
  EXPECT_EQ(f.versions().size(), 1u);
  for (Strategy s : {Strategy::kBatchDynamic, Strategy::kSeqDynamic, Strategy::kFullStatic}) {
    const Function g = Compile(engine, config, {.strategy = s, .max_versions = 3});
    ExpectSame(Results(g, config), generic);
    g.wait_for_versions();
    EXPECT_LE(g.versions().size(), 3u);
    ExpectSame(Results(g, config), generic);
  }
  EXPECT_EQ(engine.counters().compiles_in_calls, 0);
}

TEST(Claims, ExplainNamesVersionAndKernels) {
  Engine engine({.threads = 1});
  const Function f = Compile(engine, SmallEncoder());
  f.wait_for_versions();
  const auto text = f.explain({{"batch", 8}, {"seq", 128}});
  ASSERT_TRUE(text.ok()) << text.status();
  for (const char* part : {"generic", "matmul", "attention", "bytes"})
    EXPECT_NE(text->find(part), std::string::npos) << part << "\n" << *text;
}

}  // namespace
}  // namespace lathe::whole
