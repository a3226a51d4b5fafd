// Convolutions of open images, alone and in chains that keep their channels innermost, against
// loops over elements.
#include <array>
#include <functional>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

// [n, c, h, w] in doubles.
struct Image {
  std::array<int64_t, 4> shape = {};
  std::vector<double> values;

  explicit Image(std::array<int64_t, 4> s)
      : shape(s), values(static_cast<size_t>(s[0] * s[1] * s[2] * s[3])) {}
  Image(std::array<int64_t, 4> s, const std::vector<float>& v)
      : shape(s), values(v.begin(), v.end()) {}
  double& at(int64_t n, int64_t c, int64_t y, int64_t x) {
    return values[static_cast<size_t>(((n * shape[1] + c) * shape[2] + y) * shape[3] + x)];
  }
  void ForEach(const std::function<void(int64_t, int64_t, int64_t, int64_t)>& f) const {
    for (int64_t n = 0; n < shape[0]; ++n)
      for (int64_t c = 0; c < shape[1]; ++c)
        for (int64_t y = 0; y < shape[2]; ++y)
          for (int64_t x = 0; x < shape[3]; ++x) f(n, c, y, x);
  }
};

struct Form {
  int64_t groups = 1, in = 3, out = 4;
  std::array<int64_t, 2> kernel = {3, 3}, stride = {1, 1}, dilation = {1, 1};
  std::array<int64_t, 4> pads = {0, 0, 0, 0};  // top, left, bottom, right
  std::array<int64_t, 2> extra = {0, 0};       // output_padding
};

std::vector<Bytes> Attributes(const Form& f, bool transposed) {
  const auto list = [](const auto& a) { return std::vector<int64_t>(a.begin(), a.end()); };
  std::vector<Bytes> attributes = {Attr("group", f.groups), Attr("strides", list(f.stride)),
                                   Attr("dilations", list(f.dilation)), Attr("pads", list(f.pads))};
  if (transposed) attributes.push_back(Attr("output_padding", list(f.extra)));
  return attributes;
}

// Weights [out, in / groups, k..]; transposed [in, out / groups, k..].
std::vector<int64_t> WeightShape(const Form& f, bool transposed) {
  return transposed ? std::vector<int64_t>{f.in, f.out / f.groups, f.kernel[0], f.kernel[1]}
                    : std::vector<int64_t>{f.out, f.in / f.groups, f.kernel[0], f.kernel[1]};
}

std::vector<float> Weights(const Form& f, bool transposed, uint64_t seed) {
  int64_t count = 1;
  for (int64_t d : WeightShape(f, transposed)) count *= d;
  return SomeFloats(static_cast<size_t>(count), seed);
}

Image Convolved(const Form& f, Image x, const std::vector<float>& weights) {
  std::array<int64_t, 4> shape = {x.shape[0], f.out, 0, 0};
  for (size_t i = 0; i < 2; ++i)
    shape[2 + i] =
        (x.shape[2 + i] + f.pads[i] + f.pads[2 + i] - (f.dilation[i] * (f.kernel[i] - 1) + 1)) /
            f.stride[i] +
        1;
  Image y(shape);
  const int64_t part = f.in / f.groups;
  y.ForEach([&](int64_t n, int64_t m, int64_t oy, int64_t ox) {
    double sum = 0;
    for (int64_t c = 0; c < part; ++c)
      for (int64_t ky = 0; ky < f.kernel[0]; ++ky)
        for (int64_t kx = 0; kx < f.kernel[1]; ++kx) {
          const int64_t iy = oy * f.stride[0] + ky * f.dilation[0] - f.pads[0];
          const int64_t ix = ox * f.stride[1] + kx * f.dilation[1] - f.pads[1];
          if (iy < 0 || ix < 0 || iy >= x.shape[2] || ix >= x.shape[3]) continue;
          const int64_t w = ((m * part + c) * f.kernel[0] + ky) * f.kernel[1] + kx;
          sum += x.at(n, m / (f.out / f.groups) * part + c, iy, ix) *
                 static_cast<double>(weights[static_cast<size_t>(w)]);
        }
    y.at(n, m, oy, ox) = sum;
  });
  return y;
}

