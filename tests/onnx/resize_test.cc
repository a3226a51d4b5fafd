// Resize with open height and width: one program for all sizes, against the standard's formulas
// element by element.
#include <cmath>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

struct Form {
  std::string mode = "nearest", coordinates = "half_pixel", nearest = "round_prefer_floor";
  bool antialias = false, exclude = false;
};

double Kernel(const Form& f, double d) {
  d = std::fabs(d);
  if (f.mode == "linear") return std::max(0.0, 1 - d);
  const double a = -0.75;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0;
}

// One line of `in` elements to `out`; `width` is in * scale.
std::vector<double> Line(const Form& f, const std::vector<double>& x, int64_t out, double scale) {
  const auto in = static_cast<int64_t>(x.size());
  const double n = static_cast<double>(in), width = n * scale, last = n - 1;
  std::vector<double> y;
  for (int64_t i = 0; i < out; ++i) {
    const double p = static_cast<double>(i);
    double at = (p + 0.5) / scale - 0.5;
    if (f.coordinates == "asymmetric") at = p / scale;
    if (f.coordinates == "tf_half_pixel_for_nn") at = (p + 0.5) / scale;
    if (f.coordinates == "align_corners") at = width == 1 ? 0 : p * last / (width - 1);
    if (f.coordinates == "pytorch_half_pixel" && out == 1) at = 0;
    if (f.coordinates == "half_pixel_symmetric")
      at += n / 2 * (1 - static_cast<double>(out) / width);
    const auto clamped = [&](int64_t k) {
      return x[static_cast<size_t>(std::min(std::max<int64_t>(k, 0), in - 1))];
    };
    if (f.mode == "nearest") {
      double k = std::ceil(at - 0.5);
      if (f.nearest == "floor") k = std::floor(at);
      if (f.nearest == "ceil") k = std::ceil(at);
      if (f.nearest == "round_prefer_ceil") k = std::floor(at + 0.5);
      y.push_back(clamped(static_cast<int64_t>(k)));
      continue;
    }
    const double squeeze = f.antialias ? std::min(scale, 1.0) : 1.0;
    const auto reach = static_cast<int64_t>(2 / squeeze) + 2;
    const auto base = static_cast<int64_t>(std::floor(at));
    double sum = 0, total = 0;
    for (int64_t k = base - reach; k <= base + reach; ++k) {
      if (f.exclude && (k < 0 || k >= in)) continue;
      const double w = Kernel(f, (static_cast<double>(k) - at) * squeeze);
      sum += w * clamped(k);
      total += w;
    }
    y.push_back(total == 0 ? sum : sum / total);
  }
  return y;
}

std::vector<double> Plane(const Form& f, const std::vector<float>& x, int64_t h, int64_t w,
                          int64_t oh, int64_t ow, double sh, double sw) {
  std::vector<double> wide;
  for (int64_t r = 0; r < h; ++r) {
    const std::vector<double> line =
        Line(f, std::vector<double>(x.begin() + r * w, x.begin() + (r + 1) * w), ow, sw);
    wide.insert(wide.end(), line.begin(), line.end());
  }
  std::vector<double> y(static_cast<size_t>(oh * ow));
  for (int64_t k = 0; k < ow; ++k) {
    std::vector<double> column;
    for (int64_t r = 0; r < h; ++r) column.push_back(wide[static_cast<size_t>(r * ow + k)]);
    const std::vector<double> line = Line(f, column, oh, sh);
    for (int64_t r = 0; r < oh; ++r)
      y[static_cast<size_t>(r * ow + k)] = line[static_cast<size_t>(r)];
  }
  return y;
}

std::vector<Bytes> Attributes(const Form& f) {
  return {Attr("mode", f.mode), Attr("coordinate_transformation_mode", f.coordinates),
          Attr("nearest_mode", f.nearest), Attr("antialias", f.antialias ? 1 : 0),
          Attr("exclude_outside", f.exclude ? 1 : 0)};
}

std::string Describe(const Form& f) {
  return absl::StrCat(f.mode, " ", f.coordinates, " ", f.nearest, f.antialias ? " antialias" : "",
                      f.exclude ? " exclude_outside" : "");
}

