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

// What is read may be small while the positions that are divided on the way aren't.
TEST(Positions, AreWideWhereALargeOneIsDividedOnTheWay) {
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

// The algebra of sizes writes quotients of quotients, and remainders of multiples, as others of
// larger numbers: here beyond 2^31, though no shape is large.
TEST(Positions, AreWideWhereTheAlgebraMakesLargeNumbers) {
  for (const char* body : {
           "x: f32[n, 100000, 2]\nz: f32[16, 25000]\n"
           "s = reshape(permute(reshape(x[0:1, :, :], [100000, 2]), axes=[1, 0]), [200000])"
           "[99995:100005]\n"
           "output y = reshape(broadcast(s, shape=[10, 40000], axes=[0]), [16, 25000]) + z\n",
           "x: f32[n, 500, 2000]\nz: f32[1250, 2400]\n"
           "p = reshape(permute(reshape(x[0:1, :, :], [500, 2000]), axes=[1, 0]), [1000000])\n"
           "s = slice(p, starts=[0], limits=[1000000], steps=[1001])\n"
           "output y = reshape(broadcast(s, shape=[3000, 1000], axes=[1]), [1250, 2400]) + z\n",
       }) {
    EXPECT_THAT(KernelOf("n in 1..2", body, {{1}, {2}, {1}}), HasSubstr("i64x32"));
  }
}

// A size that may be negative isn't taken for one from 0 on. The program is too large to run.
TEST(Positions, OfSizesBelowZero) {
  const std::string wide =
      KernelOf("m in 1..64, k",
               "assume -3000000 <= k, k <= 0\n"
               "s: f32[4000000]\nz: f32[m]\nc: i64[1] = input(elements=[k])\n"
               "big = reshape(broadcast(s, shape=[4000000, 1000], axes=[0]), [4000000000])\n"
               "output y = slice(big, starts=[-999*k], limits=[m - 999*k], steps=[1]) + z\n",
               {});
  EXPECT_THAT(wide, HasSubstr("floordiv i64x32"));
  EXPECT_THAT(wide, Not(HasSubstr("i32x32")));
}

// A row along two axes is as long as both together, whatever is read.
TEST(Positions, OfRowsAlongTwoAxes) {
  const char* body =
      "x: f32[h]\nz: f32[w]\n"
      "output y = max(broadcast(x, shape=[h, w], axes=[0]) + broadcast(z, shape=[h, w], axes=[1]), "
      "axes=[0, 1])\n";
  const std::string wide =
      KernelOf("h in 1..65536, w in 1..65536", body, {{70, 33}, {1, 1}, {70, 33}});
  EXPECT_THAT(wide, HasSubstr("floordiv i64x32"));
  EXPECT_THAT(wide, Not(HasSubstr("i32x32")));
  EXPECT_THAT(KernelOf("h in 1..4096, w in 1..4096", body, {{70, 33}, {1, 1}, {70, 33}}),
              HasSubstr("i32x32"));
}

}  // namespace
}  // namespace lathe::whole