Image Transposed(const Form& f, Image x, const std::vector<float>& weights) {
  std::array<int64_t, 4> shape = {x.shape[0], f.out, 0, 0};
  for (size_t i = 0; i < 2; ++i)
    shape[2 + i] = f.stride[i] * (x.shape[2 + i] - 1) + f.extra[i] +
                   f.dilation[i] * (f.kernel[i] - 1) + 1 - f.pads[i] - f.pads[2 + i];
  Image y(shape);
  const int64_t outs = f.out / f.groups;
  x.ForEach([&](int64_t n, int64_t c, int64_t iy, int64_t ix) {
    for (int64_t m = 0; m < outs; ++m)
      for (int64_t ky = 0; ky < f.kernel[0]; ++ky)
        for (int64_t kx = 0; kx < f.kernel[1]; ++kx) {
          const int64_t oy = iy * f.stride[0] + ky * f.dilation[0] - f.pads[0];
          const int64_t ox = ix * f.stride[1] + kx * f.dilation[1] - f.pads[1];
          if (oy < 0 || ox < 0 || oy >= shape[2] || ox >= shape[3]) continue;
          const int64_t w = ((c * outs + m) * f.kernel[0] + ky) * f.kernel[1] + kx;
          y.at(n, c / (f.in / f.groups) * outs + m, oy, ox) +=
              x.at(n, c, iy, ix) * static_cast<double>(weights[static_cast<size_t>(w)]);
        }
  });
  return y;
}

Image Pointwise(Image x, const std::function<double(int64_t channel, double)>& f) {
  x.ForEach([&](int64_t n, int64_t c, int64_t y, int64_t w) {
    x.at(n, c, y, w) = f(c, x.at(n, c, y, w));
  });
  return x;
}

void ExpectImage(SmallModel& model, const Image& x, const std::vector<float>& values,
                 const Image& wanted, const std::string& what) {
  const std::vector<int64_t> in(x.shape.begin(), x.shape.end());
  const std::vector<int64_t> out(wanted.shape.begin(), wanted.shape.end());
  ExpectNear(model.Floats({Tensor::FromVector<float>(in, values)}, out), wanted.values, what, 4e-6);
}

const std::array<int64_t, 3> kSizes[] = {{1, 9, 7}, {2, 5, 12}, {1, 33, 40}, {0, 6, 6}, {1, 9, 7}};

void ExpectForm(const Form& f, bool transposed) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", f.in, "h", "w"});
  const std::vector<float> weights = Weights(f, transposed, 7);
  g.Initializer(TensorMessage<float>("k", WeightShape(f, transposed), weights));
  g.Node(transposed ? "ConvTranspose" : "Conv", {"x", "k"}, {"y"}, Attributes(f, transposed));
  g.Output("y");
  SmallModel model(g, 21);
  for (const auto& [n, h, w] : kSizes) {
    const Image shape({n, f.in, h, w});
    const std::vector<float> values = SomeFloats(shape.values.size(), static_cast<uint64_t>(h));
    const Image x(shape.shape, values);
    ExpectImage(
        model, x, values, transposed ? Transposed(f, x, weights) : Convolved(f, x, weights),
        absl::StrCat("groups ", f.groups, ", kernel ", f.kernel[0], "x", f.kernel[1], ", stride ",
                     f.stride[0], "x", f.stride[1], " at ", n, "x", h, "x", w));
  }
}

TEST(Conv, EveryFormOfWindows) {
  const Form kForms[] = {
      {},
      {.kernel = {1, 1}},
      {.in = 16, .out = 33, .kernel = {1, 1}, .stride = {2, 1}},
      {.in = 8, .out = 16, .pads = {1, 1, 1, 1}},
      {.in = 5, .out = 3, .kernel = {3, 2}, .stride = {2, 2}, .pads = {0, 1, 2, 0}},
      {.in = 4, .out = 24, .dilation = {2, 1}, .pads = {2, 1, 2, 1}},
      {.in = 4, .out = 2, .dilation = {1, 2}, .pads = {1, 2, 1, 2}},
      {.groups = 2, .in = 4, .out = 6, .pads = {1, 1, 1, 1}},
      {.groups = 6, .in = 6, .out = 6, .kernel = {5, 5}, .stride = {2, 1}, .pads = {2, 2, 2, 2}},
      {.groups = 40, .in = 40, .out = 40, .pads = {1, 1, 1, 1}},
      {.groups = 3, .in = 3, .out = 6, .kernel = {2, 2}},
      {.groups = 4, .in = 32, .out = 32, .pads = {1, 1, 1, 1}},
      {.groups = 3, .in = 12, .out = 60, .kernel = {1, 1}, .stride = {2, 1}},
      {.groups = 2, .in = 10, .out = 6, .kernel = {5, 2}, .dilation = {1, 2}, .pads = {2, 0, 1, 3}},
      {.groups = 2, .in = 128, .out = 34, .stride = {1, 2}, .pads = {1, 1, 1, 1}}};
  for (const Form& f : kForms) ExpectForm(f, false);
}