Tensor Image(int64_t n, int64_t h, int64_t w) {
  return Tensor::FromVector<float>({n, 1, h, w}, SomeFloats(static_cast<size_t>(n * h * w), 7));
}

const std::vector<std::pair<int64_t, int64_t>> kExtents = {
    {3, 5}, {1, 1}, {8, 4}, {1, 13}, {16, 9}};

void CheckScales(const Form& f, float sh, float sw) {
  GraphWriter g;
  g.Input("x", kFloat, {"n", 1, "h", "w"});
  g.Initializer(TensorMessage<float>("scales", {4}, {1, 1, sh, sw}));
  g.Node("Resize", {"x", "", "scales"}, {"y"},
         f.coordinates == "tf_half_pixel_for_nn"
             ? std::vector<Bytes>{Attr("mode", f.mode),
                                  Attr("coordinate_transformation_mode", f.coordinates),
                                  Attr("nearest_mode", f.nearest)}
             : Attributes(f));
  g.Output("y");
  SmallModel model(g, f.coordinates == "tf_half_pixel_for_nn" ? 13 : 19);
  for (const auto& [h, w] : kExtents) {
    const auto oh = static_cast<int64_t>(std::floor(static_cast<float>(h) * sh));
    const auto ow = static_cast<int64_t>(std::floor(static_cast<float>(w) * sw));
    const Tensor x = Image(1, h, w);
    const std::vector<float> values(x.data<float>(), x.data<float>() + h * w);
    ExpectNear(model.Floats({x}, {1, 1, oh, ow}),
               Plane(f, values, h, w, oh, ow, static_cast<double>(sh), static_cast<double>(sw)),
               absl::StrCat(Describe(f), " by ", sh, ", ", sw, " of ", h, ", ", w));
  }
  model.Floats({Image(0, 3, 5)}, {0, 1, static_cast<int64_t>(std::floor(3 * sh)),
                                  static_cast<int64_t>(std::floor(5 * sw))});
}

const std::vector<std::pair<float, float>> kScales = {{2, 3}, {0.625F, 1.75F}, {1, 0.4375F}};

TEST(Resize, NearestByScales) {
  for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                                  "half_pixel_symmetric", "tf_half_pixel_for_nn"})
    for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})
      for (const auto& [sh, sw] : kScales) CheckScales({"nearest", coordinates, nearest}, sh, sw);
}

TEST(Resize, LinearAndCubicByScales) {
  for (const char* mode : {"linear", "cubic"})
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners",
                                    "pytorch_half_pixel", "half_pixel_symmetric"})
      for (const auto& [sh, sw] : kScales)
        CheckScales({mode, coordinates, "floor", false, /*exclude=*/sh < 1}, sh, sw);
}

TEST(Resize, Antialias) {
  for (const char* mode : {"linear", "cubic"})
    for (bool exclude : {false, true})
      for (const auto& [sh, sw] : {std::pair<float, float>(0.25F, 0.3125F), {0.625F, 2}})
        CheckScales({mode, "half_pixel", "floor", true, exclude}, sh, sw);
}

TEST(Resize, SizesAsContentsOfAnInput) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (bool antialias : {false, true}) {
      Form f{mode, "half_pixel", "round_prefer_ceil", antialias && std::string(mode) != "nearest"};
      GraphWriter g;
      g.Input("x", kFloat, {"n", 1, "h", "w"});
      g.Input("to", kInt64, {2});
      std::vector<Bytes> attributes = Attributes(f);
      attributes.push_back(Attr("axes", std::vector<int64_t>{-1, 2}));
      g.Node("Resize", {"x", "", "", "to"}, {"y"}, attributes);
      g.Output("y");
      SmallModel model(g, 18);
      for (const auto& [h, w] : kExtents) {
        for (const auto& [oh, ow] :
             {std::pair<int64_t, int64_t>(1, 1), {2 * h, 3 * w}, {5, 2}, {0, 3}}) {
          const Tensor x = Image(2, h, w);
          std::vector<double> wanted;
          for (int64_t n = 0; n < 2; ++n) {
            const float* first = x.data<float>() + n * h * w;
            const std::vector<double> plane =
                Plane(f, std::vector<float>(first, first + h * w), h, w, oh, ow,
                      static_cast<double>(oh) / static_cast<double>(h),
                      static_cast<double>(ow) / static_cast<double>(w));
            wanted.insert(wanted.end(), plane.begin(), plane.end());
          }
          ExpectNear(model.Floats({x, Tensor::FromVector<int64_t>({2}, {ow, oh})}, {2, 1, oh, ow}),
                     wanted, absl::StrCat(Describe(f), " ", h, "x", w, " to ", oh, "x", ow));
        }
      }
    }
  }
}

