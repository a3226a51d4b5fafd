#include "ir/attr_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/lexer.h"
#include "ir/visit_dtype.h"

namespace lathe::ir {
namespace {

constexpr AttrField kFields[] = {
    {"axis", &Attrs::axis},
    {"axes", &Attrs::axes},
    {"shape", &Attrs::shape},
    {"starts", &Attrs::starts},
    {"limits", &Attrs::limits},
    {"steps", &Attrs::steps},
    {"low", &Attrs::low},
    {"high", &Attrs::high},
    {"sizes", &Attrs::sizes},
    {"dilations", &Attrs::dilations},
    {"dim", &Attrs::dim},
    {"claim", &Attrs::claim},
    {"dtype", &Attrs::dtype},
    {"value", &Attrs::value},
    {"epsilon", &Attrs::epsilon},
    {"scale", &Attrs::scale},
    {"seed", &Attrs::seed},
    {"distribution", &Attrs::distribution},
    {"reduction", &Attrs::reduction},
    {"keep_dims", &Attrs::keep_dims},
    {"descending", &Attrs::descending},
    {"exclusive", &Attrs::exclusive},
    {"reverse", &Attrs::reverse},
    {"unchecked", &Attrs::unchecked},
    {"last", &Attrs::last},
    {"causal", &Attrs::causal},
    {"empty_row_nan", &Attrs::empty_row_nan},
    {"name", &Attrs::name},
    {"elements", &Attrs::elements},
    {"offsets", &Attrs::offsets},
    {"tensor", &Attrs::tensor},
};

std::string Text(int64_t v) { return absl::StrCat(v); }
std::string Text(double v) { return NumberText(v); }
std::string Text(Dim d) { return d.ToString(); }
std::string Text(const Claim& c) { return c.ToString(); }
std::string Text(DType t) { return Name(t); }
std::string Text(const Tensor& t) { return TensorText(t); }
template <typename T>
std::string Text(const std::vector<T>& list) {
  return absl::StrCat(
      "[", absl::StrJoin(list, ", ", [](std::string* out, const T& v) { *out += Text(v); }), "]");
}

// Whether a member is set, by its type.
template <typename T>
bool IsSet(const std::optional<T>& v) {
  return v.has_value();
}
template <typename T>
bool IsSet(const std::vector<T>& v) {
  return !v.empty();
}
bool IsSet(const std::string& v) { return !v.empty(); }
bool IsSet(bool v) { return v; }
bool IsSet(const Tensor&) { return false; }

// Whether a member is to be printed, and its text, by its type.
template <typename T>
std::optional<std::string> Print(const std::optional<T>& v, bool) {
  if (!v.has_value()) return std::nullopt;
  return Text(*v);
}
template <typename T>
std::optional<std::string> Print(const std::vector<T>& v, bool required) {
  if (v.empty() && !required) return std::nullopt;
  return Text(v);
}
std::optional<std::string> Print(const std::string& v, bool) {
  if (v.empty()) return std::nullopt;
  return Quote(v);
}
std::optional<std::string> Print(bool v, bool) {
  if (!v) return std::nullopt;
  return "true";
}
std::optional<std::string> Print(const Tensor& v, bool) { return Text(v); }

template <typename Float, typename Bits>
void AppendFloat(Float value, Bits default_nan, std::string* out) {
  if (std::isnan(value)) {
    const Bits bits = std::bit_cast<Bits>(value);
    *out += "nan";
    if (bits != default_nan) absl::StrAppend(out, "(0x", absl::Hex(bits), ")");
  } else if (std::isinf(value)) {
    *out += value < 0 ? "-inf" : "inf";
  } else {
    std::array<char, 40> buffer;
    out->append(buffer.data(),
                std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr);
  }
}

void Append(bool v, std::string* out) { *out += v ? "true" : "false"; }
template <std::integral T>
void Append(T v, std::string* out) {
  absl::StrAppend(out, +v);
}
template <typename T>
requires kIsNarrowFloat<T>
void Append(T v, std::string* out) {
  const uint16_t default_nan = T(std::numeric_limits<float>::quiet_NaN()).bits;
  if (std::isnan(static_cast<float>(v)) && v.bits != default_nan) {
    absl::StrAppend(out, "nan(0x", absl::Hex(v.bits), ")");
  } else {
    AppendFloat(static_cast<float>(v), std::bit_cast<uint32_t>(static_cast<float>(v)), out);
  }
}
void Append(float v, std::string* out) { AppendFloat(v, uint32_t{0x7fc00000}, out); }
void Append(double v, std::string* out) { AppendFloat(v, uint64_t{0x7ff8000000000000}, out); }

template <typename T>
void AppendElements(const Tensor& t, std::string* out) {
  constexpr int64_t kShortestRun = 4;
  const T* data = t.data<T>();
  const int64_t count = t.num_elements();
  for (int64_t i = 0; i < count;) {
    // Runs are equal bit for bit, so that -0 and 0 stay apart.
    int64_t run = 1;
    while (i + run < count && std::memcmp(data + i, data + i + run, sizeof(T)) == 0) ++run;
    const int64_t copies = run < kShortestRun ? run : 1;
    for (int64_t k = 0; k < copies; ++k) {
      if (i + k > 0) *out += ", ";
      Append(data[i], out);
    }
    if (copies < run) absl::StrAppend(out, "*", run);
    i += run;
  }
}

}  // namespace

absl::Span<const AttrField> AllAttrFields() { return kFields; }

bool IsSet(const AttrField& field, const Attrs& attrs) {
  return std::visit([&](auto member) { return IsSet(attrs.*member); }, field.member);
}

bool IsList(const AttrField& field) {
  return std::holds_alternative<std::vector<int64_t> Attrs::*>(field.member) ||
         std::holds_alternative<std::vector<Dim> Attrs::*>(field.member);
}

const AttrField* FindAttrField(std::string_view name) {
  for (const AttrField& f : kFields) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

std::optional<std::string> AttrText(const AttrField& field, const Attrs& attrs, bool required) {
  return std::visit([&](auto member) { return Print(attrs.*member, required); }, field.member);
}

std::string NumberText(double value) {
  std::string out;
  Append(value, &out);
  return out;
}

std::string TypeText(const Tensor& tensor) {
  return absl::StrCat(Name(tensor.dtype()), "[", absl::StrJoin(tensor.shape(), ", "), "]");
}

std::string TensorText(const Tensor& tensor) {
  const Tensor t = tensor.Contiguous();
  std::string out = TypeText(t) + "{";
  VisitDType(t.dtype(), [&](auto type) { AppendElements<decltype(type)>(t, &out); });
  return out += "}";
}

std::optional<DType> FindDType(std::string_view name) {
  for (int t = 0; t < kNumDTypes; ++t) {
    if (name == Name(static_cast<DType>(t))) return static_cast<DType>(t);
  }
  return std::nullopt;
}

}  // namespace lathe::ir
