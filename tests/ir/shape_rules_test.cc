// Result types and claims of every op's row, with static and symbolic dims; the texts of refusals.
#include "ir/shape_rules.h"

#include <cmath>
#include <limits>

#include "tests/ir/graph_builder.h"

namespace lathe::ir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ShapeRules : public ::testing::Test, public GraphBuilder {
 protected:
  std::string TypeOf(Op op, std::vector<ValueId> operands, Attrs attrs = {}) {
    return Type(b.Create(op, std::move(operands), std::move(attrs)));
  }
};

// -- sources

TEST_F(ShapeRules, Sources) {
  const Dim n = Symbol("n");
  EXPECT_EQ(TypeOf(Op::k_iota, {}, {.axis = -1, .shape = Shape{n, 4}, .dtype = i32}), "i32[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_size, {}, {.dim = 4 * n}), "i64[]");
  EXPECT_EQ(TypeOf(Op::k_random, {},
                   {.shape = Shape{n}, .dtype = f32, .seed = 1, .distribution = "normal"}),
            "f32[n]");
  EXPECT_THAT(TypeOf(Op::k_random, {},
                     {.shape = Shape{n}, .dtype = f32, .seed = 1, .distribution = "gauss"}),
              HasSubstr("distribution is 'gauss'; wanted 'uniform' or 'normal'"));
  EXPECT_THAT(TypeOf(Op::k_random, {},
                     {.shape = Shape{n}, .dtype = i32, .seed = 1, .distribution = "normal"}),
              HasSubstr("can't make elements of type i32"));
  EXPECT_THAT(TypeOf(Op::k_iota, {}, {.axis = 2, .shape = Shape{n, 4}, .dtype = i32}),
              HasSubstr("axis 2 is outside of rank 2; wanted -2..1"));
  EXPECT_THAT(TypeOf(Op::k_iota, {}, {.axis = 0, .shape = Shape{}, .dtype = i32}),
              HasSubstr("a scalar has no axes"));
  EXPECT_THAT(TypeOf(Op::k_iota, {}, {.shape = Shape{n}, .dtype = i32}),
              HasSubstr("lacks the attribute 'axis'; wanted shape, axis, dtype"));
}

TEST_F(ShapeRules, ADimThatMayBeNegativeIsRequiredNotToBe) {
  const Dim n = Symbol("n");
  EXPECT_EQ(TypeOf(Op::k_iota, {}, {.axis = 0, .shape = Shape{n - 5}, .dtype = i32}), "i32[n - 5]");
  EXPECT_TRUE(Admits({5}));
  EXPECT_FALSE(Admits({4}));
  EXPECT_THAT(TypeOf(Op::k_iota, {}, {.axis = 0, .shape = Shape{-1 - n}, .dtype = i32}),
              HasSubstr("negative"));
  EXPECT_THAT(TypeOf(Op::k_iota, {}, {.axis = 0, .shape = Shape{-3}, .dtype = i32}),
              HasSubstr("axis 0 of i32[-3] is negative"));
}

TEST_F(ShapeRules, SizesBeyondTheLimitsAreRefusedBeforeAnyAllocation) {
  const ValueId x = In("x", f32, {1, 1});
  const int64_t big = int64_t{1} << 32;
  EXPECT_THAT(TypeOf(Op::k_broadcast, {x}, {.axes = {0, 1}, .shape = Shape{big, big}}),
              AllOf(HasSubstr("4294967296 * 4294967296 * 4 bytes"), HasSubstr("limit")));
  EXPECT_THAT(TypeOf(Op::k_broadcast, {x}, {.axes = {0, 1}, .shape = Shape{kMaxDim + 1, 1}}),
              HasSubstr("more than the limit of 2^40"));
  EXPECT_THAT(TypeOf(Op::k_broadcast, {x}, {.axes = {0, 1}, .shape = Shape(17, Dim(1))}),
              HasSubstr("rank 17, the limit is 16"));
  const Dim n = Symbol("n");
  Dim huge = n;
  for (int i = 0; i < 4; ++i) huge *= int64_t{1} << 30;
  EXPECT_FALSE(b.Create(Op::k_broadcast, {x}, {.axes = {0, 1}, .shape = Shape{huge, 1}}).ok());
  EXPECT_FALSE(b.Input("y", {f32, {huge}}).ok());
}

TEST_F(ShapeRules, ADimOfAnotherProgramIsRefused) {
  GraphBuilder other;
  EXPECT_THAT(Type(b.Input("x", {f32, {other.Symbol("n")}})), HasSubstr("another program"));
}

// -- elementwise

TEST_F(ShapeRules, ElementwiseWantsOneTypeAndOneShape) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, 4}), y = In("y", f32, {m, 4}), k = In("k", i32, {n, 4});
  const ValueId p = In("p", bool_, {n, 4});
  EXPECT_EQ(TypeOf(Op::k_add, {x, x}), "f32[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_lt, {x, x}), "bool[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_eq, {p, p}), "bool[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_select, {p, x, x}), "f32[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_cast, {x}, {.dtype = i64}), "i64[n, 4]");
  EXPECT_THAT(TypeOf(Op::k_add, {x, y}),
              HasSubstr("[n, 4] and [m, 4], not known to be equal; wanted one shape"));
  EXPECT_THAT(TypeOf(Op::k_add, {x, k}), HasSubstr("f32 and i32; wanted one type: cast"));
  EXPECT_THAT(TypeOf(Op::k_exp, {k}), HasSubstr("operand 0 is i32; wanted a float"));
  EXPECT_THAT(TypeOf(Op::k_and, {x, x}), HasSubstr("operand 0 is f32; wanted bool"));
  EXPECT_THAT(TypeOf(Op::k_bit_and, {x, x}), HasSubstr("wanted an integer"));
  EXPECT_THAT(TypeOf(Op::k_select, {x, x, x}), HasSubstr("the condition is f32; wanted bool"));
  EXPECT_THAT(TypeOf(Op::k_add, {x}), HasSubstr("has 1 operands; wanted 2"));
  EXPECT_THAT(TypeOf(Op::k_neg, {x}, {.axis = 1}), HasSubstr("no attribute 'axis'; wanted none"));
  EXPECT_THAT(TypeOf(Op::k_neg, {12345}), HasSubstr("no value of this graph"));
}

