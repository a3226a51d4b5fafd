#pragma once
// Runs texts through a session as jit-repl does, and gives what it writes: answers and faults in
// one string, in order.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "repl/driver.h"
#include "repl/output.h"
#include "repl/session.h"

namespace lathe::repl {

// A session with its output, for several texts in turn.
class Console {
 public:
  explicit Console(bool json, SessionOptions options = {})
      : file_(open_memstream(&buffer_, &size_)),
        session_(options),
        output_(file_, file_, json, options.file) {}
  ~Console() {
    std::fclose(file_);
    std::free(buffer_);
  }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  // What `text` adds to the output.
  std::string Run(std::string_view text) {
    std::fflush(file_);
    const size_t before = size_;
    Driver(&session_, &output_).RunText(text);
    std::fflush(file_);
    return std::string(buffer_ + before, size_ - before);
  }
  // The one JSON object that a statement answers.
  Json Ask(std::string_view statement) {
    const std::string line = Run(statement);
    EXPECT_EQ(line.find('\n'), line.size() - 1) << statement << "\n" << line;
    Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(json.is_object()) << line;
    return json;
  }
  Session& session() { return session_; }
  Output& output() { return output_; }

 private:
  char* buffer_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
  Session session_;
  Output output_;
};

}  // namespace lathe::repl
