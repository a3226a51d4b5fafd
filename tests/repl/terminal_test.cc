// The executable at a terminal: completion, history, Ctrl-C, Ctrl-D, through a pseudo-terminal.
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace {

namespace fs = std::filesystem;

const char kProgram[] = LATHE_BINARY_DIR "/repl/jit-repl";
const char kArrowUp[] = "\x1b[A", kControlC[] = "\x03", kControlD[] = "\x04";
constexpr std::chrono::seconds kPatience(120);  // for all of one session

// jit-repl with its standard streams on a terminal of its own.
class Terminal {
 public:
  explicit Terminal(const fs::path& home) {
    const winsize size = {24, 100, 0, 0};
    child_ = forkpty(&fd_, nullptr, nullptr, &size);
    if (child_ != 0) return;
    setenv("HOME", home.c_str(), 1);
    setenv("TERM", "xterm", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // libedit keeps the names of its functions
    umask(S_IWGRP | S_IWOTH);
    execl(kProgram, kProgram, "--threads", "1", nullptr);
    _exit(127);
  }
  ~Terminal() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(fd_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Types `keys`, then waits until `wanted` is shown and behind it `then`, by default a prompt.
  // Keys are shown as well, so `wanted` is something that they don't hold.
  void Type(const std::string& keys, const std::string& wanted, const std::string& then = "> ") {
    Send(keys);
    std::string shown;
    const auto there = [&] {
      const size_t at = shown.find(wanted);
      return at != std::string::npos && shown.find(then, at + wanted.size()) != std::string::npos;
    };
    while (!there() && ReadSome(&shown)) {
    }
    EXPECT_TRUE(there()) << "typed " << keys << ", wanted " << wanted << ", shown: " << shown;
  }

  // The exit status of the program that `keys` end, or -1.
  int End(const std::string& keys) {
    Send(keys);
    std::string shown;
    while (ReadSome(&shown)) {
    }
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  // A prompt is shown a moment before keys are read one by one.
  void Send(const std::string& keys) {
    if (keys.empty()) return;
    termios mode = {};
    while (tcgetattr(fd_, &mode) == 0 && (mode.c_lflag & ICANON) != 0 &&
           std::chrono::steady_clock::now() < last_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(write(fd_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }

  // False when the program has ended, or has to because patience is at its end.
  bool ReadSome(std::string* shown) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        last_ - std::chrono::steady_clock::now());
    pollfd ready = {fd_, POLLIN, 0};
    if (left.count() <= 0 || poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      kill(child_, SIGKILL);
      return false;
    }
    char buffer[4096];
    const ssize_t n = read(fd_, buffer, sizeof buffer);
    if (n > 0) shown->append(buffer, static_cast<size_t>(n));
    return n > 0;
  }

  int fd_ = -1;
  pid_t child_ = -1;
  const std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now() + kPatience;
};

TEST(AtATerminal, KeysEditLinesAndHistoryIsKeptForTheOwner) {
  const fs::path home = fs::temp_directory_path() / ("lathe_terminal_" + std::to_string(getpid()));
  fs::create_directories(home);
  {
    Terminal t(home);
    t.Type("", ":help lists the commands");
    t.Type("weights: f32[n, 4]\n", "\nweights: f32[n, 4]");
    t.Type(":sh\twei\t\n", "f32[n, 4]");                // completed to `:shape weights`
    t.Type(std::string(kArrowUp) + "\n", "f32[n, 4]");  // the same line again
    t.Type("weights: i32[7]", "i32[7]", "");
    t.Type(kControlC, "");
    t.Type(":shape weights\n", "f32[n, 4]");
    EXPECT_EQ(t.End(kControlD), 0);
  }
  EXPECT_EQ(fs::status(home / ".jit_repl_history").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  {
    Terminal t(home);
    t.Type("", ":help lists the commands");
    t.Type(std::string(kArrowUp) + "\n", "there is no value 'weights'");
    EXPECT_EQ(t.End(kControlD), 0);
  }
  fs::remove_all(home);
}

}  // namespace
