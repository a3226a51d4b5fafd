#pragma once
// The names that a model's sizes have, and the symbols that they become. Names of the file that are
// plain words keep them; what isn't a word gets one; sizes without a name get one of their own, and
// never that of a dim of the file. The importer fills it; facts are read by it.
//
//   names.Declare("batch size");
//   names.Symbol("batch size") == "batch_size"
//   names.InSymbols("batch size <= 8", dims) == "batch_size <= 8"
#include <map>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/dim/context.h"

namespace lathe::onnx {

// Letters, digits, '_' and '.' of `name`; everything else becomes '_'. Never a word of the text
// form.
std::string Word(const std::string& name);

// Names in use; none becomes free again.
class TakenNames {
 public:
  void Take(const std::string& name) { names_.insert(name); }
  // Takes `word`, or the first of word_1, word_2, .. that is free.
  std::string TakeLike(const std::string& word);

 private:
  absl::flat_hash_set<std::string> names_;
  absl::flat_hash_map<std::string, int64_t> tried_;  // word -> so many numbers are taken
};

class DimNames {
 public:
  // A dim_param of the file. All of them come before the first symbol is asked for.
  void Declare(const std::string& name);
  // The symbol of the dim of that name; one that isn't of the file counts as made.
  std::string Symbol(const std::string& name);
  // The symbol of a size that the file gives no name of this kind: `name` was made for it.
  std::string MadeSymbol(const std::string& name);
  // Name -> symbol, of all that were asked for. A made name has a number behind where the file has
  // a dim of that name.
  const std::map<std::string, std::string>& symbols() const { return symbols_; }

  // Facts as text with symbols for names that aren't plain words. A name that reads as an
  // expression of other sizes ("seq + 1" beside "seq") is that expression.
  std::string InSymbols(const std::string& spec, dim::DimContext* dims) const;

 private:
  std::string NewSymbol(const std::string& name);

  std::set<std::string> declared_;           // by the file
  std::map<std::string, std::string> made_;  // as asked for -> key of symbols_
  std::map<std::string, std::string> symbols_;
  TakenNames names_;          // keys of symbols_, and the declared ones
  TakenNames symbols_taken_;  // symbols, and plain words of the file
};

}  // namespace lathe::onnx
