// How symbols come from input shapes, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/fakes.h"

namespace lathe::rt::fake {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Inputs = std::vector<std::pair<std::string, std::vector<std::string>>>;

absl::StatusOr<std::vector<int64_t>> Bound(const Inputs& inputs, const std::string& facts,
                                           const std::vector<std::vector<int64_t>>& shapes) {
  auto graph = GraphOf(inputs, facts);
  if (auto plan = MakeEntryPlan(*graph); !plan.ok()) return plan.status();
  Made made = MakeFunction(graph, {.kernels = {Nothing}});
  if (absl::Status s = made.function.prepare(); !s.ok()) return s;
  std::vector<Tensor> tensors;
  for (const std::vector<int64_t>& shape : shapes) tensors.emplace_back(DType::kF32, shape);
  ContextState context;
  Tensor y(DType::kF32, shapes[0]);
  absl::Status called = made.function.state()->CallInto(tensors, {y}, context);
  if (!called.ok()) return called;
  return context.bound;
}

TEST(EntryPlan, PlainAndAffineAxesBind) {
  EXPECT_THAT(*Bound({{"x", {"n", "m"}}}, "", {{3, 5}}), ElementsAre(3, 5));
  EXPECT_THAT(*Bound({{"x", {"2*n", "m + 3"}}}, "", {{6, 5}}), ElementsAre(3, 2));
  EXPECT_THAT(*Bound({{"x", {"n - 2", "4*m - 1"}}}, "", {{6, 7}}), ElementsAre(8, 2));
}

TEST(EntryPlan, ImpossibleExtentsAreNamed) {
  EXPECT_THAT(Bound({{"x", {"2*n", "4"}}}, "", {{7, 4}}).status().ToString(),
              HasSubstr("input x: axis 0 has extent 7, wanted 2*n for a whole n: 7 leaves "
                        "remainder 1 (f32[2*n, 4])"));
  EXPECT_THAT(Bound({{"x", {"4*n - 1", "4"}}}, "", {{8, 4}}).status().ToString(),
              HasSubstr("axis 0 has extent 8, wanted 4*n - 1 for a whole n: 9 leaves remainder 1"));
  EXPECT_THAT(Bound({{"x", {"n + 3", "4"}}}, "", {{2, 4}}).status().ToString(),
              AllOf(HasSubstr("is violated: n = -1"), HasSubstr("axis 0 of input x")));
}

TEST(EntryPlan, AxisOfABoundAndAnUnboundSymbol) {
  // past[p], mask[p + n]: n from the mask.
  EXPECT_THAT(*Bound({{"past", {"p", "4"}}, {"mask", {"p + n", "1"}}}, "", {{3, 4}, {10, 1}}),
              ElementsAre(3, 7));
  EXPECT_FALSE(Bound({{"past", {"p", "4"}}, {"mask", {"p + n", "1"}}}, "", {{3, 4}, {2, 1}}).ok());
}

// A product binds one of its sizes once the others are known.
TEST(EntryPlan, ProductsBindWhatIsLeft) {
  const Inputs inputs = {{"x", {"a*b", "4"}}, {"y", {"a", "1"}}};
  EXPECT_THAT(*Bound(inputs, "", {{12, 4}, {3, 1}}), ElementsAre(3, 4));
  EXPECT_THAT(*Bound(inputs, "", {{0, 4}, {3, 1}}), ElementsAre(3, 0));
  EXPECT_THAT(Bound(inputs, "", {{13, 4}, {3, 1}}).status().ToString(),
              HasSubstr("input x: axis 0 has extent 13, wanted a*b with a = 3 for a whole b: 13 "
                        "leaves remainder 1 (f32[a*b, 4])"));
  EXPECT_THAT(Bound(inputs, "", {{0, 4}, {0, 1}}).status().ToString(),
              HasSubstr("wanted a*b with a = 0, from which b can't be found"));
  EXPECT_THAT(*Bound({{"x", {"2*a*b + a - 1", "c"}}, {"y", {"a", "c + 1"}}}, "", {{20, 2}, {3, 3}}),
              ElementsAre(3, 3, 2));
  // From a fact, in a chain; and a fact that leaves a remainder.
  const Inputs tied = {{"x", {"a", "4"}}, {"y", {"b*c", "1"}}};
  EXPECT_THAT(*Bound(tied, "a*b == 24", {{6, 4}, {20, 1}}), ElementsAre(6, 4, 5));
  EXPECT_THAT(Bound(tied, "a*b == 24", {{5, 4}, {20, 1}}).status().ToString(),
              HasSubstr("a*b == 24"));
  EXPECT_THAT(Bound({{"x", {"a*b", "4"}}}, "", {{12, 4}}).status().ToString(),
              HasSubstr("sizes a, b can't be found from the inputs' shapes (x: f32[a*b, 4])"));
  EXPECT_THAT(Bound({{"x", {"a // 2", "4"}}}, "", {{12, 4}}).status().ToString(),
              HasSubstr("size a can't be found from the inputs' shapes"));
}

TEST(EntryPlan, SizesTiedByAnEqualityAreSolved) {  // case S6
  EXPECT_THAT(*Bound({{"x", {"2*a", "4"}}, {"z", {"2*b", "4"}}}, "a == b", {{6, 4}, {6, 4}}),
              ElementsAre(3, 3));
  EXPECT_FALSE(Bound({{"x", {"2*a", "4"}}, {"z", {"2*b", "4"}}}, "a == b", {{6, 4}, {8, 4}}).ok());
  // Only one of them is shown by an input; the other appears in a fact alone.
  EXPECT_THAT(*Bound({{"x", {"2*a", "4"}}}, "a == b + 1", {{6, 4}}), ElementsAre(3, 2));
}

TEST(EntryPlan, ASymbolThatNothingUsesIsLegal) {  // case S5
  EXPECT_THAT(*Bound({{"x", {"n", "4"}}}, "b <= 0", {{2, 4}}), ElementsAre(2, 0));
  EXPECT_THAT(*Bound({{"x", {"n", "4"}}}, "b >= 5, b % 4 == 3", {{2, 4}}), ElementsAre(2, 7));
}

TEST(EntryPlan, ASymbolThatCantBeFoundIsNamed) {
  const auto s = Bound({{"x", {"a*b", "4"}}}, "", {{6, 4}});
  EXPECT_EQ(s.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(s.status().ToString(), AllOf(HasSubstr("a, b"), HasSubstr("x: f32[a*b, 4]")));
  EXPECT_THAT(MakeEntryPlan(*GraphOf({{"x", {"n", "4"}}}, "n <= b")).status().ToString(),
              HasSubstr("`n <= b` ties b to n"));
}

TEST(EntryPlan, SizesByNameAreCompletedAndChecked) {
  Made made = MakeFunction(GraphOf({{"x", {"n", "m"}}}, "n % 2 == 0, k == n + 1, u <= 7"), {});
  const FunctionState& f = *made.function.state();
  EXPECT_THAT(*f.SymbolValues({{"n", 4}, {"m", 2}}), ElementsAre(4, 2, 5, 0));
  EXPECT_THAT(f.SymbolValues({{"n", 4}}).status().ToString(), HasSubstr("no size is given for m"));
  EXPECT_THAT(f.SymbolValues({{"q", 4}}).status().ToString(),
              HasSubstr("has no size named q; it has n, m, k, u"));
  EXPECT_THAT(f.SymbolValues({{"n", 3}, {"m", 2}}).status().ToString(), HasSubstr("remainder 1"));
  EXPECT_THAT(f.SymbolValues({{"n", -2}, {"m", 2}}).status().ToString(), HasSubstr("n = -2"));
}

TEST(EntryPlan, GivenSizesChangeNothingThatEveryCallHasAlike) {
  Made made = MakeFunction(GraphOf({{"x", {"n", "4"}}}, "u >= 3, k <= 0"), {});
  const FunctionState& f = *made.function.state();
  // Nothing uses u; of k the facts leave 0.
  EXPECT_THAT(*f.SymbolValues({{"n", 2}, {"u", int64_t{1} << 50}}), ElementsAre(2, 3, 0));
  EXPECT_THAT(*f.SymbolValues({{"n", 2}, {"k", 0}}), ElementsAre(2, 3, 0));
  EXPECT_THAT(f.SymbolValues({{"n", 2}, {"k", -5}}).status().ToString(),
              HasSubstr("k = -5, wanted 0, the only value that the facts leave"));
}

TEST(EntryPlan, TheLimitOfASizeIsForSizesThatACallHas) {
  constexpr int64_t kHuge = int64_t{1} << 41;
  for (const std::string fact : {"u >= 2199023255552", "u == 2199023255552"}) {
    EXPECT_THAT(*Bound({{"x", {"n", "4"}}}, fact, {{2, 4}}), ElementsAre(2, kHuge)) << fact;
  }
  // Derived from n, so a call can change it.
  EXPECT_EQ(Bound({{"x", {"n", "4"}}}, "u == n + 2199023255552", {{2, 4}}).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST(EntryPlan, OutputShapesNeedNoCode) {
  Made made = MakeFunction(GraphOf({{"x", {"n", "2*n"}}}), {});
  EXPECT_THAT(*made.function.output_shapes({{"n", 3}}), ElementsAre(ElementsAre(3, 6)));
}

}  // namespace
}  // namespace lathe::rt::fake
