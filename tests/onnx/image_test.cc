// GridSample, AffineGrid, Col2Im and DeformConv for open sizes, against loops over elements.
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

// 0 outside of the plane, between elements the bilinear mean.
double ReadBetween(const float* plane, int64_t h, int64_t w, double y, double x) {
  double sum = 0;
  const double top = std::floor(y), left = std::floor(x);
  for (int k = 0; k < 4; ++k) {
    const double r = top + k / 2, s = left + k % 2;
    if (r < 0 || s < 0 || r >= static_cast<double>(h) || s >= static_cast<double>(w)) continue;
    sum += (1 - std::abs(y - r)) * (1 - std::abs(x - s)) *
           static_cast<double>(plane[static_cast<int64_t>(r) * w + static_cast<int64_t>(s)]);
  }
  return sum;
}

TEST(DeformConv, GroupsOffsetsAndMaskOfAnOpenImage) {
  const int64_t n = 2, c = 4, m = 6, kh = 2, kw = 3, sy = 2, dx = 2, top = 1, right = 2;
  for (int64_t groups : {1, 2}) {
    for (int64_t offset_groups : {1, 2}) {
      for (bool masked : {false, true}) {
        const std::vector<float> weights =
            SomeFloats(static_cast<size_t>(m * c / groups * kh * kw), 1);
        const std::vector<float> bias = SomeFloats(static_cast<size_t>(m), 2);
        GraphWriter g;
        g.Input("x", kFloat, {"n", c, "h", "w"});
        g.Input("offset", kFloat, {"n", offset_groups * kh * kw * 2, "oh", "ow"});
        g.Input("mask", kFloat, {"n", offset_groups * kh * kw, "oh", "ow"});
        g.Initializer(TensorMessage<float>("weights", {m, c / groups, kh, kw}, weights));
        g.Initializer(TensorMessage<float>("bias", {m}, bias));
        g.Node("DeformConv", {"x", "weights", "offset", "bias", masked ? "mask" : ""}, {"y"},
               {Attr("group", groups), Attr("offset_group", offset_groups),
                Attr("strides", std::vector<int64_t>{sy, 1}),
                Attr("dilations", std::vector<int64_t>{1, dx}),
                Attr("pads", std::vector<int64_t>{top, 0, 0, right})});
        g.Output("y");
        SmallModel model(g, 19);
        for (const auto& [h, w] : {std::pair<int64_t, int64_t>(1, 3), {4, 5}, {7, 6}, {1, 3}}) {
          const int64_t oh = (h + top - kh) / sy + 1, ow = w + right - (kw - 1) * dx;
          const std::vector<float> x = SomeFloats(static_cast<size_t>(n * c * h * w), 3);
          std::vector<float> offset =
              SomeFloats(static_cast<size_t>(n * offset_groups * kh * kw * 2 * oh * ow), 4);
          for (float& v : offset) v *= 3;
          const std::vector<float> mask =
              SomeFloats(static_cast<size_t>(n * offset_groups * kh * kw * oh * ow), 5);
          std::vector<double> wanted;
          for (int64_t b = 0; b < n; ++b)
            for (int64_t o = 0; o < m; ++o)
              for (int64_t r = 0; r < oh; ++r)
                for (int64_t s = 0; s < ow; ++s) {
                  auto sum = static_cast<double>(bias[static_cast<size_t>(o)]);
                  for (int64_t k = 0; k < c / groups * kh * kw; ++k) {
                    const int64_t tap = k % (kh * kw), i = tap / kw, j = tap % kw;
                    const int64_t part = k / (kh * kw), each = c / groups;
                    const int64_t channel = o / (m / groups) * each + part;
                    const int64_t set =
                        (b * offset_groups + channel / (c / offset_groups)) * kh * kw + tap;
                    const auto at = [&](const std::vector<float>& v, int64_t plane) {
                      return static_cast<double>(v[static_cast<size_t>((plane * oh + r) * ow + s)]);
                    };
                    const double y = static_cast<double>(r * sy - top + i) + at(offset, set * 2);
                    const double z = static_cast<double>(s + j * dx) + at(offset, set * 2 + 1);
                    const float* plane = x.data() + (b * c + channel) * h * w;
                    sum += ReadBetween(plane, h, w, y, z) * (masked ? at(mask, set) : 1) *
                           static_cast<double>(
                               weights[static_cast<size_t>((o * each + part) * kh * kw + tap)]);
                  }
                  wanted.push_back(sum);
                }
          ExpectNear(
              model.Floats(
                  {Tensor::FromVector<float>({n, c, h, w}, x),
                   Tensor::FromVector<float>({n, offset_groups * kh * kw * 2, oh, ow}, offset),
                   Tensor::FromVector<float>({n, offset_groups * kh * kw, oh, ow}, mask)},
                  {n, m, oh, ow}),
              wanted,
              absl::StrCat(groups, " ", offset_groups, masked ? " masked " : " ", h, "x", w), 1e-5);
        }
      }
    }
  }
}

}  // namespace
}  // namespace lathe::onnx
