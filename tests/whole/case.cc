#include "tests/whole/case.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "ir/compare.h"
#include "ir/graph.h"
#include "tests/whole/case_text.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

std::string WithoutAssumptions(const std::string& text) {
  std::istringstream lines(text);
  std::string kept, line;
  while (std::getline(lines, line))
    if (line.rfind("assume", 0) != 0) absl::StrAppend(&kept, line, "\n");
  return kept;
}

void CheckResults(const Function& f, const CaseCall& call) {
  absl::StatusOr<std::vector<Tensor>> found = f.call(call.inputs);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_EQ(found->size(), call.wanted.size());
  for (size_t i = 0; i < found->size(); ++i) {
    const absl::Status s = ir::SameBits((*found)[i], call.wanted[i]);
    ASSERT_TRUE(s.ok()) << "output " << i << ": " << s << "\nfound " << (*found)[i].ToString()
                        << "\nwanted " << call.wanted[i].ToString();
  }
}

// In three engines: one thread, two, and every value in a poisoned block of its own.
Engine MakeEngine(int kind) {
  return Engine(
      {.threads = kind == 1 ? 2 : 1, .background_compiles = false, .poison_values = kind == 2});
}

std::string SymbolicSource(const std::vector<std::string>& dims, const std::string& text) {
  std::string source;
  for (const std::string& d : dims) absl::StrAppend(&source, "dim ", d, "\n");
  absl::StrAppend(&source, absl::StrReplaceAll(text, {{"$", ""}}));
  return source;
}

std::string StaticSource(const std::vector<std::string>& dims, const std::string& text,
                         const CaseCall& call) {
  std::string source = WithoutAssumptions(text);
  for (size_t i = 0; i < dims.size(); ++i)
    source = absl::StrReplaceAll(source, {{"$" + dims[i], absl::StrCat(call.sizes[i])}});
  return source;
}

void CheckSymbolic(const std::vector<std::string>& dims, const std::string& text,
                   const std::vector<CaseCall>& calls, int kind) {
  const std::string source = SymbolicSource(dims, text);
  SCOPED_TRACE(source);
  Engine engine = MakeEngine(kind);
  absl::StatusOr<ir::Graph> graph = ir::Parse(source);
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<Function> f = CompileGraph(engine, *graph);
  ASSERT_TRUE(f.ok()) << f.status();
  const int64_t compiles = engine.counters().compiles;
  for (size_t turn = 0; turn <= calls.size(); ++turn) {
    const CaseCall& call = calls[turn % calls.size()];
    SCOPED_TRACE(absl::StrCat("turn ", turn, ", sizes ", absl::StrJoin(call.sizes, ", ")));
    if (call.error.empty()) {
      CheckResults(*f, call);
    } else {
      const absl::Status s = f->call(call.inputs).status();
      ASSERT_FALSE(s.ok());
      EXPECT_TRUE(std::string(s.message()).find(call.error) != std::string::npos) << s;
    }
    if (testing::Test::HasFatalFailure()) return;
    const absl::Status s = CheckCall(*f, *graph, call.inputs, /*exact=*/true, true);
    ASSERT_TRUE(s.ok()) << s;
  }
  EXPECT_EQ(engine.counters().compiles, compiles) << "a size was specialised silently";
}

void CheckStatic(const std::vector<std::string>& dims, const std::string& text,
                 const CaseCall& call, int kind) {
  const std::string source = StaticSource(dims, text, call);
  SCOPED_TRACE(source);
  Engine engine = MakeEngine(kind);
  absl::StatusOr<ir::Graph> graph = ir::Parse(source);
  if (!call.error.empty() && !graph.ok()) return;
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<Function> f = CompileGraph(engine, *graph);
  if (!call.error.empty()) {
    if (f.ok()) {
      const absl::Status s = f->call(call.inputs).status();
      EXPECT_FALSE(s.ok() || absl::IsInternal(s)) << s;
    }
    return;
  }
  ASSERT_TRUE(f.ok()) << f.status();
  CheckResults(*f, call);
  const absl::Status s = CheckCall(*f, *graph, call.inputs, /*exact=*/true, true);
  EXPECT_TRUE(s.ok()) << s;
}

// With open dims for all calls, and with the sizes of each call that is served.
std::vector<CaseGraph> GraphsOf(const std::vector<std::string>& dims, const std::string& text,
                                const std::vector<CaseCall>& calls) {
  std::vector<CaseGraph> graphs;
  const auto add = [&](const std::string& source, std::vector<const CaseCall*> served) {
    absl::StatusOr<ir::Graph> graph = ir::Parse(source);
    ASSERT_TRUE(graph.ok()) << graph.status();
    graphs.push_back({*std::move(graph), std::move(served)});
  };
  std::vector<const CaseCall*> all;
  for (const CaseCall& call : calls) all.push_back(&call);
  add(SymbolicSource(dims, text), all);
  for (const CaseCall* call : all) {
    if (call->error.empty()) add(StaticSource(dims, text, *call), {call});
  }
  return graphs;
}

}  // namespace

void CheckCase(const std::vector<std::string>& dims, const std::string& text,
               const std::vector<CaseCall>& calls) {
  for (int kind = 0; kind < 3; ++kind) {
    CheckSymbolic(dims, text, calls, kind);
    for (const CaseCall& call : calls) CheckStatic(dims, text, call, kind);
  }
  if (!testing::Test::HasFatalFailure()) CheckCudaTexts(GraphsOf(dims, text, calls));
}

Function CompileText(Engine& engine, const std::string& text, CompileOptions options) {
  absl::StatusOr<Function> f = engine.compile(Program::parse(text), options);
  if (f.ok()) {
    if (const absl::Status s = f->prepare(); !s.ok()) f = s;
  }
  EXPECT_TRUE(f.ok()) << f.status() << "\n" << text;
  return f.ok() ? *f : Function(nullptr);
}

Tensor Counted(std::vector<int64_t> shape, float start) {
  Tensor t(f32, std::move(shape));
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = start + static_cast<float>(i);
  return t;
}

}  // namespace lathe::whole