// What exporters write for a size that is twice the input's.
TEST(Resize, RepetitionIsAView) {
  for (const char* nearest : {"floor", "round_prefer_floor"}) {
    GraphWriter g;
    g.Input("x", kFloat, {"n", 3, "h", "w"});
    g.Initializer(TensorMessage<float>("scales", {4}, {1, 1, 2, 2}));
    g.Node("Resize", {"x", "", "scales"}, {"y"},
           {Attr("coordinate_transformation_mode", "asymmetric"), Attr("nearest_mode", nearest)});
    g.Output("y");
    SmallModel model(g, 13);
    EXPECT_EQ(model.text().find("gather"), std::string::npos) << model.text();
  }
  GraphWriter g;
  g.Input("x", kFloat, {"n", 3, "h", "w"});
  g.Initializer(TensorMessage<int64_t>("factor", {4}, {1, 1, 3, 2}));
  g.Node("Shape", {"x"}, {"shape"});
  g.Node("Mul", {"shape", "factor"}, {"to"});
  g.Node("Resize", {"x", "", "", "to"}, {"y"});
  g.Output("y");
  SmallModel model(g, 13);
  EXPECT_EQ(model.text().find("gather"), std::string::npos) << model.text();
}

// Sizes are what people mean by the scale, not what the nearest float comes to.
TEST(Resize, ScalesAreFractions) {
  GraphWriter g;
  g.Input("x", kFloat, {"w"});
  g.Initializer(TensorMessage<float>("scales", {1}, {0.7F}));
  g.Node("Resize", {"x", "", "scales"}, {"y"}, {Attr("mode", "linear")});
  g.Output("y");
  SmallModel model(g, 13);
  for (int64_t w : {0, 1, 2, 10, 20, 30, 1000}) model.Floats({Tensor(f32, {w})}, {w * 7 / 10});
}

// So are positions: 4 / 0.8 is 5, though 0.8f is a little more.
TEST(Resize, PositionsAreThoseOfTheFraction) {
  const Tensor x = Tensor::FromVector<float>({7}, {0, 1, 2, 3, 4, 5, 6});
  const std::vector<float> wanted = {0, 1, 2, 3, 5};
  for (const bool known : {true, false}) {
    GraphWriter g;
    g.Input("x", kFloat, {"w"});
    if (known) {
      g.Initializer(TensorMessage<float>("scales", {1}, {0.8F}));
    } else {
      g.Input("scales", kFloat, {1});
    }
    g.Node("Resize", {"x", "", "scales"}, {"y"},
           {Attr("coordinate_transformation_mode", "asymmetric"), Attr("nearest_mode", "floor")});
    g.Output("y");
    SmallModel model(g, 13);
    std::vector<Tensor> inputs = {x};
    if (!known) inputs.push_back(Tensor::FromVector<float>({1}, {0.8F}));
    EXPECT_EQ(model.Floats(inputs, {5}), wanted) << (known ? "known" : "from data");
  }
}

