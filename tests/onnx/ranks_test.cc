// Models whose tensors have other ranks than their operators take: an error that says so, never a
// read past a shape.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/onnx/results.h"

namespace lathe::onnx {
namespace {

using testing::HasSubstr;

struct Given {
  int32_t type = kFloat;
  std::vector<DeclaredDim> dims = {};
  bool present = true;
};

constexpr char kMicrosoft[] = "com.microsoft";
const Given kNothing = {.present = false};

// What loading a model of this one node says.
std::string Fault(const std::string& op, const std::vector<Given>& inputs,
                  const std::vector<Bytes>& attributes = {}, const std::string& domain = "",
                  int num_outputs = 1) {
  GraphWriter g;
  Names names, outputs;
  for (const Given& given : inputs) {
    names.push_back(given.present ? absl::StrCat("i", names.size()) : "");
    if (given.present) g.Input(names.back(), given.type, given.dims);
  }
  for (int i = 0; i < num_outputs; ++i) {
    outputs.push_back(absl::StrCat("o", i));
    g.Output(outputs.back());
  }
  g.Node(op, names, outputs, attributes, domain);
  const absl::Status status = LoadStatus(g, 24);
  return status.ok() ? "loads" : std::string(status.message());
}

TEST(Ranks, OfIntegerConvolutions) {
  for (const Given& w : {Given{kUint8, {}}, Given{kUint8, {3}}, Given{kUint8, {1, 1}}})
    EXPECT_THAT(Fault("ConvInteger", {{kUint8, {1, 1, 4}}, w}), HasSubstr("weights of its rank"));
  EXPECT_THAT(Fault("ConvInteger", {{kUint8, {4}}, {kUint8, {1, 1, 3}}}),
              HasSubstr("weights of its rank"));
  EXPECT_THAT(Fault("ConvInteger", {{kUint8, {4, 4}}, {kUint8, {1, 1}}}),
              HasSubstr("weights of its rank"));
  const Given scale = {kFloat, {}}, zero = {kUint8, {}};
  for (const Given& w : {Given{kUint8, {}}, Given{kUint8, {3}}})
    EXPECT_THAT(
        Fault("QLinearConv", {{kUint8, {1, 1, 4}}, scale, zero, w, scale, zero, scale, zero}),
        HasSubstr("weights of its rank"));
}

TEST(Ranks, OfQLinearForms) {
  const Given matrix = {kUint8, {4, 4}}, scale = {kFloat, {}}, zero = {kUint8, {}};
  EXPECT_THAT(Fault("QLinearGlobalAveragePool", {matrix, scale, zero, scale, zero}, {}, kMicrosoft),
              HasSubstr("wanted [n, c, ..]"));
  EXPECT_THAT(
      Fault("QLinearAveragePool", {{kUint8, {}}, scale, zero, scale, zero},
            {Attr("kernel_shape", std::vector<int64_t>{2}), Attr("channels_last", 1)}, kMicrosoft),
      HasSubstr("wanted [n, c, ..]"));
  EXPECT_THAT(Fault("QLinearConcat", {scale, zero, matrix, scale}, {}, kMicrosoft),
              HasSubstr("has 4 inputs"));
}

TEST(Ranks, OfWindows) {
  const Given image = {kFloat, {1, 1, 4, 4}};
  EXPECT_THAT(Fault("ConvTranspose", {image, {kFloat, {1, 1, 3, 3}}},
                    {Attr("output_shape", std::vector<int64_t>{5})}),
              HasSubstr("output_shape has 1 entries"));
  const std::vector<Bytes> one_stride = {Attr("kernel_shape", std::vector<int64_t>{2, 2}),
                                         Attr("strides", std::vector<int64_t>{1})};
  EXPECT_THAT(Fault("AveragePool", {image}, one_stride), HasSubstr("strides has 1 entries"));
  EXPECT_THAT(Fault("MaxPool", {image}, one_stride, "", 2), HasSubstr("strides has 1 entries"));
}

TEST(Ranks, OfAttention) {
  const Given q = {kFloat, {1, 1, 2, 4}}, kv = {kFloat, {1, 1, 3, 4}};
  EXPECT_THAT(Fault("Attention", {q, kv, kv, kNothing, kNothing, kNothing, {kInt64, {}}}),
              HasSubstr("nonpad_kv_seqlen"));
}

// What changes the result and isn't there is refused, not passed over.
TEST(Ranks, OfGroupQueryAttentionAsItIs) {
  const Given x = {kFloat, {1, 1, 8}}, cache = {kFloat, {1, 2, 3, 4}};
  const auto fault = [&](const Bytes& attribute, bool counts_queries) {
    std::vector<Given> inputs = {x, x, x, cache, cache, {kInt32, {1}}, {kInt32, {}}};
    if (counts_queries) {
      inputs.resize(16, kNothing);
      inputs.push_back({kInt32, {1}});
    }
    return Fault("GroupQueryAttention", inputs,
                 {Attr("num_heads", 2), Attr("kv_num_heads", 2), attribute}, kMicrosoft);
  };
  EXPECT_EQ(fault(Attr("causal", 1), false), "loads");
  EXPECT_THAT(fault(Attr("causal", 0), false), HasSubstr("causal is 0"));
  EXPECT_THAT(fault(Attr("sliding_window_cache", 1), false), HasSubstr("sliding_window_cache"));
  EXPECT_THAT(fault(Attr("causal", 1), true), HasSubstr("query_seqlens"));
}

TEST(Ranks, OfMultiHeadAttention) {
  const Given query = {kFloat, {1, 2, 8}}, key = {kFloat, {1, 3, 8}};
  const auto fault = [&](const std::vector<Given>& inputs) {
    return Fault("MultiHeadAttention", inputs, {Attr("num_heads", 2)}, kMicrosoft);
  };
  EXPECT_THAT(fault({query, {kFloat, {3, 8}}, key}), HasSubstr("wanted rank 3 to 5"));
  EXPECT_THAT(fault({query, {kFloat, {}}, {kFloat, {}}}), HasSubstr("wanted rank 3 to 5"));
  EXPECT_THAT(fault({query, key}), HasSubstr("value is missing"));
  EXPECT_THAT(fault({query, key, {kFloat, {1, 2, 3, 4}}}), HasSubstr("not of key's rank"));
  EXPECT_THAT(fault({query, key, key, {kFloat, {}}}), HasSubstr("bias isn't of rank 1"));
  EXPECT_THAT(fault({query, key, key, kNothing, kNothing, kNothing, {kFloat, {1, 2}}, key}),
              HasSubstr("past_value aren't of rank 4"));
}

TEST(Ranks, OfGroupQueryAttention) {
  const Given x = {kFloat, {1, 1, 8}}, past = {kFloat, {1, 2, 5, 4}}, flat = {kFloat, {1, 8}};
  const Given lengths = {kInt32, {1}}, total = {kInt32, {}};
  const auto fault = [&](const std::vector<Given>& inputs, int64_t rotary = 0) {
    return Fault("GroupQueryAttention", inputs,
                 {Attr("num_heads", 2), Attr("kv_num_heads", 2), Attr("do_rotary", rotary)},
                 kMicrosoft, 3);
  };
  EXPECT_EQ(fault({x, x, x, past, past, lengths, total}), "loads");
  EXPECT_THAT(fault({x, x, x, flat, flat, lengths, total}),
              HasSubstr("past_value aren't of rank 4"));
  EXPECT_THAT(fault({x, x, x, past, kNothing, lengths, total}), HasSubstr("go together"));
  EXPECT_THAT(fault({x, x, kNothing, past, past, lengths, total}), HasSubstr("go together"));
  EXPECT_THAT(fault({x, x, x, past, past, lengths, total, kNothing, kNothing, kNothing, flat}),
              HasSubstr("attention_bias isn't of rank 4"));
  EXPECT_THAT(fault({x, x, x, past, past, lengths, total, {kFloat, {}}, {kFloat, {}}}, 1),
              HasSubstr("the caches aren't of rank 2"));
}

}  // namespace
}  // namespace lathe::onnx
