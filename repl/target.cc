#include "repl/target.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/hint.h"
#include "ir/nearest.h"
#include "ir/status_macros.h"
#include "repl/memory_size.h"
#include "runtime/context_state.h"
#include "runtime/function_state.h"

namespace lathe::repl {
namespace {

using Word = CommandLine::Word;

// The declared facts all of whose sizes are given.
class GivenSizes {
 public:
  GivenSizes(const ir::Graph& graph, const Sizes& given) : dims_(*graph.dims()) {
    values_.resize(static_cast<size_t>(dims_.num_symbols()));
    known_.resize(values_.size());
    for (size_t s = 0; s < values_.size(); ++s) {
      const auto it = given.find(dims_.SymbolName(static_cast<dim::SymbolId>(s)));
      if (it == given.end()) continue;
      values_[s] = it->second;
      known_[s] = true;
    }
    for (const dim::Fact& fact : graph.facts().facts()) {
      if (fact.standing != dim::Standing::kDeclared) continue;
      const std::vector<dim::SymbolId> symbols = SymbolsOf(fact.claim);
      const bool all =
          std::all_of(symbols.begin(), symbols.end(), [&](dim::SymbolId s) { return known_[s]; });
      if (!all) continue;
      facts_.push_back(&fact);
      claims_.push_back(fact.claim);
    }
  }

  absl::Status Check() const {
    for (const dim::Fact* fact : facts_) {
      const absl::StatusOr<bool> holds = dim::Evaluate(fact->claim, values_);
      if (!holds.ok()) return holds.status();
      if (!*holds) return Violation(*fact);
    }
    return absl::OkStatus();
  }

 private:
  static std::vector<dim::SymbolId> SymbolsOf(const Claim& claim) {
    std::vector<dim::SymbolId> symbols = dim::FreeSymbols(claim.lhs);
    for (dim::SymbolId s : dim::FreeSymbols(claim.rhs)) {
      if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) symbols.push_back(s);
    }
    return symbols;
  }

  absl::Status Violation(const dim::Fact& fact) const {
    const std::vector<dim::SymbolId> symbols = SymbolsOf(fact.claim);
    absl::Status error = absl::InvalidArgumentError(
        absl::StrCat("`", fact.claim.ToString(), "` is violated: ",
                     absl::StrJoin(symbols, ", ",
                                   [&](std::string* out, dim::SymbolId s) {
                                     absl::StrAppend(out, dims_.SymbolName(s), " = ", values_[s]);
                                   }),
                     "; declared by ", fact.source.what, fact.source.where.empty() ? "" : " at ",
                     fact.source.where));
    // The size whose change alone mends it with the least difference.
    std::optional<ir::Hint> hint;
    uint64_t least = UINT64_MAX;
    for (dim::SymbolId s : symbols) {
      std::vector<int64_t> tried = values_;
      const std::optional<int64_t> size =
          ir::NearestPassing(values_[s], dims_.SymbolDim(s), claims_, [&](int64_t v) {
            tried[s] = v;
            return v >= 0 && std::all_of(claims_.begin(), claims_.end(), [&](const Claim& claim) {
                     const absl::StatusOr<bool> holds = dim::Evaluate(claim, tried);
                     return holds.ok() && *holds;
                   });
          });
      if (!size) continue;
      const uint64_t change =
          *size > values_[s] ? static_cast<uint64_t>(*size) - static_cast<uint64_t>(values_[s])
                             : static_cast<uint64_t>(values_[s]) - static_cast<uint64_t>(*size);
      if (change >= least) continue;
      least = change;
      hint = ir::Hint{ir::Hint::Kind::kSize, dims_.SymbolName(s), absl::StrCat(*size)};
    }
    return hint ? ir::WithHint(error, *hint) : error;
  }

  const dim::DimContext& dims_;
  std::vector<int64_t> values_;
  std::vector<bool> known_;
  std::vector<const dim::Fact*> facts_;
  std::vector<Claim> claims_;
};

class Reader {
 public:
  Reader(Session& session, const CommandLine& line, const TargetOptions& options)
      : session_(session), line_(line), options_(options) {
    dims_ = session.text().DimNames();
  }

  absl::StatusOr<Target> Run() {
    const std::vector<Word>& words = line_.words();
    if (words.empty() || words[0].value) {
      return session_.Error(line_.at(),
                            absl::StrCat(":", line_.name(), " needs a value: ", Usage()));
    }
    for (size_t i = 1; i < words.size(); ++i) {
      LATHE_RETURN_IF_ERROR(words[i].value ? Option(words[i]) : Other(words[i]));
    }
    LATHE_RETURN_IF_ERROR(GivenSizes(session_.graph(), given_).Check());
    LATHE_ASSIGN_OR_RETURN(target_.compiled, session_.Compile(words[0]));
    const std::vector<std::string>& names = target_.compiled->function.state()->plan().symbol_names;
    for (const std::string& name : names) {
      const auto it = given_.find(name);
      if (it != given_.end()) target_.sizes.insert(*it);
    }
    target_.has_sizes = !given_.empty();
    return std::move(target_);
  }

