#pragma once
// What the tests of passes share: programs as text, what passes make of them, and how far results
// move.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/lower/fuse.h"
#include "compiler/passes/pass.h"
#include "gtest/gtest.h"
#include "ir/compare.h"
#include "ir/expand.h"
#include "ir/graph.h"
#include "ir/interpreter.h"
#include "ir/samples.h"
#include "lathe/engine.h"
#include "lathe/trace.h"

namespace lathe::compiler {

using Pass = absl::Status (*)(ir::Graph&, PassContext&);

inline ir::Graph Parsed(const std::string& text) {
  absl::StatusOr<ir::Graph> graph = ir::Parse(text, "test");
  if (!graph.ok()) {
    ADD_FAILURE() << graph.status() << "\n" << text;
    return ir::Graph();
  }
  return *std::move(graph);
}

// The program after the passes and remove_dead, as text.
inline std::string After(const std::string& text, const std::vector<Pass>& passes,
                         PassContext context = {}) {
  ir::Graph graph = Parsed(text);
  for (Pass pass : passes) {
    absl::Status s = pass(graph, context);
    if (s.ok()) s = ir::Verify(graph);
    EXPECT_TRUE(s.ok()) << s << "\n" << ir::Print(graph);
  }
  EXPECT_TRUE(RemoveDead(graph, context).ok());
  return ir::Print(graph);
}

inline std::string Normal(const std::string& text) { return ir::Print(Parsed(text)); }

// After one pass, with what comes before it in the table.
inline ir::Graph Rewritten(const std::string& text, Pass pass) {
  ir::Graph graph = Parsed(text);
  PassContext context;
  for (Pass p : {Pass(Canonicalize), Pass(FoldConstants), Pass(EliminateCommon), pass}) {
    absl::Status s = p(graph, context);
    if (s.ok()) s = ir::Verify(graph);
    EXPECT_TRUE(s.ok()) << s << "\n" << ir::Print(graph);
  }
  EXPECT_TRUE(RemoveDead(graph, context).ok());
  return graph;
}

// The same with the names of values left out: exported and recognised forms have different ones.
inline std::string Text(ir::Graph graph) {
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.node(v).op != ir::Op::k_input) graph.node(v).name.clear();
  }
  PassContext context;
  EXPECT_TRUE(RemoveDead(graph, context).ok());
  return ir::Print(graph);
}

inline void ExpectBecomes(const std::string& before, const std::string& after, Pass pass) {
  EXPECT_EQ(Text(Rewritten(before, pass)), Text(Rewritten(after, RemoveDead))) << before;
}

inline void ExpectStays(const std::string& text, Pass pass) { ExpectBecomes(text, text, pass); }

// Both programs by the interpreter at these sizes: the largest relative error between them.
inline double Difference(const ir::Graph& before, const ir::Graph& after,
                         const std::vector<int64_t>& sizes) {
  const std::vector<Tensor> inputs = ir::SampleInputs(before, sizes, 3, true);
  const absl::StatusOr<std::vector<Tensor>> a = ir::Interpret(before, inputs);
  const absl::StatusOr<std::vector<Tensor>> b = ir::Interpret(after, inputs);
  EXPECT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  if (!a.ok() || !b.ok()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t i = 0; i < a->size(); ++i)
    worst = std::max(worst, ir::RelativeError((*b)[i], (*a)[i]));
  return worst;
}

// Kernels of the program after all passes.
inline int Kernels(const std::string& text) {
  ir::Graph graph = Parsed(text);
  graph.fast_math = true;  // as models of files
  PassContext context;
  context.verify = true;
  absl::Status s = RunPasses(graph, context);
  if (s.ok()) s = ir::ExpandComposites(&graph);
  EXPECT_TRUE(s.ok()) << s;
  const FusionPlan plan = Fuse(graph);
  SCOPED_TRACE(plan.ToString(graph));
  return static_cast<int>(plan.groups.size());
}

inline std::string Plan(const std::string& text) {
  ir::Graph graph = Parsed(text);
  graph.fast_math = true;  // as models of files
  PassContext context;
  absl::Status s = RunPasses(graph, context);
  if (s.ok()) s = ir::ExpandComposites(&graph);
  EXPECT_TRUE(s.ok()) << s;
  return absl::StrCat(Fuse(graph).ToString(graph), ir::Print(graph));
}

// Compiled after all passes, against the interpreter of the program as it was written: the largest
// relative error at these sizes.
inline double CompiledDifference(const std::string& text,
                                 const std::vector<std::vector<int64_t>>& sizes) {
  ir::Graph graph = Parsed(text);
  graph.fast_math = true;  // as models of files
  const ir::Graph before = graph.Clone();
  Engine engine;
  absl::StatusOr<Function> f =
      engine.compile(Program(std::make_unique<ir::Graph>(std::move(graph))));
  absl::Status s = f.status();
  if (s.ok()) s = f->prepare();
  EXPECT_TRUE(s.ok()) << s;
  double worst = s.ok() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t k = 0; k < sizes.size() && s.ok(); ++k) {
    const std::vector<Tensor> inputs = ir::SampleInputs(before, sizes[k], 5, false);
    const absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(before, inputs);
    const absl::StatusOr<std::vector<Tensor>> found = f->call(inputs);
    s = wanted.ok() ? found.status() : wanted.status();
    EXPECT_TRUE(s.ok()) << s;
    for (size_t i = 0; s.ok() && i < wanted->size(); ++i)
      worst = std::max(worst, ir::RelativeError((*found)[i], (*wanted)[i]));
  }
  return worst;
}

// Each convolution as the importer writes it: rows by a matrix, then [n, o, m] -> [n, m, o].
inline std::string Convolutions(const std::string& tail) {
  return absl::StrCat(R"(
dim n, o
x: f32[n, o, 8]
w = constant(f32[8, 4]{0.5*32})
c = permute(reshape(reshape(x, [n*o, 8]) @ w, [n, o, 4]), axes=[0, 2, 1])
b = constant(f32[1, 4, 1]{1, 2, 3, 4})
)",
                      tail);
}

}  // namespace lathe::compiler
