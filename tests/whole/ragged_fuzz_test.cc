// Random programs on a ragged batch against each row computed by itself as a dense program; random
// offsets and shape inputs, most of them wrong, against the interpreter.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "ir/interpreter.h"
#include "tests/whole/case.h"
#include "tests/whole/harness.h"

namespace lathe::whole {
namespace {

constexpr int64_t kWidth = 4;

// The same computation on packed rows and on one row of s elements.
struct Pair {
  std::string ragged, dense;
  bool per_row = false;  // of the output
};

class PairMaker {
 public:
  explicit PairMaker(uint32_t seed) : random_(seed) {}

  Pair Make() {
    const std::string constants = absl::StrCat(
        "w = constant(f32[4, 4]{0.5, -0.25, 0.125, 0.25*13})\nc = constant(f32[4]{1, -1, 0.5, "
        "0})\n");
    p_.ragged = "x: f32[batch, ~seq, 4]\n" + constants;
    p_.dense = "x: f32[s, 4]\n" + constants;
    packed_ = {"x"};
    const int ops = 2 + Below(8);
    for (int i = 0; i < ops; ++i) Step(absl::StrCat("v", i));
    p_.per_row = !rows_.empty() && (Below(2) == 0 || packed_.size() == 1);
    const std::string& result = p_.per_row ? rows_.back() : packed_.back();
    for (std::string* text : {&p_.ragged, &p_.dense})
      absl::StrAppend(text, "output ", result, "\n");
    return p_;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  const std::string& Packed() { return packed_[static_cast<size_t>(Below(int(packed_.size())))]; }

  void Both(const std::string& name, const std::string& rhs) { Each(name, rhs, rhs); }
  void Each(const std::string& name, const std::string& ragged, const std::string& dense) {
    absl::StrAppend(&p_.ragged, name, " = ", ragged, "\n");
    absl::StrAppend(&p_.dense, name, " = ", dense, "\n");
  }

  void Step(const std::string& name) {
    const std::string x = Packed();
    bool per_row = false;
    switch (Below(11)) {
      case 0:
        Both(name, absl::StrCat("tanh(", x, " * 0.5)"));
        break;
      case 1:
        Both(name, absl::StrCat("sigmoid(", x, ")"));
        break;
      case 2:
        Both(name, absl::StrCat("(", x, " + ", Packed(), ") * 0.5"));
        break;
      case 3:
        Both(name, absl::StrCat("maximum(", x, ", c)"));
        break;
      case 4:
        Both(name, absl::StrCat("relu(", x, " @ w + c)"));
        break;
      case 5:
        Both(name, absl::StrCat("softmax(", x, ", axis=-1)"));
        break;
      case 6:
        Each(name, absl::StrCat("segment_softmax(", x, ", seq.offsets)"),
             absl::StrCat("softmax(", x, ", axis=0)"));
        break;
      case 7:
        per_row = true;
        Each(name, absl::StrCat("segment_mean(", x, ", seq.offsets)"),
             absl::StrCat("mean(", x, ", axes=[0], keep_dims=true)"));
        break;
      case 8:
        per_row = true;
        Each(name, absl::StrCat("segment_max(", x, ", seq.offsets)"),
             absl::StrCat("max(", x, ", axes=[0], keep_dims=true, value=0)"));
        break;
      case 9:
        per_row = true;
        Each(name, absl::StrCat("segment_sum(", x, ", seq.offsets) * 0.25"),
             absl::StrCat("sum(", x, ", axes=[0], keep_dims=true) * 0.25"));
        break;
      default:
        if (rows_.empty()) {
          Both(name, absl::StrCat(x, " * ", x));
          break;
        }
        const std::string& row = rows_[static_cast<size_t>(Below(int(rows_.size())))];
        Each(name, absl::StrCat(x, " - segment_rows(", row, ", seq.offsets)"),
             absl::StrCat(x, " - ", row));
    }
    (per_row ? rows_ : packed_).push_back(name);
  }

  std::mt19937 random_;
  Pair p_;
  std::vector<std::string> packed_, rows_;
};

Tensor Part(const Tensor& t, int64_t begin, int64_t count) {
  Tensor part(f32, {count, kWidth});
  if (count > 0)
    std::memcpy(part.raw(), t.data<float>() + begin * kWidth,
                static_cast<size_t>(part.num_bytes()));
  return part;
}

TEST(RaggedFuzz, ProgramsGiveWhatEachRowGivesByItself) {
  constexpr uint32_t kPrograms = 60;
  Engine engine({.threads = 2, .background_compiles = false});
  for (uint32_t seed = 1; seed <= kPrograms; ++seed) {
    const Pair pair = PairMaker(seed).Make();
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", pair.ragged));
    absl::StatusOr<ir::Graph> graph = ir::Parse(pair.ragged), dense = ir::Parse(pair.dense);
    ASSERT_TRUE(graph.ok() && dense.ok()) << graph.status() << dense.status();
    absl::StatusOr<Function> f = CompileGraph(engine, *graph);
    ASSERT_TRUE(f.ok()) << f.status();
    std::mt19937 random(seed);
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<int64_t> offsets = {0};
      const int64_t batch = static_cast<int64_t>(random() % 7);
      for (int64_t i = 0; i < batch; ++i) {
        const uint32_t most = random() % 4 == 0 ? 70 : 6;
        offsets.push_back(offsets.back() + static_cast<int64_t>(random() % most));
      }
      Tensor x(f32, {offsets.back(), kWidth});
      std::normal_distribution<float> normal;
      for (int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = normal(random);
      const std::vector<Tensor> inputs = {I64({batch + 1}, offsets), x};
      const absl::Status s = CheckCall(*f, *graph, inputs, /*exact=*/false, turn == 0);
      ASSERT_TRUE(s.ok()) << s;
      absl::StatusOr<std::vector<Tensor>> out = f->call(inputs);
      ASSERT_TRUE(out.ok());
      for (int64_t i = 0; i < batch; ++i) {
        const size_t at = static_cast<size_t>(i);
        const int64_t begin = offsets[at], count = offsets[at + 1] - begin;
        if (count == 0) continue;
        const std::vector<Tensor> row = {Part(x, begin, count)};
        absl::StatusOr<std::vector<Tensor>> wanted = ir::Interpret(*dense, row);
        absl::StatusOr<std::vector<Tensor>> wanted64 = ir::Interpret(*dense, row, {.in_f64 = true});
        ASSERT_TRUE(wanted.ok() && wanted64.ok()) << wanted.status();
        const Tensor found = pair.per_row ? Part((*out)[0], i, 1) : Part((*out)[0], begin, count);
        const absl::Status same = WithinBound(found, (*wanted)[0], (*wanted64)[0], false);
        ASSERT_TRUE(same.ok()) << "row " << i << ": " << same;
      }
    }
  }
}

// Whatever the offsets: the call and the interpreter agree on whether they are admitted, and on
// what they give.
TEST(RaggedFuzz, WrongOffsetsNeverReachAKernel) {
  Engine engine({.threads = 1, .background_compiles = false});
  const std::string text =
      "x: f32[batch, ~seq<=9, 3]\ny = segment_softmax(x, seq.offsets)\n"
      "p = to_padded(y, seq.offsets, value=0)\noutput y\noutput p\n";
  absl::StatusOr<ir::Graph> graph = ir::Parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<Function> f = CompileGraph(engine, *graph);
  ASSERT_TRUE(f.ok()) << f.status();
  std::mt19937_64 random(7);
  int admitted = 0;
  for (int i = 0; i < 20000; ++i) {
    const int64_t total = static_cast<int64_t>(random() % 12);
    std::vector<int64_t> offsets(1 + random() % 5);
    for (size_t k = 1; k < offsets.size(); ++k)
      offsets[k] = offsets[k - 1] + static_cast<int64_t>(random() % 6);
    if (random() % 2 == 0) offsets.back() = total;
    if (random() % 4 == 0) {
      const int64_t kEvil[] = {-1, INT64_MIN, INT64_MAX, 1 << 30, total + 1, 0};
      offsets[random() % offsets.size()] = kEvil[random() % 6];
    }
    Tensor x(f32, {total, 3});
    const std::vector<Tensor> inputs = {I64({static_cast<int64_t>(offsets.size())}, offsets), x};
    const absl::Status s = CheckCall(*f, *graph, inputs, /*exact=*/false, false);
    ASSERT_TRUE(s.ok()) << s;
    admitted += f->call(inputs).ok();
  }
  EXPECT_GT(admitted, 500);
}

TEST(ShapeInputFuzz, TargetsOfAllKindsAreAdmittedAsTheInterpreterDoes) {
  Engine engine({.threads = 1, .background_compiles = false});
  const std::string text =
      "x: f32[n, 6]\nt: i64[3]\nassume t.2 <= 100\n"
      "y = reshape(x, concat(t[0:2], constant(i64[1]{-1}), axis=0)) * 2\n"
      "z = broadcast(x, shape=concat(t[2:3], shape_of(x), axis=0))\noutput y\noutput z\n";
  absl::StatusOr<ir::Graph> graph = ir::Parse(text);
  ASSERT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<Function> f = CompileGraph(engine, *graph);
  ASSERT_TRUE(f.ok()) << f.status();
  const int64_t compiles = engine.counters().compiles;
  std::mt19937_64 random(11);
  int admitted = 0;
  for (int i = 0; i < 5000; ++i) {
    const int64_t n = static_cast<int64_t>(random() % 9);
    std::vector<int64_t> t(3);
    for (int64_t& v : t) v = static_cast<int64_t>(random() % 7);
    if (random() % 4 == 0) {
      const int64_t kEvil[] = {-1, INT64_MIN, INT64_MAX, int64_t{1} << 40, 101, 64};
      t[random() % 3] = kEvil[random() % 6];
    }
    const std::vector<Tensor> inputs = {Counted({n, 6}), I64({3}, t)};
    const absl::Status s = CheckCall(*f, *graph, inputs, /*exact=*/true, false);
    ASSERT_TRUE(s.ok()) << s << t[0] << " " << t[1] << " " << t[2];
    admitted += f->call(inputs).ok();
  }
  EXPECT_GT(admitted, 200);
  EXPECT_EQ(engine.counters().compiles, compiles);
}

}  // namespace
}  // namespace lathe::whole
