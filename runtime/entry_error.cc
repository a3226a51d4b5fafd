// The cold side of a function's entry: texts of errors, and sizes given by name.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/attr_text.h"
#include "ir/hint.h"
#include "ir/input_data.h"
#include "ir/nearest.h"
#include "ir/status_macros.h"
#include "runtime/entry_plan.h"

namespace lathe::rt {
namespace {

// Whether a claim says by itself what is wrong.
bool IsReadable(const std::string& claim) {
  return claim.size() <= 48 && std::count(claim.begin(), claim.end(), '*') <= 3;
}

using ir::Hint;

// The error with what would be admitted: for people as its last line, for programs as hints.
absl::Status WithInput(const absl::Status& error, const std::string& name,
                       const std::string& type) {
  if (type.empty()) return error;
  const std::string text =
      absl::StrCat(std::string(error.message()), "\nto mend it: pass ", name, " as ", type);
  return ir::WithHint(ir::WithMessage(error, text), {Hint::Kind::kInput, name, type});
}

absl::Status WithSizes(absl::Status error,
                       const std::vector<std::pair<std::string, int64_t>>& sizes) {
  if (sizes.empty()) return error;
  std::string text = absl::StrCat(std::string(error.message()), "\nto mend it: call with ");
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto& [name, size] = sizes[i];
    absl::StrAppend(&text, i == 0 ? "" : ", ", name, " = ", size);
    error = ir::WithHint(error, {Hint::Kind::kSize, name, absl::StrCat(size)});
  }
  return ir::WithMessage(error, text);
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
    return absl::InvalidArgumentError(absl::StrCat("input ", spec.name, ": found ", ir::TypeText(t),
                                                   ", wanted type ", Name(spec.dtype), " (",
                                                   spec.text, ")"));
  }
  if (t.shape().size() != spec.shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("input ", spec.name, ": found rank ", t.rank(),
                                                   " (", ir::TypeText(t), "), wanted rank ",
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

// Looks for sizes that pass all checks, near those of a call that didn't.
class Admitted {
 public:
  explicit Admitted(const EntryPlan& plan) : plan_(plan) {
    for (const EntryPlan::Check& check : plan.checks) claims_.push_back(check.claim);
  }

  // True if the sizes pass; symbols that no axis shows follow from the others.
  bool Passes(std::vector<int64_t> values) const {
    for (const EntryPlan::Derived& d : plan_.derived) {
      const absl::StatusOr<std::vector<int64_t>> slots = Run(d.rest, values);
      if (!slots.ok()) return false;
      if (plan_.bind[static_cast<size_t>(d.symbol)].input >= 0) continue;
      values[static_cast<size_t>(d.symbol)] = (*slots)[static_cast<size_t>(d.slot)];
    }
    for (size_t s = 0; s < values.size(); ++s) {
      if (plan_.limited[s] && values[s] > ir::kMaxDim) return false;
    }
    const absl::StatusOr<std::vector<int64_t>> slots = Run(plan_.check_program, values);
    if (!slots.ok()) return false;
    return std::all_of(plan_.checks.begin(), plan_.checks.end(), [&](const EntryPlan::Check& c) {
      return (*slots)[static_cast<size_t>(c.slot)] != 0;
    });
  }

  // The symbol of `which` that needs the smallest change alone, and its value; nothing if none
  // does.
  std::vector<std::pair<std::string, int64_t>> Nearest(absl::Span<const dim::SymbolId> which,
                                                       absl::Span<const int64_t> values) const {
    std::vector<std::pair<std::string, int64_t>> best;
    int64_t least = INT64_MAX;
    for (dim::SymbolId s : which) {
      if (plan_.bind[s].input < 0) continue;
      std::vector<int64_t> tried(values.begin(), values.end());
      const std::optional<int64_t> size =
          ir::NearestPassing(values[s], plan_.symbols[s], claims_, [&](int64_t v) {
            tried[s] = v;
            return Passes(tried);
          });
      int64_t change = 0;
      if (!size || __builtin_sub_overflow(*size, values[s], &change) || change == INT64_MIN)
        continue;
      if (std::abs(change) >= least) continue;
      least = std::abs(change);
      best = {{plan_.symbol_names[s], *size}};
    }
    return best;
  }

  // Values for the symbols that aren't given, found one after another from 1; nothing if they don't
  // pass together.
  std::vector<std::pair<std::string, int64_t>> Complete(const std::vector<bool>& given,
                                                        std::vector<int64_t> values) const {
    std::vector<std::pair<std::string, int64_t>> sizes;
    std::vector<dim::SymbolId> open;
    for (size_t s = 0; s < values.size(); ++s) {
      if (given[s] || plan_.bind[s].input < 0) continue;
      values[s] = 1;
      open.push_back(static_cast<dim::SymbolId>(s));
    }
    for (dim::SymbolId s : open) {
      if (Passes(values)) break;
      for (const auto& [name, size] : Nearest({&s, 1}, values)) values[s] = size;
    }
    if (!Passes(values)) return sizes;
    for (dim::SymbolId s : open) sizes.emplace_back(plan_.symbol_names[s], values[s]);
    return sizes;
  }

  // The type that input `index` should have, sizes taken from the other inputs where they show
  // them; empty if no sizes are found that pass.
  std::string TypeOf(absl::Span<const Tensor> given, size_t index) const {
    std::vector<int64_t> values(plan_.symbols.size());
    std::vector<dim::SymbolId> open;
    // Solves coefficient * symbol + rest for what its axis shows, if it does and that is whole.
    const auto solve = [&](size_t s, int64_t rest, int64_t coefficient) {
      const EntryPlan::Axis& a = plan_.bind[s];
      const size_t input = static_cast<size_t>(a.input), axis = static_cast<size_t>(a.axis);
      const bool shown = input < given.size() && given[input].ok() &&
                         given[input].shape().size() == plan_.inputs[input].shape.size();
      int64_t difference = 0;
      if (shown && coefficient != 0 &&
          !__builtin_sub_overflow(given[input].shape()[axis], rest, &difference) &&
          difference % coefficient == 0) {
        values[s] = difference / coefficient;
      }
      if (!shown || input == index) open.push_back(static_cast<dim::SymbolId>(s));
    };
    for (size_t s = 0; s < values.size(); ++s) {
      const EntryPlan::Axis& a = plan_.bind[s];
      values[s] = a.input < 0 ? a.offset : 1;
      if (a.input >= 0 && !plan_.derives[s]) solve(s, a.offset, a.coefficient);
    }
    for (const EntryPlan::Derived& d : plan_.derived) {
      const absl::StatusOr<std::vector<int64_t>> slots = Run(d.rest, values);
      if (!slots.ok()) return "";
      const size_t s = static_cast<size_t>(d.symbol);
      const int64_t rest = (*slots)[static_cast<size_t>(d.slot)];
      if (plan_.bind[s].input < 0) {
        values[s] = rest;
      } else {
        solve(s, rest,
              d.coefficient_slot < 0 ? plan_.bind[s].coefficient
                                     : (*slots)[static_cast<size_t>(d.coefficient_slot)]);
      }
    }
    if (!Passes(values)) {
      for (const auto& [name, size] : Nearest(open, values)) {
        const auto at = std::find(plan_.symbol_names.begin(), plan_.symbol_names.end(), name);
        values[static_cast<size_t>(at - plan_.symbol_names.begin())] = size;
      }
      if (!Passes(values)) return "";
    }
    return TypeAt(index, values);
  }

  std::string TypeAt(size_t index, absl::Span<const int64_t> values) const {
    const EntryPlan::InputSpec& spec = plan_.inputs[index];
    std::vector<int64_t> shape;
    for (Dim d : spec.shape) {
      const absl::StatusOr<int64_t> extent = dim::Evaluate(d, values);
      if (!extent.ok()) return "";
      shape.push_back(*extent);
    }
    return absl::StrCat(Name(spec.dtype), "[", absl::StrJoin(shape, ", "), "]");
  }

 private:
  const EntryPlan& plan_;
  std::vector<Claim> claims_;
};

// The first value with more than 2^63 - 1 bytes, or an extent that can't be computed.
std::optional<ir::ValueId> TooLarge(const ir::Graph& graph, absl::Span<const int64_t> values) {
  for (ir::ValueId v = 0; v < graph.num_nodes(); ++v) {
    int64_t bytes = SizeOf(graph.type(v).dtype);
    bool overflow = false;
    for (Dim d : graph.type(v).shape) {
      const absl::StatusOr<int64_t> extent = dim::Evaluate(d, values);
      overflow |= !extent.ok() || __builtin_mul_overflow(bytes, *extent, &bytes);
    }
    if (overflow) return v;
  }
  return std::nullopt;
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
  for (const Element& e : elements) {
    const int64_t value = ir::IntegerElement(given[static_cast<size_t>(e.input)], e.element);
    if (e.binds) {
      values[e.symbol] = value;
    } else if (values[e.symbol] != value) {
      const dim::SymbolId s = static_cast<dim::SymbolId>(e.symbol);
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", inputs[static_cast<size_t>(e.input)].name, ": element ", e.element, " is ",
          value, ", wanted ", Describe({&s, 1}, absl::MakeConstSpan(values, symbols.size()))));
    }
  }
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
      "input ", inputs[static_cast<size_t>(o.input)].name, " (", ir::TypeText(t), "): ", fault));
}

