// The cold side of a function's entry: texts of errors, and sizes given by name.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/input_data.h"
#include "ir/status_macros.h"
#include "runtime/entry_plan.h"

namespace lathe::rt {
namespace {

std::string TypeText(const Tensor& t) {
  return absl::StrCat(Name(t.dtype()), "[", absl::StrJoin(t.shape(), ", "), "]");
}

absl::Status CountError(const EntryPlan& plan, size_t found) {
  std::string wanted;
  for (const EntryPlan::InputSpec& spec : plan.inputs) {
    absl::StrAppend(&wanted, wanted.empty() ? ": " : ", ", spec.name, " ", spec.text);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("found ", found, " inputs, wanted ", plan.inputs.size(), wanted));
}

absl::Status TypeError(const EntryPlan::InputSpec& spec, const Tensor& t) {
  if (!t.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", spec.name, " is an invalid tensor, wanted ", spec.text));
  }
  if (t.dtype() != spec.dtype) {
    return absl::InvalidArgumentError(absl::StrCat("input ", spec.name, ": found ", TypeText(t),
                                                   ", wanted type ", Name(spec.dtype), " (",
                                                   spec.text, ")"));
  }
  if (t.shape().size() != spec.shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("input ", spec.name, ": found rank ", t.rank(),
                                                   " (", TypeText(t), "), wanted rank ",
                                                   spec.shape.size(), " (", spec.text, ")"));
  }
  return absl::OkStatus();
}

absl::Status ExtentError(const EntryPlan& plan, int32_t input, int32_t axis, int64_t found,
                         const std::string& wanted) {
  const EntryPlan::InputSpec& spec = plan.inputs[static_cast<size_t>(input)];
  return absl::InvalidArgumentError(absl::StrCat("input ", spec.name, ": axis ", axis,
                                                 " has extent ", found, ", wanted ", wanted, " (",
                                                 spec.text, ")"));
}

// All slots of `program` for these symbols.
absl::StatusOr<std::vector<int64_t>> Run(const dim::DimProgram& program,
                                         absl::Span<const int64_t> values) {
  std::vector<int64_t> slots(static_cast<size_t>(program.num_slots()));
  std::copy(values.begin(), values.end(), slots.begin());
  if (int bad = program.Run(slots.data()); bad >= 0) return program.Explain(bad, slots.data());
  return slots;
}

int64_t Extent(absl::Span<const Tensor> inputs, int32_t input, int32_t axis) {
  return inputs[static_cast<size_t>(input)].shape()[static_cast<size_t>(axis)];
}

// The first row as long as any.
int64_t LongestRow(const Tensor& offsets) {
  int64_t row = 0, longest = -1;
  for (int64_t i = 0; i + 1 < offsets.shape()[0]; ++i) {
    const int64_t length = ir::IntegerElement(offsets, i + 1) - ir::IntegerElement(offsets, i);
    if (length <= longest) continue;
    longest = length;
    row = i;
  }
  return row;
}

}  // namespace

std::string EntryPlan::Describe(absl::Span<const dim::SymbolId> which,
                                absl::Span<const int64_t> values) const {
  std::string text;
  for (dim::SymbolId s : which) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", symbol_names[s], " = ", values[s]);
    if (!data_origins[s].empty()) absl::StrAppend(&text, " (", data_origins[s], ")");
    const Axis& a = bind[s];
    if (a.input < 0) continue;
    absl::StrAppend(&text, " (axis ", a.axis, " of input ",
                    inputs[static_cast<size_t>(a.input)].name, ")");
  }
  return text;
}