TEST(ConvTranspose, BlocksAndWhatOverlaps) {
  const Form kForms[] = {
      {.in = 4, .out = 3, .kernel = {2, 2}, .stride = {2, 2}},
      {.in = 24, .out = 1, .kernel = {2, 2}, .stride = {2, 2}},
      {.in = 2,
       .out = 5,
       .kernel = {3, 2},
       .stride = {3, 2},
       .pads = {1, 0, 2, 1},
       .extra = {2, 1}},
      {.in = 2,
       .out = 2,
       .kernel = {2, 2},
       .stride = {2, 2},
       .extra = {1, 1}},  // beyond the blocks
      {.in = 2, .out = 3, .kernel = {3, 3}, .stride = {2, 2}, .pads = {1, 1, 1, 1}},
      {.in = 2, .out = 3, .kernel = {1, 1}},
      {.groups = 2, .in = 4, .out = 4, .kernel = {2, 2}, .stride = {2, 2}}};
  for (const Form& f : kForms) ExpectForm(f, true);
}

// A convolution, a scale from the mean of each channel, one by channel, upsampling, and a sum: what
// follows keeps the layout of the products.
TEST(Conv, AChainWithItsChannelsInnermost) {
  const Form first = {.in = 3, .out = 8, .stride = {2, 2}, .pads = {1, 1, 1, 1}};
  const Form each = {.groups = 8, .in = 8, .out = 8, .pads = {1, 1, 1, 1}};
  const Form last = {.in = 8, .out = 5, .kernel = {1, 1}};
  GraphWriter g;
  g.Input("x", kFloat, {"n", 3, "h", "w"});
  const std::vector<float> a = Weights(first, false, 1), b = Weights(each, false, 2),
                           c = Weights(last, false, 3);
  g.Initializer(TensorMessage<float>("a", WeightShape(first, false), a));
  g.Initializer(TensorMessage<float>("b", WeightShape(each, false), b));
  g.Initializer(TensorMessage<float>("c", WeightShape(last, false), c));
  g.Initializer(TensorMessage<float>("scales", {4}, {1, 1, 2, 2}));
  g.Node("Conv", {"x", "a"}, {"p"}, Attributes(first, false));
  g.Node("GlobalAveragePool", {"p"}, {"m"});
  g.Node("Mul", {"p", "m"}, {"q"});
  g.Node("Conv", {"q", "b"}, {"r"}, Attributes(each, false));
  g.Node("Relu", {"r"}, {"s"});
  g.Node("Concat", {"s", "q"}, {"both"}, {Attr("axis", 1)});
  g.Node("Resize", {"s", "", "scales"}, {"u"},
         {Attr("mode", "nearest"), Attr("coordinate_transformation_mode", "asymmetric"),
          Attr("nearest_mode", "floor")});
  g.Node("Conv", {"u", "c"}, {"y"}, Attributes(last, false));
  g.Output("y");
  g.Output("both");
  SmallModel model(g, 13);
  for (const auto& [n, h, w] : kSizes) {
    const Image shape({n, 3, h, w});
    const std::vector<float> values = SomeFloats(shape.values.size(), static_cast<uint64_t>(h));
    Image p = Convolved(first, Image(shape.shape, values), a);
    Image q = p;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t ch = 0; ch < 8; ++ch) {
        double sum = 0;
        for (int64_t y = 0; y < p.shape[2]; ++y)
          for (int64_t x = 0; x < p.shape[3]; ++x) sum += p.at(i, ch, y, x);
        for (int64_t y = 0; y < p.shape[2]; ++y)
          for (int64_t x = 0; x < p.shape[3]; ++x)
            q.at(i, ch, y, x) *= sum / static_cast<double>(p.shape[2] * p.shape[3]);
      }
    Image s = Pointwise(Convolved(each, q, b), [](int64_t, double v) { return v > 0 ? v : 0; });
    Image u({n, 8, 2 * s.shape[2], 2 * s.shape[3]});
    u.ForEach([&](int64_t i, int64_t ch, int64_t y, int64_t x) {
      u.at(i, ch, y, x) = s.at(i, ch, y / 2, x / 2);
    });
    Image both({n, 16, s.shape[2], s.shape[3]});
    both.ForEach([&](int64_t i, int64_t ch, int64_t y, int64_t x) {
      both.at(i, ch, y, x) = ch < 8 ? s.at(i, ch, y, x) : q.at(i, ch - 8, y, x);
    });
    ExpectImage(model, shape, values, Convolved(last, u, c),
                absl::StrCat("at ", n, "x", h, "x", w));
    const std::vector<int64_t> in(shape.shape.begin(), shape.shape.end());
    const absl::StatusOr<std::vector<Tensor>> got =
        model.Call({Tensor::FromVector<float>(in, values)});
    ASSERT_TRUE(got.ok()) << got.status();
    const Tensor second = (*got)[1].Contiguous();
    ASSERT_EQ(second.shape(), std::vector<int64_t>(both.shape.begin(), both.shape.end()));
    const float* data = second.data<float>();
    ExpectNear({data, data + second.num_elements()}, both.values, "concat", 4e-6);
  }
}

}  // namespace
}  // namespace lathe::onnx
