#include "codegen/cuda/host_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

extern char** environ;

namespace lathe::cuda {

namespace fs = std::filesystem;

namespace {

// Integers wrap and nothing is contracted, as on the GPU.
constexpr const char* kFlags[] = {"-std=c++17",           "-O1",   "-fwrapv", "-ffp-contract=off",
                                  "-fno-strict-aliasing", "-fPIC", "-shared", "-w"};

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Runs a program found in PATH with its output in `log`; its exit status.
absl::StatusOr<int> Spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return absl::UnavailableError(
        absl::StrCat("the C++ compiler ", command[0], " can't be run: ", std::strerror(failed)));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return absl::InternalError("waitpid fails");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string HashOf(const std::string& text) {
  const XXH128_hash_t h = XXH3_128bits(text.data(), text.size());
  return absl::StrCat(absl::Hex(h.high64, absl::kZeroPad16), absl::Hex(h.low64, absl::kZeroPad16));
}

}  // namespace

absl::StatusOr<std::string> CompileForHost(const std::string& program, const std::string& compiler,
                                           const std::string& folder, bool* was_cached) {
  const std::string key = absl::StrCat(compiler, " ", absl::StrJoin(kFlags, " "), "\n", program);
  const std::string stem = (fs::path(folder) / ("lathe_" + HashOf(key))).string();
  const std::string library = stem + ".so";
  std::error_code error;
  *was_cached = fs::exists(library, error);
  if (*was_cached) return library;
  fs::create_directories(folder, error);
  // Others may make the same file at the same time: each writes its own and renames it.
  static std::atomic<int> serial{0};
  const std::string own = absl::StrCat(stem, ".", getpid(), ".", serial++);
  const std::string source = own + ".cc", object = own + ".so", log = own + ".log";
  std::ofstream(source) << program;
  std::vector<std::string> command = {compiler};
  command.insert(command.end(), std::begin(kFlags), std::end(kFlags));
  command.insert(command.end(), {"-o", object, source});
  absl::StatusOr<int> exit = Spawn(command, log);
  if (!exit.ok()) return exit.status();
  if (*exit != 0) {
    return absl::InternalError(absl::StrCat(absl::StrJoin(command, " "), " ends with ", *exit,
                                            ":\n", ReadFile(log).substr(0, 4000)));
  }
  fs::rename(object, library, error);
  if (error) return absl::InternalError(absl::StrCat(library, ": ", error.message()));
  fs::remove(source, error);
  fs::remove(log, error);
  return library;
}

}  // namespace lathe::cuda
