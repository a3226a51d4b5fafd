#pragma once
// What the generator of random programs draws from: random numbers, dims, and the pool of values
// that were made, each with a bound of its size. Internal to random_graph.cc.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/builder.h"
#include "ir/ragged.h"
#include "ir/visit_dtype.h"
#include "tests/compiler/random_graph.h"

namespace lathe::fuzz {

using ir::Attrs;
using ir::Builder;
using ir::Graph;
using ir::Op;
using ir::ValueId;

inline constexpr int64_t kMostElements = 2048;  // of a value, with every symbol 8
inline constexpr double kInputBound = 4;        // of integer-valued inputs
inline constexpr double kExactBound = 1 << 23;  // integer-valued floats stay below

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint64_t Bits() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // 0 <= result < n
  int64_t Below(int64_t n) { return static_cast<int64_t>(Bits() % static_cast<uint64_t>(n)); }
  bool Percent(int chance) { return Below(100) < chance; }
  template <typename T>
  T Of(std::initializer_list<T> choices) {
    return choices.begin()[Below(static_cast<int64_t>(choices.size()))];
  }
  template <typename T>
  const T& Of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(Below(static_cast<int64_t>(choices.size())))];
  }

 private:
  uint64_t state_;
};

class RandomPool {
 public:
  RandomPool(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), b_(&graph_) {
    graph_.name = absl::StrCat("seed_", seed);
  }

 protected:
  struct Pooled {
    ValueId id;
    double bound;  // of |value|, integer-valued data
  };

  // -- dims, inputs, outputs

  void MakeSymbols() {
    const int64_t count = 1 + random_.Below(3);
    for (int64_t i = 0; i < count; ++i) {
      const char* const names[] = {"n", "m", "k"};
      symbols_.push_back(graph_.dims()->Symbol(names[i]));
      const Dim s = symbols_.back();
      const auto declare = [&](const Claim& c) {
        graph_.facts().Add(c, dim::Standing::kDeclared, {"fuzz", ""}).IgnoreError();
      };
      switch (random_.Below(9)) {
        case 0:
          declare(s >= 1);
          break;
        case 1:
          declare(s <= 8);
          break;
        case 2:
          declare(Eq(Mod(s, 2), 0));
          break;
        case 3:
          declare(In(s, {1, 3, 7, 8}));
          break;
        case 4:
          if (i > 0) declare(random_.Percent(50) ? Eq(s, symbols_[0]) : symbols_[0] <= s);
          break;
        default:
          break;
      }
    }
  }

  Dim Symbol() { return random_.Of(symbols_); }
  Dim InputDim() {
    if (random_.Percent(60)) return Symbol();
    if (random_.Percent(10)) return random_.Percent(50) ? 2 * Symbol() : Symbol() + 1;
    return random_.Of<int64_t>({1, 2, 3, 4, 5, 8});
  }
  DType InputType() {
    if (random_.Percent(60)) return f32;
    if (random_.Percent(60)) return random_.Of({f32, f64, i32, i64, bool_});
    return random_.Of({i8, i16, u8, u16, u32, u64, f16, bf16});
  }

  void MakeInputs() {
    // The first one binds every symbol.
    Shape shape(symbols_.begin(), symbols_.end());
    if (random_.Percent(60)) shape.push_back(random_.Of<int64_t>({1, 3, 4}));
    AddInput(random_.Percent(80) ? f32 : f64, shape);
    const int64_t more = random_.Below(3);
    for (int64_t i = 0; i < more; ++i) {
      Shape other;
      const int64_t rank = random_.Below(4);
      for (int64_t axis = 0; axis < rank; ++axis) other.push_back(InputDim());
      AddInput(InputType(), other);
    }
    if (random_.Percent(40)) AddInput(InputType(), Type(0).shape);  // a partner of the first
  }

  bool AddInput(DType dtype, const Shape& shape) {
    if (Volume(shape) > kMostElements) return false;
    absl::StatusOr<ValueId> v = b_.Input(absl::StrCat("x", graph_.inputs.size()), {dtype, shape});
    if (!v.ok()) return false;
    pool_.push_back({*v, dtype == bool_ ? 1.0 : kInputBound});
    return true;
  }

  void MakeOutputs() {
    const std::vector<int> uses = graph_.CountUses();
    std::vector<ValueId> outputs;
    for (size_t i = pool_.size(); i-- > 0 && outputs.size() < 4;) {
      const bool is_input = graph_.node(pool_[i].id).op == Op::k_input;
      const bool unused = uses[pool_[i].id] == 0 && !is_input;
      if (unused || random_.Percent(is_input ? 2 : 8)) outputs.push_back(pool_[i].id);
    }
    if (outputs.empty()) outputs.push_back(pool_.back().id);
    for (size_t i = 0; i < outputs.size(); ++i)
      b_.Output(absl::StrCat("y", i), outputs[i]).IgnoreError();
  }

