#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace softlookup {
namespace {

// The status for errno, as "PATH: cannot ACTION: REASON".
absl::Status SystemError(int error_number, absl::string_view action,
                         const std::string& path) {
  const std::string message = absl::StrCat(path, ": cannot ", action, ": ",
                                           std::strerror(error_number));
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case EISDIR:
    case ENAMETOOLONG:
    case EINVAL:
      return absl::InvalidArgumentError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

// Closes a file descriptor when it goes out of scope.
class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

  // Closes now, and says whether that worked: a full disk may be reported
  // only here.
  bool Close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    return ::close(descriptor) == 0;
  }

 private:
  int descriptor_;
};

absl::Status WriteAll(FileDescriptor& file, absl::string_view content,
                      const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = ::write(file.get(), content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno, "write", path);
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (::fsync(file.get()) != 0 && errno != EINVAL) {
    return SystemError(errno, "flush", path);
  }
  if (!file.Close()) return SystemError(errno, "close", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError(errno, "open", path);
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.get(), buffer, sizeof(buffer));
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno, "read", path);
    }
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
  }
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content) {
  struct stat existing;
  const bool exists = ::stat(path.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode)) {
    return SystemError(EISDIR, "write", path);
  }
  if (exists && !S_ISREG(existing.st_mode)) {
    // A device or a pipe (/dev/null, /dev/full) is written in place: renaming
    // over it would replace it.
    FileDescriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.get() < 0) return SystemError(errno, "open", path);
    return WriteAll(device, content, path);
  }
  std::string temporary = absl::StrCat(path, ".tmp.XXXXXX");
  FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) return SystemError(errno, "write", path);
  // mkostemp creates the file for its owner alone; a result file is as
  // readable as any other.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(file.get(), exists ? existing.st_mode & 0777 : 0666 & ~mask);
  absl::Status status = WriteAll(file, content, path);
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError(errno, "write", path);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

absl::Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return SystemError(error.value(), "create directory", path);
  return absl::OkStatus();
}

std::string ResolveUserPath(const std::string& path) {
  const char* caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr || path.empty() || path.front() == '/') return path;
  return absl::StrCat(caller, "/", path);
}

}  // namespace softlookup
