// What the serving example says of itself: its JSON object, its table of kernels, and when it
// fails.
#include "examples/serve_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace lathe::examples {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ServeResult kGood{.requests = 1000,
                        .distinct_sizes = 137,
                        .versions = 2,
                        .max_relative_error = 2e-6,
                        .tokens_per_s = 8069.04,
                        .kernels_per_layer = 7,
                        .predicted_bytes = 640,
                        .measured_bytes = 640,
                        .first_over_warm_p99 = 1.25};

TEST(ServeReport, TheLastLineHasItsTenKeysInOrder) {
  EXPECT_EQ(Json(kGood),
            "{\"requests\": 1000, \"distinct_sizes\": 137, \"versions\": 2, "
            "\"compiles_in_calls\": 0, \"max_relative_error\": 2e-06, \"tokens_per_s\": 8069.0, "
            "\"kernels_per_layer\": 7, \"predicted_bytes\": 640, \"measured_bytes\": 640, "
            "\"first_over_warm_p99\": 1.250}");
  ServeResult wrong = kGood;
  wrong.max_relative_error = std::numeric_limits<double>::infinity();
  EXPECT_THAT(Json(wrong), HasSubstr("\"max_relative_error\": null"));
}

TEST(ServeReport, EachBrokenPromiseIsNamed) {
  EXPECT_THAT(BrokenPromises(kGood, 1e-5), IsEmpty());
  ServeResult r = kGood;
  r.compiles_in_calls = 1;
  r.measured_bytes = 704;
  r.kernels_per_layer = 8;
  r.max_relative_error = 2e-5;
  EXPECT_THAT(BrokenPromises(r, 1e-5),
              ElementsAre(HasSubstr("compiles"), HasSubstr("error of 2e-05"),
                          HasSubstr("704 bytes, predicted were 640"), HasSubstr("8 kernels")));
  for (double error :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    r = kGood;
    r.max_relative_error = error;
    EXPECT_THAT(BrokenPromises(r, 1e-5), ElementsAre(HasSubstr("error"))) << error;
  }
}

TEST(ServeReport, AKernelIsListedOnceWithTheVersionThatBroughtIt) {
  Function::VersionInfo few{.name = "rows <= 3",
                            .why = "few rows",
                            .ready_seconds = 2,
                            .kernel_labels = {"matmul -> a", "softmax -> b", "matmul -> c"},
                            .kernel_keys = {"k1", "k2", "k1"}};
  Function::VersionInfo generic = few;
  generic.name = "generic";
  generic.why = "no guard";
  generic.ready_seconds = 1;
  generic.kernel_keys = {"k0", "k2", "k0"};
  EXPECT_THAT(KernelRows({few, generic}),
              ElementsAre(ElementsAre("kernel", "uses", "first version", "ready at s", "why"),
                          ElementsAre("matmul -> a", "2", "generic", "1.00", "no guard"),
                          ElementsAre("softmax -> b", "1", "generic", "1.00", "no guard"),
                          ElementsAre("matmul -> a", "2", "rows <= 3", "2.00", "few rows")));
}

}  // namespace
}  // namespace lathe::examples
