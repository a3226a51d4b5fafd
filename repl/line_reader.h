#pragma once
// Lines from a terminal, with editing, history and completion by libedit. History is kept in
// $HOME/.jit_repl_history, readable by its owner alone, if that can be written.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::repl {

class LineReader {
 public:
  // For the part of a line before the cursor: where its last word starts, and what it may become.
  struct Completion {
    size_t word_start = 0;
    std::vector<std::string> words;
  };
  using Completer = std::function<Completion(std::string_view line)>;

  explicit LineReader(Completer complete);
  ~LineReader();

  // With its newline; nothing at the end of the input. An interrupt (Ctrl-C) drops the line:
  // `interrupted` is set and the result empty.
  std::optional<std::string> Read(const std::string& prompt, bool* interrupted);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lathe::repl
