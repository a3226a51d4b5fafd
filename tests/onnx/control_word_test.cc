// The control word of the thread that loads a model changes no number of the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/onnx/small_model.h"

#if defined(__SSE__)
#include <xmmintrin.h>

namespace lathe::onnx {
namespace {

TEST(ControlWord, OfTheThreadThatLoadsChangesNoNumber) {
  GraphWriter g("g");
  g.Input("x", kFloat, {"n"});
  g.Initializer(TensorMessage<float>("c", {1}, {0x1p-124f}));
  g.Initializer(TensorMessage<float>("s", {1}, {0.1875f}));
  g.Node("Mul", {"c", "s"}, {"tiny"});
  g.Node("Add", {"x", "tiny"}, {"sum"});
  g.Node("LeakyRelu", {"sum"}, {"y"}, {Attr("alpha", 1e-40f)});
  g.Output("y", kFloat, {"n"});
  const Bytes model = ModelMessage(g, {{"", 21}});
  const unsigned before = _mm_getcsr();
  std::vector<std::string> texts;
  for (unsigned word : {0x1f80u, 0x9fc0u, 0x5f80u}) {  // default; flush to zero; rounding up
    _mm_setcsr(word);
    const absl::StatusOr<OnnxModel> loaded = LoadBytes(model);
    _mm_setcsr(before);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    texts.push_back(loaded->program.to_string());
  }
  EXPECT_EQ(texts[1], texts[0]);
  EXPECT_EQ(texts[2], texts[0]);
}

}  // namespace
}  // namespace lathe::onnx
#endif