std::string EntryPlan::SizeText(const Offsets::Size& size, const int64_t* values) const {
  if (size.symbol < 0) return absl::StrCat(size.value);
  const dim::SymbolId s = static_cast<dim::SymbolId>(size.symbol);
  return Describe({&s, 1}, absl::MakeConstSpan(values, symbols.size()));
}

absl::Status EntryPlan::InputError(absl::Span<const Tensor> given) const {
  const Admitted admitted(*this);
  if (given.size() != inputs.size()) {
    const absl::Status error = CountError(*this, given.size());
    if (given.size() > inputs.size()) return error;
    return WithInput(error, inputs[given.size()].name, admitted.TypeOf(given, given.size()));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    absl::Status type = TypeError(inputs[i], given[i]);
    if (!type.ok()) return WithInput(type, inputs[i].name, admitted.TypeOf(given, i));
    if (given[i].raw() == nullptr && given[i].num_elements() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input ", inputs[i].name, ": ", ir::TypeText(given[i]), " has a null pointer"));
    }
  }
  for (const StaticAxis& a : static_axes) {
    const int64_t found = Extent(given, a.input, a.axis);
    if (found == a.extent) continue;
    const size_t input = static_cast<size_t>(a.input);
    return WithInput(ExtentError(*this, a.input, a.axis, found, absl::StrCat(a.extent)),
                     inputs[input].name, admitted.TypeOf(given, input));
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
    const size_t input = static_cast<size_t>(a.input);
    const auto refuse = [&](const std::string& wanted) {
      return WithInput(ExtentError(*this, a.input, a.axis, found, wanted), inputs[input].name,
                       admitted.TypeOf(given, input));
    };
    if (__builtin_sub_overflow(found, rest, &difference)) return refuse(product);
    if (coefficient == 0) {
      return refuse(absl::StrCat(product, ", from which ", name, " can't be found"));
    }
    if (difference % coefficient != 0) {
      return refuse(absl::StrCat(product, " for a whole ", name, ": ", difference,
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
  // "n = 5 (axis 0 of input x)", or "2*n = 10 with n = 5 (axis 0 of input x)".
  const std::string sizes = Describe(a.symbols, values);
  const bool plain = a.symbols.size() == 1 && a.text == symbol_names[a.symbols[0]];
  const absl::Status error =
      ExtentError(*this, a.input, a.axis, found,
                  plain ? sizes : absl::StrCat(a.text, " = ", wanted, " with ", sizes));
  const size_t input = static_cast<size_t>(a.input);
  return WithInput(error, inputs[input].name, Admitted(*this).TypeAt(input, values));
}

absl::Status EntryPlan::OverflowError(
    const ir::Graph& graph, const absl::Status& error, absl::Span<const int64_t> values,
    absl::FunctionRef<bool(absl::Span<const int64_t>)> fits) const {
  const std::optional<ir::ValueId> large = TooLarge(graph, values);
  if (!large) return error;
  const ir::ValueType& type = graph.type(*large);
  const std::string where = graph.node(*large).location.ToString();
  std::vector<dim::SymbolId> which;
  std::string product;
  for (Dim d : type.shape) {
    absl::StrAppend(&product, d.is_constant() ? d.ToString() : absl::StrCat("(", d.ToString(), ")"),
                    " * ");
    for (dim::SymbolId s : dim::FreeSymbols(d)) {
      if (std::find(which.begin(), which.end(), s) == which.end()) which.push_back(s);
    }
  }
  const absl::Status named = absl::OutOfRangeError(absl::StrCat(
      graph.ValueName(*large), " = ", std::string(ir::Name(graph.node(*large).op)),
      where.empty() ? "" : absl::StrCat(" at ", where), ", ", type.ToString(), ", would have ",
      product, SizeOf(type.dtype), " bytes, more than 2^63 - 1, where ", Describe(which, values)));
  // The largest size found by halving that makes no value too large.
  for (dim::SymbolId s : which) {
    if (bind[s].input < 0) continue;
    std::vector<int64_t> tried(values.begin(), values.end());
    for (tried[s] /= 2; tried[s] > 0; tried[s] /= 2) {
      if (fits(tried) && Admitted(*this).Passes(tried)) {
        return WithSizes(named, {{symbol_names[s], tried[s]}});
      }
    }
  }
  return named;
}

absl::Status EntryPlan::LimitError(absl::Span<const int64_t> values) const {
  for (size_t s = 0; s < values.size(); ++s) {
    if (!limited[s] || values[s] <= ir::kMaxDim) continue;
    const dim::SymbolId symbol = static_cast<dim::SymbolId>(s);
    const absl::Status error = absl::OutOfRangeError(
        absl::StrCat(Describe({&symbol, 1}, values), " is more than 2^40 = ", ir::kMaxDim,
                     ", the limit of a size"));
    return WithSizes(error, Admitted(*this).Nearest({&symbol, 1}, values));
  }
  return absl::OkStatus();
}

absl::Status EntryPlan::CheckError(size_t check, absl::Span<const int64_t> values) const {
  const Check& c = checks[check];
  std::string amount;
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Run(check_program, values));
  const int64_t lhs = slots[static_cast<size_t>(c.lhs_slot)];
  if (c.remainder) {
    if (c.dividend_slot >= 0) {
      amount = absl::StrCat(", ", c.dividend, " = ", slots[static_cast<size_t>(c.dividend_slot)]);
    }
    absl::StrAppend(&amount, ", remainder ", lhs);
  } else if (!c.claim.lhs.is_constant() &&
             std::none_of(c.symbols.begin(), c.symbols.end(),
                          [&](dim::SymbolId s) { return c.lhs == symbol_names[s]; })) {
    amount = absl::StrCat(", ", c.lhs, " = ", lhs);
  }
  // A claim that is easily read comes first; of another one, what it stands for.
  const std::string sizes = Describe(c.symbols, values);
  const absl::Status error = absl::InvalidArgumentError(
      IsReadable(c.claim_text)
          ? absl::StrCat("`", c.claim_text, "` is violated: ", sizes, amount, "; ", c.source)
          : absl::StrCat("the sizes don't fit: ", sizes, "; ", c.source));
  return WithSizes(error, Admitted(*this).Nearest(c.symbols, values));
}

absl::Status EntryPlan::Complete(const std::vector<bool>& given,
                                 std::vector<int64_t>& values) const {
  std::vector<std::string> missing;
  for (size_t s = 0; s < symbols.size(); ++s) {
    if (given[s] && !unused[s]) continue;
    values[s] = bind[s].offset;
    if (bind[s].input >= 0 || !data_origins[s].empty()) missing.push_back(symbol_names[s]);
  }
  if (!missing.empty()) {
    const absl::Status error = absl::InvalidArgumentError(
        absl::StrCat("no size is given for ", absl::StrJoin(missing, ", ")));
    return WithSizes(error, Admitted(*this).Complete(given, values));
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
      const absl::Status error = absl::InvalidArgumentError(
          absl::StrCat(symbol_names[s], " = ", values[s], ", wanted >= 0: it is axis ", a.axis,
                       " of input ", inputs[static_cast<size_t>(a.input)].name));
      values[s] = 1;
      const dim::SymbolId symbol = static_cast<dim::SymbolId>(s);
      return WithSizes(error, Admitted(*this).Nearest({&symbol, 1}, values));
    }
  }
  LATHE_ASSIGN_OR_RETURN(const std::vector<int64_t> slots, Run(check_program, values));
  for (size_t c = 0; c < checks.size(); ++c) {
    if (slots[static_cast<size_t>(checks[c].slot)] == 0) return CheckError(c, values);
  }
  // A call has the one value that the facts leave, whatever is given here.
  for (size_t s = 0; s < symbols.size(); ++s) {
    if (!HasOneValue(s) || values[s] == bind[s].offset) continue;
    const absl::Status error = absl::InvalidArgumentError(
        absl::StrCat(symbol_names[s], " = ", values[s], ", wanted ", bind[s].offset,
                     ", the only value that the facts leave"));
    return WithSizes(error, {{symbol_names[s], bind[s].offset}});
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