// One element comes from where the mode says, also if in * scale isn't 1 but a little more.
TEST(Resize, OneElementIsDecidedByTheExtent) {
  const auto model = [](const std::string& coordinates, float scale) {
    GraphWriter g;
    g.Input("x", kFloat, {"w"});
    g.Initializer(TensorMessage<float>("roi", {2}, {0, 1}));
    g.Initializer(TensorMessage<float>("scales", {1}, {scale}));
    g.Node("Resize", {"x", "roi", "scales"}, {"y"},
           {Attr("mode", "linear"), Attr("coordinate_transformation_mode", coordinates)});
    g.Output("y");
    return std::make_unique<SmallModel>(g, 13);
  };
  const Tensor three = Tensor::FromVector<float>({3}, {1, 2, 4});
  const Tensor ten = Tensor::FromVector<float>({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(model("pytorch_half_pixel", 0.1F)->Floats({ten}, {1}), std::vector<float>{0});
  EXPECT_EQ(model("pytorch_half_pixel", 0.4F)->Floats({three}, {1}), std::vector<float>{1});
  EXPECT_EQ(model("tf_crop_and_resize", 0.4F)->Floats({three}, {1}), std::vector<float>{2});
}

TEST(Resize, ScalesBeyondReasonAreRefused) {
  for (const float scale : {0.0F, -1.0F, 1e-30F, 1e30F, std::nanf("")}) {
    GraphWriter g;
    g.Input("x", kFloat, {"w"});
    g.Initializer(TensorMessage<float>("scales", {1}, {scale}));
    g.Node("Resize", {"x", "", "scales"}, {"y"});
    g.Output("y");
    EXPECT_EQ(LoadStatus(g, 13).code(), absl::StatusCode::kInvalidArgument) << scale;
  }
}

// There is no element to read, whether or not the weights outside count.
TEST(Resize, Z9_NothingIsNeverResizedToSomething) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const bool exclude : {false, true}) {
      for (const bool antialias : {false, true}) {
        if (antialias && mode == std::string("nearest")) continue;
        const Form f{mode, "half_pixel", "round_prefer_floor", antialias, exclude};
        SCOPED_TRACE(Describe(f));
        GraphWriter g;
        g.Input("x", kFloat, {"w"});
        g.Input("to", kInt64, {1});
        g.Node("Resize", {"x", "", "", "to"}, {"y"}, Attributes(f));
        g.Output("y");
        SmallModel model(g, 18);
        const auto to = [](int64_t w) { return Tensor::FromVector<int64_t>({1}, {w}); };
        EXPECT_FALSE(model.Call({Tensor(f32, {0}), to(4)}).ok());
        model.Floats({Tensor(f32, {0}), to(0)}, {0});
        model.Floats({Tensor(f32, {3}), to(0)}, {0});
        model.Floats({Tensor(f32, {1}), to(4)}, {4});
      }
    }
  }
}

TEST(Resize, KeepsTheAspectRatio) {
  for (const char* policy : {"not_larger", "not_smaller"}) {
    GraphWriter g;
    g.Input("x", kFloat, {1, 1, "h", "w"});
    g.Input("to", kInt64, {2});
    g.Node("Resize", {"x", "", "", "to"}, {"y"},
           {Attr("keep_aspect_ratio_policy", policy), Attr("axes", std::vector<int64_t>{2, 3})});
    g.Output("y");
    SmallModel model(g, 18);
    for (const auto& [h, w] : kExtents) {
      const double a = 7 / static_cast<double>(h), b = 8 / static_cast<double>(w);
      const double scale = std::string(policy) == "not_larger" ? std::min(a, b) : std::max(a, b);
      model.Floats({Image(1, h, w), Tensor::FromVector<int64_t>({2}, {7, 8})},
                   {1, 1, static_cast<int64_t>(std::floor(scale * static_cast<double>(h) + 0.5)),
                    static_cast<int64_t>(std::floor(scale * static_cast<double>(w) + 0.5))});
    }
  }
}

TEST(Resize, ScalesThatOnlyDataGives) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (bool antialias : {false, true}) {
      const Form f{mode, "half_pixel", "floor", antialias && std::string(mode) != "nearest"};
      GraphWriter g;
      g.Input("x", kFloat, {1, 1, "h", "w"});
      g.Input("scales", kFloat, {2});
      std::vector<Bytes> attributes = Attributes(f);
      attributes.push_back(Attr("axes", std::vector<int64_t>{2, 3}));
      g.Node("Resize", {"x", "", "scales"}, {"y"}, attributes);
      g.Output("y");
      SmallModel model(g, 18);
      for (const auto& [h, w] : kExtents) {
        for (const auto& [sh, sw] : {std::pair<float, float>(2, 0.5F), {0.375F, 1}}) {
          const auto oh = static_cast<int64_t>(std::floor(static_cast<float>(h) * sh));
          const auto ow = static_cast<int64_t>(std::floor(static_cast<float>(w) * sw));
          const Tensor x = Image(1, h, w);
          const std::vector<float> values(x.data<float>(), x.data<float>() + h * w);
          ExpectNear(
              model.Floats({x, Tensor::FromVector<float>({2}, {sh, sw})}, {1, 1, oh, ow}),
              Plane(f, values, h, w, oh, ow, static_cast<double>(sh), static_cast<double>(sw)),
              absl::StrCat(Describe(f), " by ", sh, ", ", sw, " of ", h, ", ", w));
        }
      }
    }
  }
}