TEST_F(ShapeRules, DimsThatTheFactsMakeEqualAreOneShape) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const Dim four = Symbol("four", "4..4");
  ASSERT_TRUE(graph.facts().Add(Eq(n, m), dim::Standing::kDeclared, {"test", ""}).ok());
  const ValueId x = In("x", f32, {n, four}), y = In("y", f32, {m, 4});
  EXPECT_EQ(TypeOf(Op::k_add, {x, y}), "f32[n, 4]");
  EXPECT_THAT(Required(), IsEmpty());
}

// -- views

TEST_F(ShapeRules, Broadcast) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, 1});
  EXPECT_EQ(TypeOf(Op::k_broadcast, {x}, {.axes = {1, 2}, .shape = Shape{8, n, m}}),
            "f32[8, n, m]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_broadcast, {x}, {.axes = {1, 0}, .shape = Shape{1, n}}),
              HasSubstr("wanted ascending axes"));
  EXPECT_THAT(TypeOf(Op::k_broadcast, {x}, {.axes = {0}, .shape = Shape{n}}),
              HasSubstr("axes has 1 entries; wanted 2"));
  EXPECT_EQ(TypeOf(Op::k_broadcast, {x}, {.axes = {0, 1}, .shape = Shape{7, 1}}), "f32[7, 1]");
  EXPECT_THAT(Required(), ElementsAre("n in {1, 7}"));
}

TEST_F(ShapeRules, BroadcastOfFixedExtentsThatDiffer) {
  const ValueId x = In("x", f32, {3});
  EXPECT_THAT(TypeOf(Op::k_broadcast, {x}, {.axes = {0}, .shape = Shape{0}}),
              AllOf(HasSubstr("must be 0 or 1"), HasSubstr("never holds")));
}

