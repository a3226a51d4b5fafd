#pragma once
// Shorthands of the tests of ir: a graph with a builder, and values of it.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/builder.h"

namespace lathe::ir {

struct GraphBuilder {
  Graph graph;
  Builder b{&graph};

  Dim Symbol(const std::string& name) { return graph.dims()->Symbol(name); }
  // A symbol with bounds or other declared facts, as in "1..8".
  Dim Symbol(const std::string& name, const std::string& spec) {
    const Dim d = Symbol(name);
    const absl::Status s = graph.facts().AddSpec(&d, spec, {"dim " + name, ""});
    EXPECT_TRUE(s.ok()) << s;
    return d;
  }
  ValueId In(const std::string& name, DType dtype, Shape shape) {
    return Ok(b.Input(name, {dtype, std::move(shape)}));
  }
  static ValueId Ok(const absl::StatusOr<ValueId>& v) {
    EXPECT_TRUE(v.ok()) << v.status();
    return v.ok() ? *v : 0;
  }
  ValueId Make(Op op, std::vector<ValueId> operands, Attrs attrs = {}) {
    return Ok(b.Create(op, std::move(operands), std::move(attrs)));
  }
  std::string Type(const absl::StatusOr<ValueId>& v) {
    return v.ok() ? graph.type(*v).ToString() : std::string(v.status().message());
  }
  // The required claims, in the order in which they came.
  std::vector<std::string> Required() const {
    std::vector<std::string> claims;
    for (const dim::Fact& fact : graph.facts().facts()) {
      if (fact.standing == dim::Standing::kRequired) claims.push_back(fact.claim.ToString());
    }
    return claims;
  }
  // Whether the declared and required facts hold for sizes in order of the symbols.
  bool Admits(const std::vector<int64_t>& sizes) const {
    for (const dim::Fact& fact : graph.facts().facts()) {
      if (fact.standing == dim::Standing::kDerived) continue;
      const absl::StatusOr<bool> holds = dim::Evaluate(fact.claim, sizes);
      EXPECT_TRUE(holds.ok()) << holds.status();
      if (!holds.ok() || !*holds) return false;
    }
    return true;
  }
  // The extents of a value for such sizes.
  std::vector<int64_t> Extents(ValueId v, const std::vector<int64_t>& sizes) const {
    std::vector<int64_t> extents;
    for (Dim d : graph.type(v).shape) extents.push_back(dim::Evaluate(d, sizes).value_or(-1));
    return extents;
  }
  void ExpectVerified() const {
    const absl::Status s = Verify(graph);
    EXPECT_TRUE(s.ok()) << s;
  }
};

}  // namespace lathe::ir
