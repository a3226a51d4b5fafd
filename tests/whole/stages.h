#pragma once
// Programs in stages for tests: graphs as text in one DimContext, put together slot by slot.
//
//   Stages s("positives");
//   const ir::SlotId x = s.Input("x", "f32[n]");
//   const auto found = s.Graph("find", "x: f32[n]\n...", {x});
//   s.Output("y", found[0]);
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/staged.h"
#include "ir/text_parser.h"
#include "lathe/lathe.h"

namespace lathe::whole {

class Stages {
 public:
  using Slots = std::vector<ir::SlotId>;

  explicit Stages(const std::string& name) : dims_(std::make_shared<dim::DimContext>()) {
    program_.name = name;
  }
  // A body of it, with the same sizes.
  Stages Body(const std::string& name) const {
    Stages body(name);
    body.dims_ = dims_;
    return body;
  }

  ir::ValueType Type(const std::string& spec) const {
    ir::Graph scratch(dims_);
    absl::StatusOr<ir::ValueType> type = ir::ParseTypeSpec(spec, &scratch);
    EXPECT_TRUE(type.ok()) << type.status();
    return type.ok() ? *type : ir::ValueType{};
  }
  ir::SlotId Input(const std::string& name, const std::string& spec) {
    program_.inputs.push_back(program_.num_slots++);
    program_.input_names.push_back(name);
    program_.input_types.push_back(Type(spec));
    return program_.inputs.back();
  }
  std::shared_ptr<ir::Graph> Parse(const std::string& name, const std::string& text) const {
    auto graph = std::make_shared<ir::Graph>(dims_);
    graph->name = name;
    ir::TextSession session(graph.get());
    ir::StatementReader reader(text);
    for (ir::StatementText s = reader.Next(); !s.text.empty(); s = reader.Next()) {
      const auto result = session.Execute(s);
      EXPECT_TRUE(result.ok()) << result.status() << "\nin " << std::string(s.text);
    }
    return graph;
  }
  // Slots of the graph's outputs.
  Slots Graph(const std::string& name, const std::string& text, Slots inputs) {
    ir::Stage stage;
    stage.name = name;
    stage.graph = Parse(name, text);
    stage.inputs = std::move(inputs);
    return Add(std::move(stage), stage.graph == nullptr ? 0 : stage.graph->body.results.size());
  }
  Slots If(ir::SlotId condition, Slots inputs, const Stages& then, const Stages& otherwise) {
    ir::Stage stage;
    stage.kind = ir::Stage::Kind::kIf;
    stage.name = then.program_.name;
    stage.condition = condition;
    stage.inputs = std::move(inputs);
    stage.bodies = {then.Share(), otherwise.Share()};
    return Add(std::move(stage), then.program_.outputs.size());
  }
  struct LoopOptions {
    ir::SlotId trips = ir::kNoSlot, condition = ir::kNoSlot;
    bool gives_condition = false;
    std::vector<std::string> scanned;
  };
  Slots Loop(const Stages& body, int carried, Slots inputs, const LoopOptions& options) {
    ir::Stage stage;
    stage.kind = ir::Stage::Kind::kLoop;
    stage.name = body.program_.name;
    stage.trips = options.trips;
    stage.condition = options.condition;
    stage.gives_condition = options.gives_condition;
    stage.num_carried = carried;
    stage.inputs = std::move(inputs);
    stage.bodies = {body.Share()};
    for (const std::string& spec : options.scanned) stage.scanned.push_back(Type(spec));
    return Add(std::move(stage), static_cast<size_t>(carried) + options.scanned.size());
  }
  void Output(const std::string& name, ir::SlotId slot) {
    program_.outputs.push_back(slot);
    program_.output_names.push_back(name);
  }

  ir::Staged& program() { return program_; }
  std::shared_ptr<const ir::Staged> Share() const {
    return std::make_shared<const ir::Staged>(program_);
  }
  // With graphs of its own, because compiling changes them.
  Program Take() const { return Program(std::make_unique<ir::Staged>(Copy(program_))); }

 private:
  Slots Add(ir::Stage stage, size_t outputs) {
    for (size_t i = 0; i < outputs; ++i) stage.outputs.push_back(program_.num_slots++);
    program_.stages.push_back(std::move(stage));
    return program_.stages.back().outputs;
  }
  static ir::Staged Copy(const ir::Staged& program) {
    ir::Staged copy = program;
    for (ir::Stage& stage : copy.stages) {
      if (stage.graph != nullptr) stage.graph = std::make_shared<ir::Graph>(stage.graph->Clone());
      for (std::shared_ptr<const ir::Staged>& body : stage.bodies)
        body = std::make_shared<const ir::Staged>(Copy(*body));
    }
    return copy;
  }

  std::shared_ptr<dim::DimContext> dims_;
  ir::Staged program_;
};

// The positions of what is > 0 in x, by hand: how many there are and a list of n, then the list cut
// to k <= n, and what stands there.
inline Stages Positives() {
  Stages s("positives");
  const ir::SlotId x = s.Input("x", "f32[n]");
  const auto found = s.Graph("find", R"(x: f32[n]
m = cast(x > 0, i64)
i = iota([n, 1], axis=0, dtype=i64)
j = iota([n], axis=0, dtype=i64)
upto = sum(m * cast(j <= i, i64), axes=[1])
list = sum(cast(reshape(upto, [1, n]) <= iota([n, 1], axis=0, dtype=i64), i64), axes=[1])
count = reshape(sum(m), [1])
output count
output list
)",
                             {x});
  const auto cut = s.Graph("cut", R"(x: f32[n]
count: i64[1] = input(elements=[k])
list: i64[n]
assume k <= n
at = list[0:k]
output at
output there = gather(x, at, axis=0)
)",
                           {x, found[0], found[1]});
  s.Output("at", cut[0]);
  s.Output("there", cut[1]);
  return s;
}

}  // namespace lathe::whole