TEST_F(ShapeRules, ReshapeKeepsTheCount) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, 6}), y = In("y", f32, {n, m + 1, 4});
  EXPECT_EQ(TypeOf(Op::k_reshape, {x}, {.shape = Shape{2, n, 3}}), "f32[2, n, 3]");
  EXPECT_EQ(TypeOf(Op::k_reshape, {x}, {.shape = Shape{6 * n}}), "f32[6*n]");
  EXPECT_EQ(TypeOf(Op::k_reshape, {y}, {.shape = Shape{2 * n, 2 * m + 2}}), "f32[2*n, 2*m + 2]");
  EXPECT_EQ(TypeOf(Op::k_reshape, {y}, {.shape = Shape{4 * n * m + 4 * n}}), "f32[4*n*m + 4*n]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_reshape, {x}, {.shape = Shape{n, 5}}),
              AllOf(HasSubstr("element counts of [n, 6] and [n, 5]"), HasSubstr("6 and 5 remain")));
  EXPECT_EQ(TypeOf(Op::k_reshape, {x}, {.shape = Shape{m, 3}}), "f32[m, 3]");
  EXPECT_TRUE(Admits({2, 4}));
  EXPECT_FALSE(Admits({2, 3}));
}

TEST_F(ShapeRules, Permute) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4, 5});
  EXPECT_EQ(TypeOf(Op::k_permute, {x}, {.axes = {2, 0, -2}}), "f32[5, n, 4]");
  EXPECT_THAT(TypeOf(Op::k_permute, {x}, {.axes = {2, 0, 0}}), HasSubstr("axis 0 is named twice"));
  EXPECT_THAT(TypeOf(Op::k_permute, {x}, {.axes = {2, 0}}),
              HasSubstr("axes has 2 entries; wanted 3"));
}

TEST_F(ShapeRules, SliceStaysInside) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 8});
  EXPECT_EQ(TypeOf(Op::k_slice, {x}, {.starts = {0, 7}, .limits = {n, -1}, .steps = {1, -2}}),
            "f32[n, 4]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_slice, {x}, {.starts = {0, 0}, .limits = {n, 9}, .steps = {1, 1}}),
              HasSubstr("ends inside"));
  EXPECT_THAT(TypeOf(Op::k_slice, {x}, {.starts = {0, 0}, .limits = {n, 8}, .steps = {1, 0}}),
              HasSubstr("steps[1] is 0"));
  EXPECT_EQ(TypeOf(Op::k_slice, {x}, {.starts = {2, 0}, .limits = {n, 8}, .steps = {1, 1}}),
            "f32[n - 2, 8]");
  EXPECT_TRUE(Admits({2}));
  EXPECT_FALSE(Admits({1}));
}

TEST_F(ShapeRules, PadAddsAndMayNotTakeAway) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, 4});
  EXPECT_EQ(TypeOf(Op::k_pad, {x}, {.low = {1, 0}, .high = {m, 2}, .value = 0.5}),
            "f32[n + m + 1, 6]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_pad, {x}, {.low = {0, -1}, .high = {0, 2}, .value = 0.0}),
              HasSubstr("padding of axis 1 may not be negative"));
  EXPECT_EQ(TypeOf(Op::k_pad, {x}, {.low = {0, 0}, .high = {m - 2, 0}, .value = 0.0}),
            "f32[n + m - 2, 4]");
  EXPECT_FALSE(Admits({9, 1}));
  EXPECT_TRUE(Admits({9, 2}));
}

TEST_F(ShapeRules, ConcatAddsAlongOneAxis) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f32, {n, 4}), y = In("y", f32, {m, 4}), z = In("z", f32, {4, m});
  EXPECT_EQ(TypeOf(Op::k_concat, {x, y, x}, {.axis = -2}), "f32[2*n + m, 4]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_EQ(TypeOf(Op::k_concat, {y, z}, {.axis = 0}), "f32[m + 4, 4]");
  EXPECT_EQ(Required().size(), 1u);
  EXPECT_TRUE(Admits({9, 4}));
  EXPECT_FALSE(Admits({9, 5}));
}