absl::Status EntryPlan::ReadData(absl::Span<const Tensor> given, int64_t* values) const {
  for (const Element& e : elements)
    values[e.symbol] = ir::IntegerElement(given[static_cast<size_t>(e.input)], e.element);
  for (const Offsets& o : offsets) {
    const Tensor& t = given[static_cast<size_t>(o.input)];
    if (t.shape()[0] < 1) return OffsetsFault(o, t, "no elements, wanted the number of rows + 1");
    const ir::OffsetsReading reading = ir::ReadOffsets(t);
    if (reading.fault >= 0) {
      return ir::OffsetsError(absl::StrCat("input ", inputs[static_cast<size_t>(o.input)].name), t,
                              reading);
    }
    if (o.total.binds) values[o.total.symbol] = reading.total;
    if (o.longest.binds) values[o.longest.symbol] = reading.longest;
    const auto wanted = [&](const Offsets::Size& size) {
      return size.symbol < 0 ? size.value : values[size.symbol];
    };
    if (reading.total != wanted(o.total)) {
      return OffsetsFault(o, t,
                          absl::StrCat("element ", t.shape()[0] - 1, " is ", reading.total,
                                       ", wanted ", SizeText(o.total, values)));
    }
    if (reading.longest > wanted(o.longest)) {
      return OffsetsFault(o, t,
                          absl::StrCat("row ", LongestRow(t), " has ", reading.longest,
                                       " elements, wanted at most ", SizeText(o.longest, values)));
    }
  }
  return absl::OkStatus();
}

absl::Status EntryPlan::OffsetsFault(const Offsets& o, const Tensor& t,
                                     const std::string& fault) const {
  return absl::InvalidArgumentError(absl::StrCat(
      "input ", inputs[static_cast<size_t>(o.input)].name, " (", TypeText(t), "): ", fault));
}

std::string EntryPlan::SizeText(const Offsets::Size& size, const int64_t* values) const {
  if (size.symbol < 0) return absl::StrCat(size.value);
  const dim::SymbolId s = static_cast<dim::SymbolId>(size.symbol);
  return Describe({&s, 1}, absl::MakeConstSpan(values, symbols.size()));
}

absl::Status EntryPlan::InputError(absl::Span<const Tensor> given) const {
  if (given.size() != inputs.size()) return CountError(*this, given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    absl::Status type = TypeError(inputs[i], given[i]);
    if (!type.ok()) return type;
    if (given[i].raw() == nullptr && given[i].num_elements() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", inputs[i].name, ": ", TypeText(given[i]), " has a null pointer"));
    }
  }
  for (const StaticAxis& a : static_axes) {
    const int64_t found = Extent(given, a.input, a.axis);
    if (found != a.extent)
      return ExtentError(*this, a.input, a.axis, found, absl::StrCat(a.extent));
  }
  std::vector<int64_t> values(symbols.size());
  // The axis shows coefficient * symbol + rest; `factor` is the coefficient's name if it has one.
  auto solve = [&](size_t s, int64_t rest, int64_t coefficient, const std::string& factor) {
    const Axis& a = bind[s];
    const int64_t found = Extent(given, a.input, a.axis);
    const std::string& name = symbol_names[s];
    const std::string sum =
        rest == 0 ? "" : absl::StrCat(rest < 0 ? " - " : " + ", rest < 0 ? -rest : rest);
    const std::string product =
        absl::StrCat(factor.empty() ? absl::StrCat(coefficient) : factor, "*", name, sum,
                     factor.empty() ? "" : absl::StrCat(" with ", factor, " = ", coefficient));
    int64_t difference = 0;
    if (__builtin_sub_overflow(found, rest, &difference))
      return ExtentError(*this, a.input, a.axis, found, product);
    if (coefficient == 0) {
      return ExtentError(*this, a.input, a.axis, found,
                         absl::StrCat(product, ", from which ", name, " can't be found"));
    }
    if (difference % coefficient != 0) {
      return ExtentError(*this, a.input, a.axis, found,
                         absl::StrCat(product, " for a whole ", name, ": ", difference,
                                      " leaves remainder ", difference % coefficient));
    }
    values[s] = difference / coefficient;
    return absl::OkStatus();
  };
  for (size_t s = 0; s < symbols.size(); ++s) {
    if (bind[s].input < 0 || derives[s]) {
      values[s] = bind[s].offset;
      continue;
    }
    absl::Status solved = solve(s, bind[s].offset, bind[s].coefficient, "");
    if (!solved.ok()) return solved;
  }
  if (reads_data()) LATHE_RETURN_IF_ERROR(ReadData(given, values.data()));
  for (const Derived& d : derived) {
    LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Run(d.rest, values));
    const size_t s = static_cast<size_t>(d.symbol);
    const int64_t rest = slots[static_cast<size_t>(d.slot)];
    if (bind[s].input < 0) {
      values[s] = rest;
      continue;
    }
    const int64_t coefficient = d.coefficient_slot < 0
                                    ? bind[s].coefficient
                                    : slots[static_cast<size_t>(d.coefficient_slot)];
    absl::Status solved = solve(s, rest, coefficient, d.coefficient_text);
    if (!solved.ok()) return solved;
  }
  return absl::OkStatus();
}

