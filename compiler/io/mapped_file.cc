#include "compiler/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace lathe::io {

absl::Status SystemError(int error, const std::string& name, const std::string& what) {
  const std::string text =
      absl::StrCat(name, ": ", what, ": ", std::generic_category().message(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  if (error == ENOMEM || error == EMFILE || error == ENFILE)
    return absl::ResourceExhaustedError(text);
  return absl::InvalidArgumentError(text);
}

absl::StatusOr<MappedFile> MapDescriptor(int fd, const std::string& name, int64_t most_bytes) {
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  struct stat info;
  if (fstat(fd, &info) != 0) return SystemError(errno, name, "can't be examined");
  if (!S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(name, ": not a regular file"));
  if (info.st_size > most_bytes)
    return absl::ResourceExhaustedError(
        absl::StrCat(name, ": has ", info.st_size, " bytes, the limit is ", most_bytes));
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return MappedFile{};
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
  if (data == MAP_FAILED) return SystemError(errno, name, "can't be mapped");
  MappedFile file;
  file.owner = std::shared_ptr<void>(data, [size](void* p) { munmap(p, size); });
  file.bytes = {static_cast<const char*>(data), size};
  return file;
}

absl::StatusOr<MappedFile> MapFile(const std::string& path, int64_t most_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(errno, path, "can't be opened");
  return MapDescriptor(fd, path, most_bytes);
}

absl::Status WriteWhole(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return SystemError(errno, path, "can't be written");
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const int error = errno;
  if (std::fclose(file) != 0) return SystemError(errno, path, "can't be written");
  return written ? absl::OkStatus() : SystemError(error, path, "can't be written");
}

}  // namespace lathe::io