TEST(Resize, CropsARegionThatDataGives) {
  GraphWriter g;
  g.Input("x", kFloat, {"w"});
  g.Input("roi", kFloat, {2});
  g.Input("to", kInt64, {1});
  g.Node("Resize", {"x", "roi", "", "to"}, {"y"},
         {Attr("mode", "linear"), Attr("coordinate_transformation_mode", "tf_crop_and_resize"),
          Attr("extrapolation_value", 7.0F)});
  g.Output("y");
  SmallModel model(g, 13);
  for (int64_t w : {1, 2, 9}) {
    for (int64_t out : {1, 4, 9}) {
      for (const auto& [begin, end] :
           {std::pair<float, float>(0.25F, 0.75F), {-0.5F, 1.25F}, {1, 0}}) {
        const std::vector<float> x = SomeFloats(static_cast<size_t>(w), 5);
        const double last = static_cast<double>(w) - 1, b = static_cast<double>(begin),
                     e = static_cast<double>(end);
        std::vector<double> wanted;
        for (int64_t i = 0; i < out; ++i) {
          const double at = b * last + (out == 1 ? (e - b) * last / 2
                                                 : static_cast<double>(i) * (e - b) * last /
                                                       (static_cast<double>(out) - 1));
          if (at < 0 || at > last) {
            wanted.push_back(7);
            continue;
          }
          const auto k = static_cast<size_t>(at);
          const double t = at - std::floor(at);
          wanted.push_back((1 - t) * static_cast<double>(x[k]) +
                           (t == 0 ? 0 : t * static_cast<double>(x[k + 1])));
        }
        ExpectNear(model.Floats({Tensor::FromVector<float>({w}, x),
                                 Tensor::FromVector<float>({2}, {begin, end}),
                                 Tensor::FromVector<int64_t>({1}, {out})},
                                {out}),
                   wanted, absl::StrCat(w, " to ", out, " of ", begin, "..", end));
      }
    }
  }
}

TEST(Resize, OldOpsetsScaleDownToTheNextElement) {
  for (int64_t opset : {9, 10}) {
    GraphWriter g;
    g.Input("x", kFloat, {1, 1, "h", "w"});
    g.Initializer(TensorMessage<float>("scales", {4}, {1, 1, 0.6F, 0.6F}));
    g.Node(opset == 9 ? "Upsample" : "Resize", {"x", "scales"}, {"y"}, {Attr("mode", "nearest")});
    g.Output("y");
    SmallModel model(g, opset);
    const Tensor x = Tensor::FromVector<float>({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(model.Floats({x}, {1, 1, 1, 2}), (std::vector<float>{1, 3}));
  }
}

TEST(Resize, ARegionOfF16) {
  GraphWriter g;
  g.Input("x", kFloat16, {1, 1, "h", 4});
  const Tensor whole = Halves({8}, {0, 0, 0, 0, 1, 1, 1, 1});
  g.Initializer(RawTensorMessage("roi", kFloat16, {8},
                                 std::string(static_cast<const char*>(whole.raw()), 16)));
  g.Initializer(TensorMessage<int64_t>("sizes", {4}, {1, 1, 1, 2}));
  g.Node("Resize", {"x", "roi", "", "sizes"}, {"y"},
         {Attr("mode", std::string("linear")),
          Attr("coordinate_transformation_mode", std::string("tf_crop_and_resize"))});
  g.Output("y");
  SmallModel model(g, 13);
  EXPECT_EQ(HalfResults(model, {Halves({1, 1, 1, 4}, {1, 2, 3, 4})}), (std::vector<float>{1, 4}));
}

}  // namespace
}  // namespace lathe::onnx
