// MaxRoiPool for open images and regions, against loops over elements.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

constexpr int64_t kBinsY = 2, kBinsX = 3;
constexpr float kScale = 0.5;

struct Range {
  int64_t begin, end;
};

Range BinOf(float first, float last, int64_t k, int64_t bins, int64_t extent) {
  const auto start = static_cast<int64_t>(std::round(first * kScale)),
             end = static_cast<int64_t>(std::round(last * kScale));
  const float bin =
      static_cast<float>(std::max<int64_t>(end - start + 1, 1)) / static_cast<float>(bins);
  const auto inside = [&](float edge) {
    return std::clamp<int64_t>(start + static_cast<int64_t>(edge), 0, extent);
  };
  return {inside(std::floor(static_cast<float>(k) * bin)),
          inside(std::ceil(static_cast<float>(k + 1) * bin))};
}

std::vector<double> Region(const float* plane, int64_t h, int64_t w, const float* roi) {
  std::vector<double> result;
  for (int64_t py = 0; py < kBinsY; ++py) {
    for (int64_t px = 0; px < kBinsX; ++px) {
      const Range y = BinOf(roi[2], roi[4], py, kBinsY, h),
                  x = BinOf(roi[1], roi[3], px, kBinsX, w);
      const bool empty = y.begin >= y.end || x.begin >= x.end;
      double best = empty ? 0 : -INFINITY;
      for (int64_t r = y.begin; r < y.end; ++r)
        for (int64_t s = x.begin; s < x.end; ++s)
          best = std::max(best, static_cast<double>(plane[r * w + s]));
      result.push_back(best);
    }
  }
  return result;
}

GraphWriter Pooling() {
  GraphWriter g;
  g.Input("x", kFloat, {"n", "c", "h", "w"});
  g.Input("rois", kFloat, {"r", 5});
  g.Node(
      "MaxRoiPool", {"x", "rois"}, {"y"},
      {Attr("pooled_shape", std::vector<int64_t>{kBinsY, kBinsX}), Attr("spatial_scale", kScale)});
  g.Output("y");
  return g;
}

TEST(MaxRoiPool, OpenImagesAndRegions) {
  SmallModel model(Pooling(), 1);
  ASSERT_TRUE(model.ok());
  const std::vector<float> rois = {0,  0,  0, 8,  6,  1, 2.3F, 1.1F, 5,    9,    1,    -9, -5, 40,
                                   30, 0,  3, 5,  3,  5, 1,    9.3F, 8.9F, 1.2F, 1.1F, 0,  90, 90,
                                   99, 99, 1, -9, -9, 1, 1,    0,    1,    -1,   7,    3};
  const auto regions = static_cast<int64_t>(rois.size() / 5), c = int64_t{2};
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>(6, 9), {1, 1}, {12, 3}, {0, 4}, {6, 9}}) {
    std::vector<float> x = SomeFloats(static_cast<size_t>(2 * c * h * w), 7);
    for (float& v : x) v -= 2;  // a bin of nothing isn't the largest by itself
    std::vector<double> wanted;
    for (int64_t r = 0; r < regions; ++r) {
      const float* roi = rois.data() + 5 * r;
      for (int64_t k = 0; k < c; ++k) {
        const float* plane = x.data() + (static_cast<int64_t>(roi[0]) * c + k) * h * w;
        const std::vector<double> part = Region(plane, h, w, roi);
        wanted.insert(wanted.end(), part.begin(), part.end());
      }
    }
    ExpectNear(model.Floats({Tensor::FromVector<float>({2, c, h, w}, x),
                             Tensor::FromVector<float>({regions, 5}, rois)},
                            {regions, c, kBinsY, kBinsX}),
               wanted, absl::StrCat(h, "x", w), 0);
  }
  EXPECT_TRUE(model.Floats({Tensor(f32, {1, 2, 3, 3}), Tensor(f32, {0, 5})}, {0, 2, kBinsY, kBinsX})
                  .empty());
}

TEST(MaxRoiPool, ARegionOfNoImageIsAnError) {
  SmallModel model(Pooling(), 22);
  const auto call = [&](float image) {
    return model
        .Call({Tensor(f32, {2, 1, 3, 3}), Tensor::FromVector<float>({1, 5}, {image, 0, 0, 2, 2})})
        .status();
  };
  EXPECT_TRUE(call(1).ok());
  EXPECT_EQ(call(2).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(call(-1).code(), absl::StatusCode::kOutOfRange);
}

TEST(MaxRoiPool, RegionsFarAwayAreEmpty) {
  SmallModel model(Pooling(), 1);
  const Tensor rois = Tensor::FromVector<float>(
      {3, 5}, {0, -1e30F, -1e30F, 1e30F, 1e30F, 0, NAN, 0, INFINITY, NAN, 0, 1e20F, 0, 1e21F, 5});
  model.Floats({Tensor(f32, {1, 1, 3, 3}), rois}, {3, 1, kBinsY, kBinsX});
}

}  // namespace
}  // namespace lathe::onnx
