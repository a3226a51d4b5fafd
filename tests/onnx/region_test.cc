// RoiAlign, MaxUnpool and NonMaxSuppression for open sizes, against loops over elements.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

struct Form {
  bool max = false, shifted = true;
  int64_t ratio = 0;
};

constexpr int64_t kBinsY = 2, kBinsX = 3;
constexpr double kScale = 0.5;

// One region of one plane, by the standard's reference.
std::vector<double> Region(const Form& f, const float* plane, int64_t h, int64_t w,
                           const float* roi) {
  const double offset = f.shifted ? 0.5 : 0.0;
  double side[4];
  for (int i = 0; i < 4; ++i) side[i] = static_cast<double>(roi[i]) * kScale - offset;
  double width = side[2] - side[0], height = side[3] - side[1];
  if (!f.shifted) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  const double bin_h = height / kBinsY, bin_w = width / kBinsX;
  const int64_t grid_h = f.ratio > 0 ? f.ratio : static_cast<int64_t>(std::ceil(bin_h)),
                grid_w = f.ratio > 0 ? f.ratio : static_cast<int64_t>(std::ceil(bin_w));
  std::vector<double> result;
  for (int64_t py = 0; py < kBinsY; ++py) {
    for (int64_t px = 0; px < kBinsX; ++px) {
      double sum = 0, best = 0;
      bool any = false;
      for (int64_t iy = 0; iy < grid_h; ++iy) {
        for (int64_t ix = 0; ix < grid_w; ++ix) {
          double y = side[1] + static_cast<double>(py) * bin_h +
                     (static_cast<double>(iy) + 0.5) * bin_h / static_cast<double>(grid_h);
          double x = side[0] + static_cast<double>(px) * bin_w +
                     (static_cast<double>(ix) + 0.5) * bin_w / static_cast<double>(grid_w);
          double parts[4] = {0, 0, 0, 0};
          if (y >= -1 && y <= static_cast<double>(h) && x >= -1 && x <= static_cast<double>(w)) {
            y = std::max(y, 0.0);
            x = std::max(x, 0.0);
            const int64_t y0 = std::min(static_cast<int64_t>(y), h - 1),
                          x0 = std::min(static_cast<int64_t>(x), w - 1);
            const int64_t y1 = std::min(y0 + 1, h - 1), x1 = std::min(x0 + 1, w - 1);
            const double ly = y0 == h - 1 ? 0 : y - static_cast<double>(y0),
                         lx = x0 == w - 1 ? 0 : x - static_cast<double>(x0);
            const auto at = [&](int64_t r, int64_t s) {
              return static_cast<double>(plane[r * w + s]);
            };
            parts[0] = (1 - ly) * (1 - lx) * at(y0, x0);
            parts[1] = (1 - ly) * lx * at(y0, x1);
            parts[2] = ly * (1 - lx) * at(y1, x0);
            parts[3] = ly * lx * at(y1, x1);
          }
          sum += parts[0] + parts[1] + parts[2] + parts[3];
          const double most = *std::max_element(parts, parts + 4);
          best = any ? std::max(best, most) : most;
          any = true;
        }
      }
      const auto count = static_cast<double>(std::max<int64_t>(grid_h * grid_w, 1));
      result.push_back(f.max ? best : sum / count);
    }
  }
  return result;
}

TEST(RoiAlign, OpenImagesAndRegions) {
  for (bool max : {false, true}) {
    for (bool shifted : {false, true}) {
      for (int64_t ratio : {0, 2}) {
        const Form f{max, shifted, ratio};
        GraphWriter g;
        g.Input("x", kFloat, {"n", "c", "h", "w"});
        g.Input("rois", kFloat, {"r", 4});
        g.Input("batch", kInt64, {"r"});
        g.Node(
            "RoiAlign", {"x", "rois", "batch"}, {"y"},
            {Attr("mode", max ? "max" : "avg"),
             Attr("coordinate_transformation_mode", shifted ? "half_pixel" : "output_half_pixel"),
             Attr("sampling_ratio", ratio), Attr("output_height", kBinsY),
             Attr("output_width", kBinsX), Attr("spatial_scale", static_cast<float>(kScale))});
        g.Output("y");
        SmallModel model(g, 16);
        for (const auto& [h, w] : {std::pair<int64_t, int64_t>(6, 9), {1, 1}, {12, 3}}) {
          const int64_t c = 2;
          const std::vector<float> x = SomeFloats(static_cast<size_t>(2 * c * h * w), 7);
          const std::vector<float> rois = {0,    0,    8,    6,    2.3F,  1.1F,  5,  9,
                                           3,    3,    3,    3,    -8.2F, -4.1F, 40, 20,
                                           9.3F, 8.9F, 1.2F, 1.1F, 90,    90,    99, 99};
          const std::vector<int64_t> batch = {0, 1, 1, 0, 1, 0};
          std::vector<double> wanted;
          for (size_t r = 0; r < batch.size(); ++r) {
            for (int64_t k = 0; k < c; ++k) {
              const std::vector<double> part =
                  Region(f, x.data() + (batch[r] * c + k) * h * w, h, w, rois.data() + 4 * r);
              wanted.insert(wanted.end(), part.begin(), part.end());
            }
          }
          ExpectNear(model.Floats({Tensor::FromVector<float>({2, c, h, w}, x),
                                   Tensor::FromVector<float>({6, 4}, rois),
                                   Tensor::FromVector<int64_t>({6}, batch)},
                                  {6, c, kBinsY, kBinsX}),
                     wanted, absl::StrCat(max, shifted, ratio, " of ", h, "x", w), 1e-5);
        }
        model.Floats({Tensor(f32, {1, 2, 3, 3}), Tensor(f32, {0, 4}), Tensor(i64, {0})},
                     {0, 2, kBinsY, kBinsX});
        EXPECT_FALSE(model
                         .Call({Tensor(f32, {1, 2, 3, 3}), Tensor(f32, {1, 4}),
                                Tensor::FromVector<int64_t>({1}, {1})})
                         .ok());
      }
    }
  }
}

