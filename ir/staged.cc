// Programs in stages: the text for people, and the graphs that go with one.
#include "ir/staged.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/builder.h"
#include "ir/input_data.h"
#include "ir/status_macros.h"

namespace lathe::ir {
namespace {

std::string Slots(const std::vector<SlotId>& slots) {
  return absl::StrCat(
      "(",
      absl::StrJoin(slots, ", ", [](std::string* out, SlotId s) { absl::StrAppend(out, "s", s); }),
      ")");
}

void Indent(const std::string& text, int by, std::string* out) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!line.empty()) absl::StrAppend(out, std::string(static_cast<size_t>(by), ' '), line, "\n");
  }
}

const char* KindText(Stage::Kind kind) {
  switch (kind) {
    case Stage::Kind::kGraph:
      return "graph";
    case Stage::Kind::kIf:
      return "if";
    case Stage::Kind::kLoop:
      return "loop";
  }
  return "?";
}

class Printer {
 public:
  std::string Run(const Staged& program) {
    absl::StrAppend(&out_, "program \"", program.name, "\"\n");
    Body(program, 0);
    return std::move(out_);
  }

 private:
  void Line(int indent, const std::string& text) { Indent(text, indent, &out_); }

  // A body that stands in several places is printed once; depth is bounded by the verifier, and
  // here for programs that it refuses.
  void Body(const Staged& program, int depth) {
    const int indent = 2 * depth;
    if (depth > 2 * kMaxBlockDepth + 2) return Line(indent, "...");
    std::string inputs;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
      absl::StrAppend(&inputs, i > 0 ? ", " : "", "s", program.inputs[i]);
      if (i < program.input_names.size()) absl::StrAppend(&inputs, " = ", program.input_names[i]);
      if (i < program.input_types.size())
        absl::StrAppend(&inputs, ": ", program.input_types[i].ToString());
    }
    Line(indent, absl::StrCat("inputs ", inputs));
    for (size_t i = 0; i < program.stages.size(); ++i) Print(program, i, depth);
    std::string outputs;
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      absl::StrAppend(&outputs, i > 0 ? ", " : "", "s", program.outputs[i]);
      if (i < program.output_names.size())
        absl::StrAppend(&outputs, " = ", program.output_names[i]);
    }
    Line(indent, absl::StrCat("outputs ", outputs));
  }

  void Print(const Staged& program, size_t i, int depth) {
    const Stage& stage = program.stages[i];
    const int indent = 2 * depth;
    std::string line = StageText(program, i);
    if (stage.kind == Stage::Kind::kIf) absl::StrAppend(&line, " s", stage.condition);
    if (stage.trips != kNoSlot) absl::StrAppend(&line, " trips s", stage.trips);
    if (stage.kind == Stage::Kind::kLoop && stage.condition != kNoSlot)
      absl::StrAppend(&line, " while s", stage.condition);
    absl::StrAppend(&line, ": ", Slots(stage.inputs), " -> ", Slots(stage.outputs));
    if (stage.kind == Stage::Kind::kLoop) {
      absl::StrAppend(&line, ", carries ", stage.num_carried,
                      stage.gives_condition ? ", gives a condition" : "");
      for (const ValueType& type : stage.scanned)
        absl::StrAppend(&line, ", scans ", type.ToString());
    }
    Line(indent, line);
    if (stage.graph != nullptr) {
      const auto [it, fresh] = graphs_.insert(stage.graph.get());
      Line(indent + 4, fresh ? ir::Print(*stage.graph)
                             : absl::StrCat("the graph \"", stage.graph->name, "\" of above"));
    }
    for (size_t b = 0; b < stage.bodies.size(); ++b) {
      Line(indent + 2, stage.kind == Stage::Kind::kLoop ? "each step" : b == 0 ? "then" : "else");
      if (stage.bodies[b] == nullptr) continue;
      if (bodies_.insert(stage.bodies[b].get()).second) {
        Body(*stage.bodies[b], depth + 2);
      } else {
        Line(indent + 4, absl::StrCat("the body \"", stage.bodies[b]->name, "\" of above"));
      }
    }
  }

  std::string out_;
  absl::flat_hash_set<const Graph*> graphs_;
  absl::flat_hash_set<const Staged*> bodies_;
};