absl::Status EntryPlan::DimAxisError(size_t dim_axis, int64_t found, int64_t wanted,
                                     absl::Span<const int64_t> values) const {
  const DimAxis& a = dim_axes[dim_axis];
  return ExtentError(*this, a.input, a.axis, found,
                     absl::StrCat(a.text, " = ", wanted, " with ", Describe(a.symbols, values)));
}

absl::Status EntryPlan::CheckError(size_t check, absl::Span<const int64_t> values) const {
  const Check& c = checks[check];
  std::string amount;
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Run(check_program, values));
  const int64_t lhs = slots[static_cast<size_t>(c.lhs_slot)];
  if (c.remainder) {
    amount = absl::StrCat(", remainder ", lhs);
  } else if (!c.claim.lhs.is_constant() &&
             !(c.symbols.size() == 1 && c.lhs == symbol_names[c.symbols[0]])) {
    amount = absl::StrCat(", ", c.lhs, " = ", lhs);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "`", c.claim_text, "` is violated: ", Describe(c.symbols, values), amount, "; ", c.source));
}

absl::Status EntryPlan::Complete(const std::vector<bool>& given,
                                 std::vector<int64_t>& values) const {
  std::vector<std::string> missing;
  for (size_t s = 0; s < symbols.size(); ++s) {
    if (given[s]) continue;
    values[s] = bind[s].offset;
    if (bind[s].input >= 0 || !data_origins[s].empty()) missing.push_back(symbol_names[s]);
  }
  if (!missing.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no size is given for ", absl::StrJoin(missing, ", ")));
  }
  for (const Derived& d : derived) {
    const size_t s = static_cast<size_t>(d.symbol);
    if (given[s]) continue;
    LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Run(d.rest, values));
    values[s] = slots[static_cast<size_t>(d.slot)];
  }
  for (size_t s = 0; s < symbols.size(); ++s) {
    if (values[s] >= 0 || !given[s] || bind[s].input < 0) continue;
    // Where a negative size is declared, the axis that shows it still has an extent of 0 or more.
    const Axis& a = bind[s];
    if (!derives[s] && a.coefficient == 1 && a.offset == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(symbol_names[s], " = ", values[s], ", wanted >= 0: it is axis ", a.axis,
                       " of input ", inputs[static_cast<size_t>(a.input)].name));
    }
  }
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Run(check_program, values));
  for (size_t c = 0; c < checks.size(); ++c) {
    if (slots[static_cast<size_t>(checks[c].slot)] == 0) return CheckError(c, values);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::vector<int64_t>>> EntryPlan::OutputShapes(
    absl::Span<const int64_t> values) const {
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Run(output_program, values));
  std::vector<std::vector<int64_t>> shapes;
  for (const std::vector<int32_t>& output : output_slots) {
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (int32_t slot : output) shape.push_back(slots[static_cast<size_t>(slot)]);
  }
  return shapes;
}

}  // namespace lathe::rt
