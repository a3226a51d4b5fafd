// Scan of opset 8, which has a batch axis, for open batches and lengths.
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

TEST(Scan, EachOfTheBatchIsAScanOfItsOwn) {
  GraphWriter body;
  body.Input("s", kFloat, {2});
  body.Input("x", kFloat, {2});
  body.Input("z", kFloat, {2});
  body.Node("Add", {"s", "x"}, {"next"});
  body.Node("Mul", {"next", "z"}, {"y"});
  body.Output("next");
  body.Output("y");
  GraphWriter g;
  g.Input("s0", kFloat, {"batch", 2});
  g.Input("xs", kFloat, {"batch", "steps", 2});
  g.Input("zs", kFloat, {"batch", "steps", 2});
  g.Node("Scan", {"", "s0", "xs", "zs"}, {"last", "ys"},
         {GraphAttr("body", body), Attr("num_scan_inputs", 2),
          Attr("directions", std::vector<int64_t>{0, 1})});
  g.Output("ys");
  g.Output("last");
  SmallModel model(g, 8);
  for (int64_t batch : {3, 1, 0, 3}) {
    for (int64_t steps : {1, 2, 5}) {
      const auto all = static_cast<size_t>(batch * steps * 2);
      const std::vector<float> s = SomeFloats(static_cast<size_t>(batch * 2), 1);
      const std::vector<float> x = SomeFloats(all, 2), z = SomeFloats(all, 3);
      std::vector<double> wanted(all);
      for (int64_t b = 0; b < batch; ++b)
        for (int64_t k = 0; k < 2; ++k) {
          auto state = static_cast<double>(s[static_cast<size_t>(b * 2 + k)]);
          for (int64_t t = 0; t < steps; ++t) {
            const auto at = static_cast<size_t>((b * steps + t) * 2 + k);
            const auto from_end = static_cast<size_t>((b * steps + steps - 1 - t) * 2 + k);
            state += static_cast<double>(x[at]);
            wanted[at] = state * static_cast<double>(z[from_end]);
          }
        }
      ExpectNear(model.Floats({Tensor::FromVector<float>({batch, 2}, s),
                               Tensor::FromVector<float>({batch, steps, 2}, x),
                               Tensor::FromVector<float>({batch, steps, 2}, z)},
                              {batch, steps, 2}),
                 wanted, absl::StrCat(batch, " of ", steps));
    }
  }
}

}  // namespace
}  // namespace lathe::onnx
