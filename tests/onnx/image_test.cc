// GridSample, AffineGrid and Col2Im for open sizes, against loops over elements.
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

double Reflected(double x, double low, double high) {
  if (low == high) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

struct Form {
  std::string mode, padding;
  bool align = false;
};

// One value of a plane of [h, w] at normalised (x, y).
double Sample(const Form& f, const std::vector<float>& plane, int64_t h, int64_t w, float nx,
              float ny) {
  const int64_t extents[2] = {h, w};
  float at[2] = {ny, nx};
  double low[2], high[2];
  for (int i = 0; i < 2; ++i) {
    const auto n = static_cast<float>(extents[i]);
    at[i] = f.align ? (at[i] + 1) / 2 * (n - 1) : ((at[i] + 1) * n - 1) / 2;
    if (f.mode == "nearest") at[i] = std::nearbyint(at[i]);
    low[i] = f.align ? 0 : -0.5;
    high[i] = static_cast<double>(n) - (f.align ? 1 : 0.5);
    const auto d = static_cast<double>(at[i]);
    if (d >= low[i] && d <= high[i]) continue;
    if (f.padding == "border")
      at[i] = static_cast<float>(std::min(std::max(d, 0.0), static_cast<double>(n) - 1));
    if (f.padding == "reflection") at[i] = static_cast<float>(Reflected(d, low[i], high[i]));
  }
  const auto pixel = [&](int64_t y, int64_t x) -> double {
    int64_t p[2] = {y, x};
    for (int i = 0; i < 2; ++i) {
      if (p[i] >= 0 && p[i] < extents[i]) continue;
      if (f.padding == "zeros") return 0;
      if (f.padding == "reflection")
        p[i] = static_cast<int64_t>(Reflected(static_cast<double>(p[i]), low[i], high[i]));
      p[i] = std::min(std::max<int64_t>(p[i], 0), extents[i] - 1);
    }
    return static_cast<double>(plane[static_cast<size_t>(p[0] * w + p[1])]);
  };
  const auto weight = [&](double d) {
    d = std::fabs(d);
    if (f.mode == "linear") return std::max(0.0, 1 - d);
    const double a = -0.75;
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0;
  };
  const auto base_y = static_cast<int64_t>(std::floor(at[0])),
             base_x = static_cast<int64_t>(std::floor(at[1]));
  if (f.mode == "nearest") return pixel(base_y, base_x);
  double sum = 0;
  for (int64_t y = base_y - 1; y <= base_y + 2; ++y)
    for (int64_t x = base_x - 1; x <= base_x + 2; ++x)
      sum += pixel(y, x) * weight(static_cast<double>(at[0]) - static_cast<double>(y)) *
             weight(static_cast<double>(at[1]) - static_cast<double>(x));
  return sum;
}

TEST(GridSample, OpenImagesAndGrids) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (bool align : {false, true}) {
        const Form f{mode, padding, align};
        GraphWriter g;
        g.Input("x", kFloat, {"n", 2, "h", "w"});
        g.Input("grid", kFloat, {"n", "p", "q", 2});
        g.Node("GridSample", {"x", "grid"}, {"y"},
               {Attr("mode", mode), Attr("padding_mode", padding),
                Attr("align_corners", align ? 1 : 0)});
        g.Output("y");
        SmallModel model(g, 20);
        for (const auto& [h, w] : {std::pair<int64_t, int64_t>(1, 1), {4, 3}, {2, 9}}) {
          const int64_t n = 2, p = 3, q = 5;
          const std::vector<float> x = SomeFloats(static_cast<size_t>(n * 2 * h * w), 4);
          std::vector<float> grid = SomeFloats(static_cast<size_t>(n * p * q * 2), 8);
          for (float& v : grid) v *= 1.9F;
          std::vector<double> wanted;
          for (int64_t k = 0; k < n * 2; ++k) {
            const std::vector<float> plane(x.begin() + k * h * w, x.begin() + (k + 1) * h * w);
            for (int64_t i = 0; i < p * q; ++i) {
              const auto at = static_cast<size_t>((k / 2 * p * q + i) * 2);
              wanted.push_back(Sample(f, plane, h, w, grid[at], grid[at + 1]));
            }
          }
          ExpectNear(model.Floats({Tensor::FromVector<float>({n, 2, h, w}, x),
                                   Tensor::FromVector<float>({n, p, q, 2}, grid)},
                                  {n, 2, p, q}),
                     wanted, absl::StrCat(mode, " ", padding, " ", align, " ", h, "x", w), 1e-5);
        }
        model.Floats({Tensor(f32, {0, 2, 3, 3}), Tensor(f32, {0, 2, 2, 2})}, {0, 2, 2, 2});
        model.Floats({Tensor(f32, {1, 2, 3, 3}), Tensor(f32, {1, 0, 2, 2})}, {1, 2, 0, 2});
      }
    }
  }
}

