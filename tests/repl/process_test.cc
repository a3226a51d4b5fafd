// The executable: where its text comes from, what it exits with, and that it takes turns on a pipe.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const char kProgram[] = LATHE_BINARY_DIR "/repl/jit-repl";

struct Outcome {
  std::string out;
  int code = -1;
};

// Runs `jit-repl arguments` by the shell, errors among the output.
Outcome Launch(const std::string& arguments) {
  Outcome outcome;
  std::FILE* pipe = popen((std::string(kProgram) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    outcome.out.append(buffer, n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

class Script : public ::testing::Test {
 protected:
  Script()
      : path_(std::filesystem::temp_directory_path() /
              ("lathe_repl_" + std::to_string(getpid()) + ".lathe")) {}
  ~Script() override { std::filesystem::remove(path_); }
  std::string Write(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return path_.string();
  }
  std::filesystem::path path_;
};

TEST_F(Script, GoesOnAfterAFaultAndExitsWithOne) {
  const std::string good = "x: f32[n]\ny = x + 1\n:shape y\n";
  EXPECT_EQ(Launch(Write(good)).out, "f32[n]\n");
  EXPECT_EQ(Launch(Write(good)).code, 0);
  const Outcome bad = Launch(Write("x: f32[n]\nbad bad\n:shape x"));
  EXPECT_EQ(bad.out, path_.string() + ":2:1: error: there is no value 'bad'\nf32[n]\n");
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(Launch("--json " + Write("bad")).code, 1);
  EXPECT_EQ(Launch(Write("")).code, 0);
  EXPECT_EQ(Launch(Write("x: f32[n]\n:quit\nbad")).code, 0);
}

TEST_F(Script, TakesBinaryGarbageAndOneLongLine) {
  std::string garbage;
  for (unsigned i = 0; i < 100'000; ++i) garbage += static_cast<char>(i * 2654435761u >> 13);
  EXPECT_EQ(Launch("--json " + Write(garbage)).code, 1);
  std::string sum = "1";
  while (sum.size() < 1 << 20) sum += "+1";
  EXPECT_EQ(Launch(Write("y = " + sum + "\n:shape y")).out, "i64[]\n");
}

TEST(Program, TakesTextsByOptionAndPipe) {
  EXPECT_EQ(Launch("-e 'x: f32[2]; :shape x'").out, "f32[2]\n");
  EXPECT_EQ(Launch("-e 'x: f32[2]' -e ':shape x'").out, "f32[2]\n");
  EXPECT_EQ(Launch("-e 'bad'").code, 1);
  EXPECT_EQ(Launch("< /dev/null").code, 0);
  const Outcome piped = Launch("--json <<'END'\nx: f32[n,\n 2]\n:shape x\nbad\nEND");
  EXPECT_THAT(piped.out, HasSubstr("\"shape\":\"f32[n, 2]\""));
  EXPECT_THAT(piped.out, HasSubstr("\"at\":\"4:1\""));
  EXPECT_EQ(piped.code, 1);
}

TEST(Program, KnowsItsOptions) {
  EXPECT_THAT(Launch("--help").out, StartsWith("usage: jit-repl"));
  EXPECT_EQ(Launch("--help").code, 0);
  EXPECT_THAT(Launch("--version").out, StartsWith("jit-repl "));
  for (const char* wrong : {"--frob", "-e", "--threads 0", "--threads=x", "--memory 1Gib",
                            "/no/such/file.lathe", "a.lathe b.lathe", "a.lathe -e x", "/"}) {
    const Outcome outcome = Launch(wrong);
    EXPECT_EQ(outcome.code, 2) << wrong << ": " << outcome.out;
    EXPECT_THAT(outcome.out, StartsWith("jit-repl: ")) << wrong;
  }
  EXPECT_EQ(Launch("--threads 1 --memory=64MiB -e 'x: f32[n]; y = x + 1; :run y n=2'").code, 0);
}

TEST(Program, AnswersEachLineOfAPipeBeforeTheNext) {
  int to[2], from[2];
  ASSERT_EQ(pipe(to), 0);
  ASSERT_EQ(pipe(from), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (int fd : {to[0], to[1], from[0], from[1]}) close(fd);
    execl(kProgram, kProgram, "--json", nullptr);
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  std::FILE* answers = fdopen(from[0], "r");
  auto ask = [&](const std::string& line) {
    EXPECT_EQ(write(to[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
    char buffer[65536] = "";
    EXPECT_NE(std::fgets(buffer, sizeof buffer, answers), nullptr);
    return nlohmann::json::parse(buffer, nullptr, false);
  };
  EXPECT_EQ(ask("x: f32[n]\n")["kind"], "input");
  EXPECT_EQ(ask("y = x + 1\n")["kind"], "value");
  EXPECT_TRUE(ask("y = nothing\n").contains("error"));
  EXPECT_EQ(ask(":run y n=2\n")["outputs"][0]["shape"], nlohmann::json({2}));
  EXPECT_EQ(ask(":quit\n")["quit"], true);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 1);
  std::fclose(answers);
  close(to[1]);
}

}  // namespace