TEST_F(ShapeRules, GatherPutsTheIndicesShapeInPlaceOfTheAxis) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4, 5}), k = In("k", i32, {7, n}), s = In("s", i64, {});
  EXPECT_EQ(TypeOf(Op::k_gather, {x, k}, {.axis = 1}), "f32[n, 7, n, 5]");
  EXPECT_EQ(TypeOf(Op::k_gather, {x, s}, {.axis = -1}), "f32[n, 4]");
  EXPECT_THAT(TypeOf(Op::k_gather, {x, x}, {.axis = 1}), HasSubstr("wanted i32 or i64"));
}

// -- reductions

TEST_F(ShapeRules, ReductionsDropOrKeepAxes) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4, 5});
  EXPECT_EQ(TypeOf(Op::k_sum, {x}, {.axes = {-1, 0}}), "f32[4]");
  EXPECT_EQ(TypeOf(Op::k_sum, {x}, {.axes = {1}, .keep_dims = true}), "f32[n, 1, 5]");
  EXPECT_EQ(TypeOf(Op::k_sum, {x}), "f32[]");
  EXPECT_EQ(TypeOf(Op::k_argmax, {x}, {.axis = 1}), "i64[n, 5]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_sum, {x}, {.axes = {0, -3}}), HasSubstr("axis 0 is named twice"));
  EXPECT_THAT(TypeOf(Op::k_sum, {In("p", bool_, {n})}), HasSubstr("operand 0 is bool"));
}

TEST_F(ShapeRules, AnExtremumOfNothingIsRefusedOnlyWhereAResultWouldHoldIt) {
  EXPECT_EQ(TypeOf(Op::k_max, {In("a", f32, {0, 2})}, {.axes = {-1}}), "f32[0]");
  EXPECT_EQ(TypeOf(Op::k_max, {In("b", f32, {3, 0, 2})}, {.axes = {-1}}), "f32[3, 0]");
  EXPECT_EQ(TypeOf(Op::k_max, {In("c", f32, {0, 3, 2})}, {.axes = {1, 2}}), "f32[0]");
  const ValueId empty = In("d", f32, {2, 0});
  EXPECT_THAT(TypeOf(Op::k_max, {empty}, {.axes = {1}}), HasSubstr("empty axis of f32[2, 0]"));
  EXPECT_THAT(TypeOf(Op::k_argmax, {empty}, {.axis = 1}), HasSubstr("empty axis"));
  EXPECT_EQ(TypeOf(Op::k_max, {empty}, {.axes = {0}}), "f32[0]");
  EXPECT_EQ(TypeOf(Op::k_max, {empty}, {.axes = {1}, .value = -1.0}), "f32[2]");
  EXPECT_EQ(TypeOf(Op::k_sum, {empty}, {.axes = {1}}), "f32[2]");

  const Dim n = Symbol("n"), m = Symbol("m");
  EXPECT_EQ(TypeOf(Op::k_min, {In("e", f32, {n, m})}, {.axes = {1}}), "f32[n]");
  EXPECT_TRUE(Admits({0, 0}));
  EXPECT_TRUE(Admits({3, 1}));
  EXPECT_FALSE(Admits({1, 0}));
  EXPECT_EQ(TypeOf(Op::k_min, {In("f", f32, {5, m})}, {.axes = {1}}), "f32[5]");
  EXPECT_FALSE(Admits({0, 0}));
}

// -- contractions

TEST_F(ShapeRules, Matmul) {
  const Dim n = Symbol("n"), k = Symbol("k");
  const ValueId x = In("x", f32, {n, 3, k}), w = In("w", f32, {k, 5}), y = In("y", f32, {n, k, 2});
  EXPECT_EQ(TypeOf(Op::k_matmul, {x, w}), "f32[n, 3, 5]");
  EXPECT_EQ(TypeOf(Op::k_matmul, {x, y}), "f32[n, 3, 2]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_matmul, {w, x}),
              HasSubstr("wanted [.., m, k] and [.., k, n] or [k, n]"));
  EXPECT_THAT(TypeOf(Op::k_matmul, {In("a", f32, {2, 3}), In("c", f32, {4, 5})}),
              AllOf(HasSubstr("inner dims of [2, 3] and [4, 5]"), HasSubstr("never holds")));
  EXPECT_EQ(TypeOf(Op::k_matmul, {x, In("d", f32, {9, 5})}), "f32[n, 3, 5]");
  EXPECT_THAT(Required(), ElementsAre("k == 9"));
}