TEST(GridSample, NothingOutsideIsRead) {
  GraphWriter g;
  g.Input("x", kFloat, {1, 1, "h", "w"});
  g.Input("grid", kFloat, {1, "p", 1, 2});
  g.Node("GridSample", {"x", "grid"}, {"y"});
  g.Output("y");
  SmallModel model(g, 20);
  const float nan = std::nanf(""), inf = HUGE_VALF;
  const Tensor x = Tensor::FromVector<float>({1, 1, 1, 2}, {nan, inf});
  const Tensor grid = Tensor::FromVector<float>({1, 3, 1, 2}, {-9, 0, 1e30F, 1e30F, nan, nan});
  const std::vector<float> y = model.Floats({x, grid}, {1, 1, 3, 1});
  ASSERT_EQ(y.size(), 3);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
}

// An identity matrix reads every element where it lies.
TEST(AffineGrid, OfTheIdentitySamplesTheImage) {
  for (bool align : {false, true}) {
    GraphWriter g;
    g.Input("x", kFloat, {"n", 1, "d", "h", "w"});
    g.Input("theta", kFloat, {"n", 3, 4});
    g.Node("Shape", {"x"}, {"size"});
    g.Node("AffineGrid", {"theta", "size"}, {"grid"}, {Attr("align_corners", align ? 1 : 0)});
    g.Node("GridSample", {"x", "grid"}, {"y"}, {Attr("align_corners", align ? 1 : 0)});
    g.Output("y");
    SmallModel model(g, 20);
    for (const auto& [d, h, w] : {std::tuple<int64_t, int64_t, int64_t>(2, 3, 4), {5, 2, 7}}) {
      const std::vector<float> x = SomeFloats(static_cast<size_t>(2 * d * h * w), 6);
      std::vector<float> theta;
      for (int n = 0; n < 2; ++n)
        for (int i = 0; i < 12; ++i) theta.push_back(i % 5 == 0 ? 1.0F : 0.0F);
      ExpectNear(model.Floats({Tensor::FromVector<float>({2, 1, d, h, w}, x),
                               Tensor::FromVector<float>({2, 3, 4}, theta)},
                              {2, 1, d, h, w}),
                 std::vector<double>(x.begin(), x.end()), absl::StrCat(d, h, w), 1e-5);
    }
  }
}

TEST(Col2Im, SumsTheBlocksOfAnOpenImage) {
  const int64_t kh = 2, kw = 3, stride = 2, dilation = 2, pad = 1;
  GraphWriter g;
  g.Input("x", kFloat, {"n", "ck", "blocks"});
  g.Input("image", kInt64, {2});
  g.Initializer(TensorMessage<int64_t>("block", {2}, {kh, kw}));
  g.Node("Col2Im", {"x", "image", "block"}, {"y"},
         {Attr("strides", std::vector<int64_t>{stride, 1}),
          Attr("dilations", std::vector<int64_t>{1, dilation}),
          Attr("pads", std::vector<int64_t>{pad, 0, 0, 2})});
  g.Output("y");
  SmallModel model(g, 18);
  for (const auto& [h, w] : {std::pair<int64_t, int64_t>(1, 3), {4, 5}, {7, 6}}) {
    const int64_t bh = (h + pad - kh) / stride + 1, bw = w + 2 - (kw - 1) * dilation;
    const int64_t n = 2, channels = 2;
    const std::vector<float> x =
        SomeFloats(static_cast<size_t>(n * channels * kh * kw * bh * bw), 1);
    std::vector<double> wanted(static_cast<size_t>(n * channels * h * w));
    size_t next = 0;
    for (int64_t plane = 0; plane < n * channels; ++plane)
      for (int64_t i = 0; i < kh; ++i)
        for (int64_t j = 0; j < kw; ++j)
          for (int64_t r = 0; r < bh; ++r)
            for (int64_t s = 0; s < bw; ++s) {
              const auto v = static_cast<double>(x[next++]);
              const int64_t y = r * stride + i - pad, z = s + j * dilation;
              if (y >= 0 && y < h && z >= 0 && z < w)
                wanted[static_cast<size_t>((plane * h + y) * w + z)] += v;
            }
    ExpectNear(model.Floats({Tensor::FromVector<float>({n, channels * kh * kw, bh * bw}, x),
                             Tensor::FromVector<int64_t>({2}, {h, w})},
                            {n, channels, h, w}),
               wanted, absl::StrCat(h, "x", w));
  }
}

}  // namespace
}  // namespace lathe::onnx
