#include "compiler/onnx/external_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace lathe::onnx {
namespace {

constexpr int64_t kMostLocationBytes = 4096;  // PATH_MAX

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void Reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

}  // namespace

absl::StatusOr<io::MappedFile> ExternalFiles::Get(const std::string& location) {
  if (const auto it = files_.find(location); it != files_.end()) return it->second;
  const std::string shown = absl::StrCat(
      "external data \"", absl::CHexEscape(location.substr(0, kMostLocationBytes)), "\"");
  auto refuse = [&](const std::string& why) {
    return absl::PermissionDeniedError(absl::StrCat(shown, ": ", why));
  };
  if (folder_.empty()) return refuse("a model that isn't read from a file has no external data");
  if (location.empty()) return refuse("no location is given");
  if (location.size() > kMostLocationBytes) return refuse("the path is too long");
  if (location.find('\0') != std::string::npos) return refuse("the path has a zero byte");
  if (location[0] == '/')
    return refuse("the path is absolute, wanted one below the model's folder");

  std::vector<std::string> names;
  for (absl::string_view name : absl::StrSplit(location, '/')) {
    if (name == "..") return refuse("the path has \"..\", wanted one below the model's folder");
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  if (names.empty()) return refuse("the path names no file");

  // The folder itself is the caller's: it may be reached through links. Each step below it is
  // opened by itself, so that no link is followed and none can be slipped in between check and use.
  Descriptor at(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at.get() < 0) return io::SystemError(errno, folder_, "the model's folder can't be opened");
  for (size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | (last ? O_NONBLOCK : O_DIRECTORY);
    const int fd = openat(at.get(), names[i].c_str(), flags);
    if (fd < 0) {
      const int error = errno;
      struct stat info;
      if (fstatat(at.get(), names[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISLNK(info.st_mode))
        return refuse(absl::StrCat("\"", absl::CHexEscape(names[i]), "\" is a symbolic link"));
      return io::SystemError(error, shown, "can't be opened");
    }
    at.Reset(fd);
  }
  struct stat info;
  if (fstat(at.get(), &info) != 0) return io::SystemError(errno, shown, "can't be examined");
  if (!S_ISREG(info.st_mode)) return refuse("not a regular file");
  if (info.st_nlink > 1) return refuse("the file has a second name (a hard link)");
  absl::StatusOr<io::MappedFile> file = io::MapDescriptor(at.Release(), shown, most_bytes_);
  if (file.ok()) files_[location] = *file;
  return file;
}

}  // namespace lathe::onnx
