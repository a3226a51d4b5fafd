// Positions along the lanes: of reshapes that no loop follows, with division. i32 where the sizes
// are proved to let it hold them, else i64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "ir/samples.h"
#include "runtime/function_state.h"
#include "runtime/version.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The text of the first kernel, after calls at sizes A, B, A that are right.
std::string KernelOf(const std::string& dims, const std::string& body,
                     const std::vector<std::vector<int64_t>>& sizes) {
  const std::string text = absl::StrCat("dim ", dims, "\n", body);
  SCOPED_TRACE(text);
  absl::StatusOr<Program> p = Program::parse(text);
  EXPECT_TRUE(p.ok()) << p.status();
  if (!p.ok()) return "";
  Engine engine({.threads = 1, .background_compiles = false});
  absl::StatusOr<Function> f = CompileGraph(engine, p->graph());
  EXPECT_TRUE(f.ok()) << f.status();
  if (!f.ok()) return "";
  for (const std::vector<int64_t>& at : sizes) {
    const absl::Status same =
        CheckCall(*f, p->graph(), ir::SampleInputs(p->graph(), at, 1, /*whole=*/true),
                  /*exact=*/true, /*evaluator=*/true);
    EXPECT_TRUE(same.ok()) << same << " at " << at[0];
  }
  return f->state()->table()->versions().back()->groups.front().kernel_text;
}

constexpr const char* kTurned =
    "x: f32[b, h, w]\n"
    "output y = reshape(permute(reshape(x, [w, b*h]), axes=[1, 0]), [b, w, h]) + "
    "permute(x, axes=[0, 2, 1])\n";

TEST(Positions, AreNarrowWhereTheSizesAllowIt) {
  const std::string narrow =
      KernelOf("b in 1..8, h in 0..300, w in 0..300", kTurned,
               {{2, 35, 67}, {1, 1, 1}, {8, 300, 300}, {3, 0, 5}, {2, 35, 67}});
  EXPECT_THAT(narrow, HasSubstr("floordiv i32x32"));
  EXPECT_THAT(narrow, Not(HasSubstr("i64x32")));
}

TEST(Positions, AreWideWhereNothingBoundsThem) {
  for (const char* dims : {"b, h, w", "b in 1..8, h in 0..65536, w in 0..65536"}) {
    const std::string wide = KernelOf(dims, kTurned, {{2, 35, 67}, {1, 1, 1}, {2, 35, 67}});
    EXPECT_THAT(wide, HasSubstr("floordiv i64x32")) << dims;
    EXPECT_THAT(wide, Not(HasSubstr("i32x32"))) << dims;
  }
}

// What is read may be small while a reshape on the way isn't.
TEST(Positions, FollowTheLargestReshapeOnTheWay) {
  const char* body =
      "x: f32[w, h]\ns: f32[b]\n"
      "big = broadcast(reshape(x, [h, w]), shape=[b, h, w], axes=[1, 2])\n"
      "mixed = reshape(permute(big, axes=[2, 0, 1]), [h, w, b])\n"
      "output y = permute(mixed, axes=[2, 0, 1]) + broadcast(s, shape=[b, h, w], axes=[0])\n";
  for (const auto& [dims, type] :
       {std::pair("b in 1..1073741824, h in 1..40, w in 1..40", "i64x32"),
        std::pair("b in 1..1024, h in 1..40, w in 1..40", "i32x32")}) {
    EXPECT_THAT(KernelOf(dims, body, {{3, 17, 33}, {1, 1, 1}, {3, 17, 33}}), HasSubstr(type));
  }
}

}  // namespace
}  // namespace lathe::whole