 private:
  std::string Usage() const {
    const Command* command = FindCommand(line_.name());
    return absl::StrCat(":", line_.name(), " ", std::string(command->usage));
  }

  absl::Status Other(const Word& word) {
    if (target_.others.size() == options_.others) {
      return session_.Error(word.at,
                            absl::StrCat("found ", Quoted(word.text), ", wanted ", Usage()));
    }
    target_.others.push_back(word);
    return absl::OkStatus();
  }

  // A declared dim's name means the dim, also if an option has the same.
  absl::Status Option(const Word& word) {
    if (std::find(dims_.begin(), dims_.end(), word.text) != dims_.end()) return Size(word);
    if (options_.seed && word.text == "seed") {
      int64_t seed = 0;
      if (!ReadInteger(*word.value, &seed)) return NoNumber(word);
      target_.seed = static_cast<uint64_t>(seed);
      return absl::OkStatus();
    }
    if (options_.stage && word.text == "stage") {
      if (*word.value != "traced" && *word.value != "optimised") {
        return session_.Error(word.at, absl::StrCat("found stage=", Quoted(*word.value),
                                                    ", wanted stage=traced or stage=optimised"));
      }
      target_.stage = *word.value;
      return absl::OkStatus();
    }
    return session_.Error(
        word.at,
        absl::StrCat("there is no size ", Quoted(word.text), "; ",
                     dims_.empty() ? std::string("no dim is declared")
                                   : absl::StrCat("declared: ", absl::StrJoin(dims_, ", ")),
                     ir::DidYouMean(word.text, {dims_.begin(), dims_.end()})));
  }

  absl::Status Size(const Word& word) {
    if (given_.contains(word.text) || (target_.range && target_.range->text == word.text)) {
      return session_.Error(word.at, absl::StrCat(word.text, " is given twice"));
    }
    if (options_.range && word.value->find("..") != std::string::npos) {
      if (target_.range) {
        return session_.Error(word.at, absl::StrCat("only one size may be a range; ",
                                                    target_.range->text, " is one already"));
      }
      target_.range = word;
      return absl::OkStatus();
    }
    int64_t size = 0;
    if (!ReadInteger(*word.value, &size)) return NoNumber(word);
    given_[word.text] = size;
    return absl::OkStatus();
  }

  absl::Status NoNumber(const Word& word) {
    return session_.Error(word.at, absl::StrCat(word.text, " = ", Quoted(*word.value),
                                                " is no whole number of 64 bits"));
  }

  Session& session_;
  const CommandLine& line_;
  const TargetOptions& options_;
  std::vector<std::string> dims_;
  Target target_;
  Sizes given_;
};

}  // namespace

absl::StatusOr<int64_t> ReadBytes(const Session& session, const CommandLine::Word& word) {
  const std::optional<int64_t> bytes = ReadMemorySize(word.text);
  if (bytes) return *bytes;
  return session.Error(word.at, absl::StrCat(Quoted(word.text),
                                             " is no amount of memory; wanted one such as 8GiB, "
                                             "500MB, 4096"));
}

absl::Status InArgument(const Session& session, const CommandLine& line, const absl::Status& s) {
  std::string message(s.message());
  Place at;
  if (!TakePlace(session.file(), &message, &at)) at.column = 1;
  return WithPlace(session.file(), {line.rest_at().line, line.rest_at().column + at.column - 1},
                   absl::Status(s.code(), message));
}

bool ReadInteger(std::string_view text, int64_t* number) {
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && at == text.data() + text.size();
}

absl::StatusOr<Target> ReadTarget(Session& session, const CommandLine& line,
                                  const TargetOptions& options) {
  return Reader(session, line, options).Run();
}

absl::StatusOr<std::vector<int64_t>> SymbolsOf(const Target& target) {
  return target.compiled->function.state()->SymbolValues(target.sizes);
}

absl::StatusOr<std::shared_ptr<const rt::Version>> VersionFor(const CompiledValue& compiled,
                                                              const std::vector<int64_t>& symbols) {
  rt::ContextState context;
  LATHE_RETURN_IF_ERROR(compiled.function.state()->ResolveSizes(context, symbols));
  return context.published->table->versions()[static_cast<size_t>(context.version)];
}

}  // namespace lathe::repl
