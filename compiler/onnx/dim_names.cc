#include "compiler/onnx/dim_names.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/dim/facts.h"
#include "ir/lexer.h"

namespace lathe::onnx {
namespace {

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// Whether `name` may stand in a fact for the dim of that name: it means nothing else there.
bool MeansItself(const std::string& name, dim::DimContext* dims) {
  return name != "in" && name.find_first_of("<>=!,{}") == std::string::npos &&
         !dim::ParseDim(name, dims, /*make_symbols=*/false).ok();
}

// Whether `name` stands at `at` and isn't a part of a longer word.
bool StandsAt(std::string_view text, size_t at, std::string_view name) {
  if (text.substr(at, name.size()) != name) return false;
  const size_t end = at + name.size();  // ".." is a range
  const bool goes_back = at > 0 && IsWordByte(text[at - 1]) && IsWordByte(name.front()) &&
                         (at < 2 || text.substr(at - 2, 2) != "..");
  const bool goes_on = end < text.size() && IsWordByte(text[end]) && IsWordByte(name.back()) &&
                       text.substr(end, 2) != "..";
  return !goes_back && !goes_on;
}

}  // namespace

std::string Word(const std::string& name) {
  std::string word;
  for (char c : name) word.push_back(IsWordByte(c) ? c : '_');
  if (word.empty() || (word[0] >= '0' && word[0] <= '9') || word[0] == '.') word = "_" + word;
  if (word == "_" || word == "None") word += "0";
  if (!ir::IsPlainName(word)) word += "_";  // a word of the text form, or dots that end nothing
  if (!ir::IsPlainName(word)) std::replace(word.begin(), word.end(), '.', '_');
  return word;
}

std::string TakenNames::TakeLike(const std::string& word) {
  if (names_.insert(word).second) return word;
  for (int64_t& tried = tried_[word];;) {
    std::string next = absl::StrCat(word, "_", ++tried);
    if (names_.insert(next).second) return next;
  }
}

void DimNames::Declare(const std::string& name) {
  declared_.insert(name);
  names_.Take(name);
  if (Word(name) == name) symbols_taken_.Take(name);
}

std::string DimNames::NewSymbol(const std::string& name) {
  if (declared_.contains(name) && Word(name) == name) return name;
  return symbols_taken_.TakeLike(Word(name));
}

std::string DimNames::Symbol(const std::string& name) {
  if (!declared_.contains(name)) return MadeSymbol(name);
  const auto [it, is_new] = symbols_.try_emplace(name);
  if (is_new) it->second = NewSymbol(name);
  return it->second;
}

std::string DimNames::MadeSymbol(const std::string& name) {
  const auto [it, is_new] = made_.try_emplace(name, name);
  if (is_new) {
    it->second = names_.TakeLike(name);
    symbols_[it->second] = NewSymbol(it->second);
  }
  return symbols_[it->second];
}

std::string DimNames::InSymbols(const std::string& spec, dim::DimContext* dims) const {
  std::vector<std::pair<std::string, std::string>> spelled;
  for (const auto& [name, symbol] : symbols_)
    if (name != symbol && MeansItself(name, dims)) spelled.emplace_back(name, symbol);
  std::stable_sort(spelled.begin(), spelled.end(), [](const auto& a, const auto& b) {
    return a.first.size() > b.first.size();  // the longest name that stands there
  });
  std::string text;
  for (size_t at = 0; at < spec.size();) {
    const auto found = std::find_if(spelled.begin(), spelled.end(), [&](const auto& entry) {
      return StandsAt(spec, at, entry.first);
    });
    if (found == spelled.end()) {
      text.push_back(spec[at++]);
      continue;
    }
    text += found->second;
    at += found->first.size();
  }
  return text;
}

}  // namespace lathe::onnx
