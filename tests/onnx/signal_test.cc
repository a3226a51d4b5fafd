// DFT and STFT of open lengths against sums of the definition; windows.
#include <cmath>
#include <complex>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/small_model.h"

namespace lathe::onnx {
namespace {

using Complex = std::complex<double>;
constexpr double kPi = 3.14159265358979323846;

// `x`, padded or cut to `length`.
std::vector<Complex> Transform(std::vector<Complex> x, int64_t length, bool inverse) {
  x.resize(static_cast<size_t>(length));
  std::vector<Complex> y;
  for (int64_t k = 0; k < length; ++k) {
    Complex sum = 0;
    for (int64_t n = 0; n < length; ++n)
      sum += x[static_cast<size_t>(n)] *
             std::polar(1.0, (inverse ? 2 : -2) * kPi * static_cast<double>(n * k % length) /
                                 static_cast<double>(length));
    y.push_back(inverse ? sum / static_cast<double>(length) : sum);
  }
  return y;
}

Complex At(const std::vector<float>& v, int64_t i, int64_t parts) {
  const auto k = static_cast<size_t>(i * parts);
  return {static_cast<double>(v[k]), parts == 2 ? static_cast<double>(v[k + 1]) : 0.0};
}

TEST(Dft, AnyLengthAlongAnyAxis) {
  for (int64_t parts : {1, 2}) {
    for (bool inverse : {false, true}) {
      for (bool onesided : {false, true}) {
        if (onesided && (inverse || parts == 2)) continue;
        GraphWriter g;
        g.Input("x", kFloat, {"batch", "n", "m", parts});
        g.Input("length", kInt64, std::vector<DeclaredDim>{});
        g.Initializer(TensorMessage<int64_t>("axis", {}, {-3}));
        g.Node("DFT", {"x", "length", "axis"}, {"y"},
               {Attr("inverse", inverse ? 1 : 0), Attr("onesided", onesided ? 1 : 0)});
        g.Output("y");
        SmallModel model(g, 20);
        for (int64_t n : {1, 2, 7, 16}) {
          for (int64_t length : {int64_t{1}, n, n + 3}) {
            const int64_t m = 3, out = onesided ? length / 2 + 1 : length;
            const std::vector<float> x = SomeFloats(static_cast<size_t>(n * m * parts), 5);
            std::vector<double> wanted(static_cast<size_t>(out * m * 2));
            for (int64_t j = 0; j < m; ++j) {
              std::vector<Complex> line;
              for (int64_t i = 0; i < n; ++i) line.push_back(At(x, i * m + j, parts));
              line.resize(static_cast<size_t>(std::min(n, length)));
              const std::vector<Complex> y = Transform(line, length, inverse);
              for (int64_t k = 0; k < out; ++k) {
                wanted[static_cast<size_t>((k * m + j) * 2)] = y[static_cast<size_t>(k)].real();
                wanted[static_cast<size_t>((k * m + j) * 2 + 1)] = y[static_cast<size_t>(k)].imag();
              }
            }
            ExpectNear(model.Floats({Tensor::FromVector<float>({1, n, m, parts}, x),
                                     Tensor::Scalar<int64_t>(length)},
                                    {1, out, m, 2}),
                       wanted, absl::StrCat(parts, inverse ? " inverse " : " ", n, " by ", length));
          }
        }
        model.Floats({Tensor(f32, {0, 4, 2, parts}), Tensor::Scalar<int64_t>(4)},
                     {0, onesided ? 3 : 4, 2, 2});
      }
    }
  }
}

// What the onesided transform of a real signal gives comes back.
TEST(Dft, OnesidedInverseOfOnesided) {
  GraphWriter g;
  g.Input("x", kFloat, {"batch", "n", 1});
  g.Node("Shape", {"x"}, {"length"}, {Attr("start", 1), Attr("end", 2)});
  g.Initializer(TensorMessage<int64_t>("scalar", {0}, {}));
  g.Node("Reshape", {"length", "scalar"}, {"n"});
  g.Node("DFT", {"x"}, {"y"}, {Attr("onesided", 1)});
  g.Node("DFT", {"y", "n"}, {"z"}, {Attr("onesided", 1), Attr("inverse", 1)});
  g.Output("z");
  SmallModel model(g, 20);
  for (int64_t n : {1, 2, 5, 8, 33}) {
    const std::vector<float> x = SomeFloats(static_cast<size_t>(2 * n), 3);
    ExpectNear(model.Floats({Tensor::FromVector<float>({2, n, 1}, x)}, {2, n, 1}),
               std::vector<double>(x.begin(), x.end()), absl::StrCat(n));
  }
}

TEST(Dft, AxisIsAnAttributeBeforeOpset20) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", "m", 1});
  g.Node("DFT", {"x"}, {"y"}, {Attr("axis", 0)});
  g.Output("y");
  SmallModel model(g, 17);
  ExpectNear(model.Floats({Tensor::FromVector<float>({2, 1, 1}, {3, 1})}, {2, 1, 2}), {4, 0, 2, 0},
             "two");
}

TEST(Stft, FramesOfAnOpenSignal) {
  for (bool onesided : {false, true}) {
    GraphWriter g;
    g.Input("x", kFloat, {"batch", "n", 1});
    g.Input("window", kFloat, {"w"});
    g.Initializer(TensorMessage<int64_t>("step", {}, {3}));
    g.Node("STFT", {"x", "step", "window"}, {"y"}, {Attr("onesided", onesided ? 1 : 0)});
    g.Output("y");
    SmallModel model(g, 17);
    for (const auto& [n, w] : {std::pair<int64_t, int64_t>(8, 8), {20, 6}, {7, 1}, {31, 5}}) {
      const std::vector<float> x = SomeFloats(static_cast<size_t>(2 * n), 2),
                               window = SomeFloats(static_cast<size_t>(w), 9);
      const int64_t frames = (n - w) / 3 + 1, bins = onesided ? w / 2 + 1 : w;
      std::vector<double> wanted;
      for (int64_t b = 0; b < 2; ++b) {
        for (int64_t f = 0; f < frames; ++f) {
          std::vector<Complex> frame;
          for (int64_t i = 0; i < w; ++i)
            frame.push_back(At(x, b * n + f * 3 + i, 1) * At(window, i, 1));
          const std::vector<Complex> y = Transform(frame, w, false);
          for (int64_t k = 0; k < bins; ++k) {
            wanted.push_back(y[static_cast<size_t>(k)].real());
            wanted.push_back(y[static_cast<size_t>(k)].imag());
          }
        }
      }
      ExpectNear(model.Floats({Tensor::FromVector<float>({2, n, 1}, x),
                               Tensor::FromVector<float>({w}, window)},
                              {2, frames, bins, 2}),
                 wanted, absl::StrCat(n, " in frames of ", w));
    }
    // A frame that is longer than the signal.
    EXPECT_FALSE(model.Call({Tensor(f32, {1, 3, 1}), Tensor(f32, {4})}).ok());
  }
}

TEST(Windows, OfASizeThatTheCallGives) {
  GraphWriter g;
  g.Input("x", kFloat, {"n"});
  g.Node("Shape", {"x"}, {"shape"});
  g.Initializer(TensorMessage<int64_t>("scalar", {0}, {}));
  g.Node("Reshape", {"shape", "scalar"}, {"n"});
  g.Node("HannWindow", {"n"}, {"hann"});
  g.Node("HammingWindow", {"n"}, {"hamming"}, {Attr("periodic", 0)});
  g.Node("BlackmanWindow", {"n"}, {"blackman"});
  g.Node("Concat", {"hann", "hamming", "blackman"}, {"y"}, {Attr("axis", 0)});
  g.Output("y");
  SmallModel model(g, 17);
  for (int64_t n : {0, 2, 3, 10}) {
    std::vector<double> wanted;
    for (int kind = 0; kind < 3; ++kind) {
      for (int64_t i = 0; i < n; ++i) {
        const double t = 2 * kPi * static_cast<double>(i) / static_cast<double>(n - kind % 2);
        if (kind == 0) wanted.push_back(0.5 - 0.5 * std::cos(t));
        if (kind == 1) wanted.push_back(25.0 / 46 - 21.0 / 46 * std::cos(t));
        if (kind == 2) wanted.push_back(0.42 - 0.5 * std::cos(t) + 0.08 * std::cos(2 * t));
      }
    }
    ExpectNear(model.Floats({Tensor(f32, {n})}, {3 * n}), wanted, absl::StrCat(n));
  }
}

}  // namespace
}  // namespace lathe::onnx
