#include "repl/target.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/status_macros.h"
#include "repl/memory_size.h"
#include "runtime/context_state.h"
#include "runtime/function_state.h"

namespace lathe::repl {
namespace {

using Word = CommandLine::Word;

// Declared facts all of whose sizes are given.
absl::Status CheckFacts(Session& session, const Sizes& given) {
  const dim::DimContext& dims = *session.graph().dims();
  std::vector<int64_t> values(static_cast<size_t>(dims.num_symbols()));
  std::vector<bool> known(values.size());
  for (size_t s = 0; s < values.size(); ++s) {
    const auto it = given.find(dims.SymbolName(static_cast<dim::SymbolId>(s)));
    if (it == given.end()) continue;
    values[s] = it->second;
    known[s] = true;
  }
  auto all_known = [&](Dim d) {
    const std::vector<dim::SymbolId> symbols = dim::FreeSymbols(d);
    return std::all_of(symbols.begin(), symbols.end(), [&](dim::SymbolId s) { return known[s]; });
  };
  for (const dim::Fact& fact : session.graph().facts().facts()) {
    if (fact.standing != dim::Standing::kDeclared) continue;
    if (!all_known(fact.claim.lhs) || !all_known(fact.claim.rhs)) continue;
    const absl::StatusOr<bool> holds = dim::Evaluate(fact.claim, values);
    if (!holds.ok()) return holds.status();
    if (*holds) continue;
    std::vector<dim::SymbolId> symbols = dim::FreeSymbols(fact.claim.lhs);
    for (dim::SymbolId s : dim::FreeSymbols(fact.claim.rhs)) {
      if (std::find(symbols.begin(), symbols.end(), s) == symbols.end()) symbols.push_back(s);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("`", fact.claim.ToString(), "` is violated: ",
                     absl::StrJoin(symbols, ", ",
                                   [&](std::string* out, dim::SymbolId s) {
                                     absl::StrAppend(out, dims.SymbolName(s), " = ", values[s]);
                                   }),
                     "; declared by ", fact.source.what, fact.source.where.empty() ? "" : " at ",
                     fact.source.where));
  }
  return absl::OkStatus();
}

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
    LATHE_RETURN_IF_ERROR(CheckFacts(session_, given_));
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
                                   : absl::StrCat("declared: ", absl::StrJoin(dims_, ", "))));
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