// The elements that a graph stage of `program` takes as sizes from its input `input`.
const std::optional<Shape>* ElementsOf(const Staged& program, size_t input) {
  const SlotId slot = program.inputs[input];
  for (const Stage& stage : program.stages) {
    if (stage.kind != Stage::Kind::kGraph) continue;
    for (size_t i = 0; i < stage.inputs.size(); ++i) {
      if (stage.inputs[i] != slot) continue;
      const Node& n = stage.graph->node(stage.graph->inputs[i]);
      if (n.attrs.elements && n.type == program.input_types[input]) return &n.attrs.elements;
    }
  }
  return nullptr;
}

void AddSymbols(Dim d, absl::flat_hash_set<dim::SymbolId>* symbols) {
  for (dim::SymbolId s : dim::FreeSymbols(d)) symbols->insert(s);
}

// One context for all: of the first graph found.
std::shared_ptr<dim::DimContext> ContextFor(const Staged& program) {
  for (const std::shared_ptr<Graph>& graph : GraphsOf(program)) return graph->shared_dims();
  return std::make_shared<dim::DimContext>();
}

// Input `i` of `program` as an input of `graph`, of that type and with the sizes that its elements
// give.
absl::Status AddInput(const Staged& program, size_t i, ValueType type, Graph* graph) {
  Attrs attrs;
  if (const std::optional<Shape>* elements = ElementsOf(program, i)) attrs.elements = *elements;
  const std::string name =
      i < program.input_names.size() ? program.input_names[i] : absl::StrCat("input.", i);
  Builder builder(graph);
  return builder.Input(name, std::move(type), std::move(attrs)).status();
}

}  // namespace

std::string Print(const Staged& program) { return Printer().Run(program); }

std::string StageText(const Staged& program, size_t stage) {
  const Stage& s = program.stages[stage];
  const std::string& name = s.name.empty() && s.graph != nullptr ? s.graph->name : s.name;
  return absl::StrCat("stage ", stage, ", ", KindText(s.kind),
                      name.empty() ? "" : absl::StrCat(" '", name, "'"));
}

std::vector<const Staged*> ProgramsOf(const Staged& program) {
  std::vector<const Staged*> found = {&program};
  absl::flat_hash_set<const Staged*> seen = {&program};
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Stage& stage : found[i]->stages) {
      for (const std::shared_ptr<const Staged>& body : stage.bodies)
        if (body != nullptr && seen.insert(body.get()).second) found.push_back(body.get());
    }
  }
  return found;
}

std::vector<std::shared_ptr<Graph>> GraphsOf(const Staged& program) {
  std::vector<std::shared_ptr<Graph>> graphs;
  absl::flat_hash_set<const Graph*> seen;
  for (const Staged* p : ProgramsOf(program)) {
    for (const Stage& stage : p->stages) {
      if (stage.graph != nullptr && seen.insert(stage.graph.get()).second)
        graphs.push_back(stage.graph);
    }
  }
  return graphs;
}

absl::StatusOr<Graph> EntryGraph(const Staged& program) {
  Graph graph(ContextFor(program));
  graph.name = program.name;
  absl::flat_hash_set<dim::SymbolId> symbols;
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    LATHE_RETURN_IF_ERROR(AddInput(program, i, program.input_types[i], &graph));
    const Node& n = graph.node(graph.inputs.back());
    for (Dim d : n.type.shape) AddSymbols(d, &symbols);
    if (n.attrs.elements)
      for (Dim d : *n.attrs.elements) AddSymbols(d, &symbols);
  }
  absl::flat_hash_set<std::string> seen;
  for (const Stage& stage : program.stages) {
    if (stage.kind != Stage::Kind::kGraph) continue;
    for (const dim::Fact& fact : stage.graph->facts().facts()) {
      if (fact.standing != dim::Standing::kDeclared) continue;
      absl::flat_hash_set<dim::SymbolId> of_fact;
      AddSymbols(fact.claim.lhs, &of_fact);
      AddSymbols(fact.claim.rhs, &of_fact);
      const bool known = std::all_of(of_fact.begin(), of_fact.end(),
                                     [&](dim::SymbolId s) { return symbols.contains(s); });
      if (!known || !seen.insert(fact.claim.ToString()).second) continue;
      LATHE_RETURN_IF_ERROR(graph.facts().Add(fact.claim, fact.standing, fact.source).status());
    }
  }
  return graph;
}

