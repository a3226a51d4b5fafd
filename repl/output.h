#pragma once
// Writes answers and faults, as text for people or as one JSON object a line, and counts the
// faults. Each is flushed at once, so that a program at the other end of a pipe can take turns.
#include <cstdio>
#include <string>

#include "repl/answer.h"

namespace lathe::repl {

class Output {
 public:
  // Answers go to `out`; faults too as JSON, otherwise to `err`. `file` names the text in faults.
  Output(std::FILE* out, std::FILE* err, bool json, std::string file)
      : out_(out), err_(err), json_(json), file_(std::move(file)) {}

  void Write(const Answer& answer);
  void Write(const Fault& fault);
  int faults() const { return faults_; }
  bool json() const { return json_; }

 private:
  std::FILE* out_;
  std::FILE* err_;
  bool json_;
  std::string file_;
  int faults_ = 0;
};

}  // namespace lathe::repl