TEST_F(ShapeRules, Attention) {
  const Dim n = Symbol("n"), t = Symbol("t");
  const ValueId q = In("q", f32, {2, n, 64}), k = In("k", f32, {2, t, 64}),
                v = In("v", f32, {2, t, 8});
  const ValueId mask = In("mask", bool_, {2, n, t}), d = In("d", f32, {2, n, t});
  const ValueId y = Make(Op::k_attention, {q, k, v, mask});
  EXPECT_EQ(graph.type(y).ToString(), "f32[2, n, 8]");
  EXPECT_EQ(graph.node(y).attrs.scale, 0.125);
  EXPECT_EQ(TypeOf(Op::k_attention, {q, k, v, d}), "f32[2, n, 8]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_attention, {d, d, d}), HasSubstr("give scale="));
  EXPECT_THAT(TypeOf(Op::k_attention, {q, k, v, In("i", i32, {2, n, t})}),
              HasSubstr("the mask is i32; wanted bool or f32"));
  EXPECT_THAT(TypeOf(Op::k_attention, {q, k, In("h", f32, {t, 8})}),
              HasSubstr("operand 2 is f32[t, 8]"));
}

// -- composites

TEST_F(ShapeRules, Composites) {
  const Dim n = Symbol("n");
  const ValueId x = In("x", f32, {n, 4}), g = In("g", f32, {4}), h = In("h", f32, {n});
  const ValueId k = In("k", i32, {n, 4});
  EXPECT_EQ(TypeOf(Op::k_softmax, {x}, {.axis = -1}), "f32[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_mean, {x}, {.axes = {0}}), "f32[4]");
  EXPECT_EQ(TypeOf(Op::k_layer_norm, {x, g, g}, {.epsilon = 1e-5}), "f32[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_rms_norm, {x, g}, {.epsilon = 1e-5}), "f32[n, 4]");
  EXPECT_EQ(TypeOf(Op::k_embedding, {x, k}), "f32[n, 4, 4]");
  EXPECT_THAT(Required(), IsEmpty());
  EXPECT_THAT(TypeOf(Op::k_mean, {k}), HasSubstr("mean of i32 elements is not defined; cast"));
  EXPECT_THAT(TypeOf(Op::k_layer_norm, {x, x, g}, {.epsilon = 1e-5}),
              HasSubstr("operand 1 is f32[n, 4]; wanted [4]"));
  EXPECT_EQ(TypeOf(Op::k_rms_norm, {x, h}, {.epsilon = 1e-5}), "f32[n, 4]");
  EXPECT_THAT(Required(), ElementsAre("n == 4"));
}

TEST_F(ShapeRules, ExpansionsHaveTheTypeOfTheirComposite) {
  const Dim n = Symbol("n"), m = Symbol("m");
  const ValueId x = In("x", f64, {n, m}), g = In("g", f64, {m}), k = In("k", i32, {n});
  const std::vector<ValueId> composites = {
      Make(Op::k_softmax, {x}, {.axis = 0}),
      Make(Op::k_mean, {x}),
      Make(Op::k_mean, {x}, {.axes = {1}, .keep_dims = true}),
      Make(Op::k_layer_norm, {x, g, g}, {.epsilon = 1e-5}),
      Make(Op::k_rms_norm, {x, g}, {.epsilon = 1e-5}),
      Make(Op::k_embedding, {x, k}),
  };
  for (ValueId v : composites) {
    const Node n_copy = graph.node(v);
    const absl::StatusOr<ValueId> e = Info(n_copy.op).expand(b, n_copy);
    ASSERT_TRUE(e.ok()) << e.status();
    EXPECT_EQ(graph.type(*e), n_copy.type) << Name(n_copy.op);
  }
  EXPECT_THAT(Required(), IsEmpty());  // an empty softmax row is no error
  ExpectVerified();
}

}  // namespace
}  // namespace lathe::ir