absl::StatusOr<EmptyScans> MakeEmptyScans(const Staged& body, const Stage& loop) {
  EmptyScans scans{Graph(ContextFor(body)), {}};
  Graph& graph = scans.graph;
  graph.name = absl::StrCat(loop.name, " without steps");
  absl::flat_hash_set<dim::SymbolId> wanted, shown;
  for (const ValueType& type : loop.scanned)
    for (Dim d : type.shape) AddSymbols(d, &wanted);
  // The body's input 0 is the step. Inputs that show one of the symbols by itself are enough; what
  // else their shapes are isn't asked of a loop that takes no step.
  for (size_t i = 1; i < body.inputs.size(); ++i) {
    absl::flat_hash_set<dim::SymbolId> shows;
    const auto note = [&](Dim d) {
      dim::SymbolId s = 0;
      const bool fits = dim::IsSymbol(d, &s) && wanted.contains(s) && !shown.contains(s);
      if (fits) shows.insert(s);
      return fits;
    };
    ValueType type = body.input_types[i];
    for (Dim& d : type.shape)
      if (!note(d) && !d.is_constant()) d = graph.dims()->FreshSymbol("extent");
    if (const std::optional<Shape>* elements = ElementsOf(body, i))
      for (Dim d : **elements) note(d);
    if (shows.empty()) continue;
    shown.insert(shows.begin(), shows.end());
    LATHE_RETURN_IF_ERROR(AddInput(body, i, std::move(type), &graph));
    scans.inputs.push_back(static_cast<int>(i) - 1);
  }
  absl::flat_hash_map<dim::SymbolId, Dim> unknown;
  for (dim::SymbolId s : wanted)
    if (!shown.contains(s)) unknown[s] = 0;
  Builder builder(&graph);
  for (size_t i = 0; i < loop.scanned.size(); ++i) {
    Shape shape = {0};
    for (Dim d : loop.scanned[i].shape) {
      const Dim extent = dim::Substitute(d, unknown, graph.dims());
      // Where zeros make it senseless (a division by 0, less than nothing), 0 it is.
      const bool fits = extent.ok() && graph.facts().Proves(extent >= 0);
      shape.push_back(fits ? extent : Dim(0));
    }
    const DType dtype = loop.scanned[i].dtype;
    LATHE_ASSIGN_OR_RETURN(const ValueId zero, builder.ScalarConstant(dtype, 0));
    LATHE_ASSIGN_OR_RETURN(const ValueId empty, builder.BroadcastTo(zero, shape));
    LATHE_RETURN_IF_ERROR(builder.Output(absl::StrCat("scanned", i), empty));
  }
  return scans;
}

namespace {

absl::Status CheckIsOne(const Tensor& t, const char* what) {
  if (t.num_elements() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has ", t.num_elements(), " elements, wanted 1"));
}

}  // namespace

absl::StatusOr<bool> ConditionOf(const Tensor& t) {
  LATHE_RETURN_IF_ERROR(CheckIsOne(t, "the condition"));
  return *static_cast<const char*>(t.raw()) != 0;
}

absl::StatusOr<int64_t> TripsOf(const Tensor& t) {
  LATHE_RETURN_IF_ERROR(CheckIsOne(t, "the number of steps"));
  return IntegerElement(t, 0);
}

}  // namespace lathe::ir
