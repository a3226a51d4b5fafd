#pragma once
// The members of Attrs by name and type, and the text of one attribute: what makes the printer and
// the parser work from the op table's rows alone. A new kind of attribute is a line here.
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph.h"

namespace lathe::ir {

using AttrMember = std::variant<std::optional<int64_t> Attrs::*, std::vector<int64_t> Attrs::*,
                                std::optional<Shape> Attrs::*, std::vector<Dim> Attrs::*,
                                std::optional<Dim> Attrs::*, std::optional<Claim> Attrs::*,
                                std::optional<DType> Attrs::*, std::optional<double> Attrs::*,
                                std::string Attrs::*, bool Attrs::*, Tensor Attrs::*>;

struct AttrField {
  std::string_view name;  // as in the rows of the op table
  AttrMember member;
};

absl::Span<const AttrField> AllAttrFields();
// Whether the attribute is there; never of `tensor`, which every constant has and no other op.
bool IsSet(const AttrField& field, const Attrs& attrs);
bool IsList(const AttrField& field);
// Calls use(d) for every Dim among the attributes, by reference.
template <typename AnyAttrs, typename Use>
void ForEachDim(AnyAttrs& attrs, const Use& use);

// Null if Attrs has no such member.
const AttrField* FindAttrField(std::string_view name);

// The text after "name=", or nothing if the attribute is unset and need not be printed: an empty
// list is printed only if it is `required`.
std::optional<std::string> AttrText(const AttrField& field, const Attrs& attrs, bool required);

// Shortest decimal text that reads back to the same bits; "inf", "-inf", "nan", and
// "nan(0x7fc00001)" for a NaN whose bits are not those of the default one.
std::string NumberText(double value);
// "f32[2, 2]"
std::string TypeText(const Tensor& tensor);
// "f32[2, 2]{1, 2, 3, 4}": the type and every element; 4 or more equal ones as value*count.
std::string TensorText(const Tensor& tensor);
// "f32", if `name` is an element type's name.
std::optional<DType> FindDType(std::string_view name);

// Implementation of ForEachDim.
template <typename Member, typename Use>
void ForEachDimOf(Member& member, const Use& use) {
  using T = std::remove_const_t<Member>;
  if constexpr (std::is_same_v<T, Dim>) {
    use(member);
  } else if constexpr (std::is_same_v<T, Claim>) {
    use(member.lhs);
    use(member.rhs);
  } else if constexpr (std::is_same_v<T, Shape>) {
    for (auto& d : member) use(d);
  } else if constexpr (std::is_same_v<T, std::optional<Dim>> ||
                       std::is_same_v<T, std::optional<Claim>> ||
                       std::is_same_v<T, std::optional<Shape>>) {
    if (member) ForEachDimOf(*member, use);
  }
}

template <typename AnyAttrs, typename Use>
void ForEachDim(AnyAttrs& attrs, const Use& use) {
  for (const AttrField& field : AllAttrFields())
    std::visit([&](auto member) { ForEachDimOf(attrs.*member, use); }, field.member);
}

}  // namespace lathe::ir