TEST(MaxUnpool, PutsElementsWhereTheyWere) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", "c", "h", "w"});
  g.Input("i", kInt64, {"n", "c", "h", "w"});
  g.Node("MaxUnpool", {"x", "i"}, {"y"},
         {Attr("kernel_shape", std::vector<int64_t>{2, 2}),
          Attr("strides", std::vector<int64_t>{2, 2})});
  g.Output("y");
  SmallModel model(g, 11);
  const Tensor x = Tensor::FromVector<float>({1, 2, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(
      model.Floats({x, Tensor::FromVector<int64_t>({1, 2, 1, 2}, {1, 6, 8, 15})}, {1, 2, 2, 4}),
      (std::vector<float>{0, 1, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 0, 4}));
  EXPECT_FALSE(model.Call({x, Tensor::FromVector<int64_t>({1, 2, 1, 2}, {1, 6, 8, 16})}).ok());
  model.Floats({Tensor(f32, {0, 2, 1, 2}), Tensor(i64, {0, 2, 1, 2})}, {0, 2, 2, 4});
}

// Corners [y1, x1, y2, x2].
double OverlapOf(const float* a, const float* b) {
  double common = 1, area_a = 1, area_b = 1;
  for (int i = 0; i < 2; ++i) {
    const auto low = [&](const float* p) { return static_cast<double>(std::min(p[i], p[i + 2])); };
    const auto high = [&](const float* p) { return static_cast<double>(std::max(p[i], p[i + 2])); };
    common *= std::max(0.0, std::min(high(a), high(b)) - std::max(low(a), low(b)));
    area_a *= high(a) - low(a);
    area_b *= high(b) - low(b);
  }
  return common <= 0 ? 0 : common / (area_a + area_b - common);
}

TEST(NonMaxSuppression, AsManyAsTheDataKeeps) {
  GraphWriter g;
  g.Input("boxes", kFloat, {"n", "boxes", 4});
  g.Input("scores", kFloat, {"n", "classes", "boxes"});
  g.Input("most", kInt64, {1});
  g.Input("overlap", kFloat, {1});
  g.Input("least", kFloat, {1});
  g.Node("NonMaxSuppression", {"boxes", "scores", "most", "overlap", "least"}, {"y"});
  g.Output("y");
  SmallModel model(g, 11);
  ASSERT_TRUE(model.ok());
  struct Size {
    int64_t n, classes, boxes, most;
    double overlap, least;
  };
  for (const Size& s : {Size{1, 1, 12, 20, 0.2, 0},
                        {2, 3, 30, 4, 0.1, -0.5},
                        {1, 2, 9, 0, 0.5, 0},
                        {2, 1, 0, 3, 0.5, 0},
                        {1, 1, 8, 5, 0.5, 2},
                        {1, 1, 1, 1, 0, -2},
                        {0, 2, 4, 3, 0.5, 0}}) {
    const std::vector<float> boxes = SomeFloats(static_cast<size_t>(s.n * s.boxes * 4), 11),
                             scores = SomeFloats(static_cast<size_t>(s.n * s.classes * s.boxes), 4);
    std::vector<int64_t> wanted;
    for (int64_t b = 0; b < s.n; ++b) {
      for (int64_t k = 0; k < s.classes; ++k) {
        const float* row = scores.data() + (b * s.classes + k) * s.boxes;
        const float* first = boxes.data() + b * s.boxes * 4;
        std::vector<int64_t> order, kept;
        for (int64_t i = 0; i < s.boxes; ++i)
          if (static_cast<double>(row[i]) > s.least) order.push_back(i);
        std::stable_sort(order.begin(), order.end(),
                         [&](int64_t p, int64_t q) { return row[p] > row[q]; });
        for (int64_t i : order) {
          if (static_cast<int64_t>(kept.size()) >= s.most) break;
          if (std::any_of(kept.begin(), kept.end(), [&](int64_t j) {
                return OverlapOf(first + 4 * i, first + 4 * j) > s.overlap;
              }))
            continue;
          kept.push_back(i);
          wanted.insert(wanted.end(), {b, k, i});
        }
      }
    }
    const absl::StatusOr<std::vector<Tensor>> y =
        model.Call({Tensor::FromVector<float>({s.n, s.boxes, 4}, boxes),
                    Tensor::FromVector<float>({s.n, s.classes, s.boxes}, scores),
                    Tensor::FromVector<int64_t>({1}, {s.most}),
                    Tensor::FromVector<float>({1}, {static_cast<float>(s.overlap)}),
                    Tensor::FromVector<float>({1}, {static_cast<float>(s.least)})});
    ASSERT_TRUE(y.ok()) << y.status();
    const Tensor t = (*y)[0].Contiguous();
    ASSERT_EQ(t.shape(), (std::vector<int64_t>{static_cast<int64_t>(wanted.size()) / 3, 3}));
    EXPECT_EQ(std::vector<int64_t>(t.data<int64_t>(), t.data<int64_t>() + t.num_elements()),
              wanted);
  }
}

}  // namespace
}  // namespace lathe::onnx