  // -- the pool

  const ir::ValueType& Type(size_t i) const { return graph_.type(pool_[i].id); }

  int64_t AtEight(Dim d) const {
    const std::vector<int64_t> eights(static_cast<size_t>(graph_.dims()->num_symbols()), 8);
    return dim::Evaluate(d, eights).value_or(kMostElements + 1);
  }
  int64_t Volume(const Shape& shape) const {
    int64_t volume = 1;
    for (Dim d : shape)
      volume = std::min(kMostElements + 1, volume * std::max<int64_t>(1, AtEight(d)));
    return volume;
  }

  // A value, more often a recent one, for which `fits` holds; or the end of the pool.
  template <typename F>
  size_t Pick(F fits) {
    for (int tries = 0; tries < 12; ++tries) {
      const int64_t size = static_cast<int64_t>(pool_.size());
      const int64_t back =
          random_.Percent(60) ? random_.Below(std::min<int64_t>(3, size)) : random_.Below(size);
      const size_t i = static_cast<size_t>(size - 1 - back);
      if (fits(Type(i))) return i;
    }
    return pool_.size();
  }
  size_t PickAny() {
    return Pick([](const ir::ValueType&) { return true; });
  }
  size_t PickFloat(int rank) {
    return Pick([&](const ir::ValueType& t) { return IsFloat(t.dtype) && t.rank() >= rank; });
  }
  bool None(size_t i) const { return i >= pool_.size(); }

  // Keeps the value unless it failed, is too large, or too inexact.
  bool Keep(const absl::StatusOr<ValueId>& v, double bound) {
    if (!v.ok()) return false;
    const ir::ValueType& type = graph_.type(*v);
    if (Volume(type.shape) > kMostElements) return false;
    // A number below 0 or too large wraps.
    if (IsInt(type.dtype) && !IsIndex(type.dtype))
      bound = std::max(bound, std::ldexp(1, static_cast<int>(8 * SizeOf(type.dtype))));
    if (options_.integer_valued && IsFloat(type.dtype) && !(bound < kExactBound)) {
      if (!(bound < 0x1p50)) return false;
      return Limit(*v);
    }
    pool_.push_back({*v, bound});
    return true;
  }

  // Clamps a float value that grew, so that it may be computed with further.
  bool Limit(ValueId v) {
    const DType dtype = graph_.type(v).dtype;
    const absl::StatusOr<ValueId> low = b_.ScalarConstant(dtype, -3);
    const absl::StatusOr<ValueId> high = b_.ScalarConstant(dtype, 3);
    if (!low.ok() || !high.ok()) return false;
    const absl::StatusOr<ValueId> raised = b_.Binary(Op::k_maximum, v, *low);
    if (!raised.ok()) return false;
    const absl::StatusOr<ValueId> result = b_.Binary(Op::k_minimum, *raised, *high);
    if (!result.ok()) return false;
    pool_.push_back({*result, 3});
    return true;
  }

  absl::StatusOr<ValueId> Scalar(DType dtype) {
    const bool whole = options_.integer_valued || IsInt(dtype);
    if (dtype == bool_) return b_.ScalarConstant(dtype, static_cast<double>(random_.Below(2)));
    if (IsUnsigned(dtype)) return b_.ScalarConstant(dtype, random_.Of({0.0, 1.0, 2.0, 3.0}));
    if (whole) return b_.ScalarConstant(dtype, random_.Of({-2.0, -1.0, 0.0, 1.0, 2.0, 3.0}));
    return b_.ScalarConstant(dtype, random_.Of({-0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 4.0, 0.1, -3.25}));
  }

  absl::StatusOr<ValueId> Constant(DType dtype, std::vector<int64_t> shape) {
    Tensor t(dtype, std::move(shape));
    for (int64_t i = 0; i < t.num_elements(); ++i) {
      const int64_t whole = random_.Below(5) - 2;
      const double real = static_cast<double>(random_.Below(4001) - 2000) / 1000;
      VisitDType(dtype, [&](auto type) {
        using T = decltype(type);
        if constexpr (std::is_same_v<T, bool>) {
          t.data<bool>()[i] = whole > 0;
        } else if constexpr (std::is_integral_v<T>) {
          t.data<T>()[i] = static_cast<T>(whole);
        } else {
          t.data<T>()[i] = T(options_.integer_valued ? static_cast<double>(whole) : real);
        }
      });
    }
    return b_.Constant(t);
  }

  Random random_;
  RandomGraphOptions options_;
  Graph graph_;
  Builder b_;
  std::vector<Dim> symbols_;
  std::optional<ir::RaggedDim> ragged_;
  std::vector<Pooled> pool_;
};

}  // namespace lathe::fuzz
