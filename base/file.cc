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
#include "base/memory.h"
#include "base/status.h"

namespace softlookup {
namespace {

// The most that is read from a pipe or a device, which may never end.
constexpr size_t kMostFromStream = size_t{1} << 28;

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

absl::Status WriteAll(FileDescriptor& file,
                      absl::Span<const absl::string_view> pieces,
                      const std::string& path) {
  for (absl::string_view piece : pieces) {
    while (!piece.empty()) {
      const ssize_t written = ::write(file.get(), piece.data(), piece.size());
      if (written < 0) {
        if (errno == EINTR) continue;
        return SystemError(errno, "write", path);
      }
      piece.remove_prefix(static_cast<size_t>(written));
    }
  }
  // A device or a pipe has nothing to flush to (EINVAL, or EROFS).
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != EROFS) {
    return SystemError(errno, "flush", path);
  }
  if (!file.Close()) return SystemError(errno, "close", path);
  return absl::OkStatus();
}

// Opens a new file beside `path` for writing, and sets its name. The name
// does not contain the target's: that may be as long as names can be.
int OpenTemporary(const std::string& path, std::string& temporary) {
  const std::string directory = path.substr(0, path.find_last_of('/') + 1);
  for (int attempt = 0;; ++attempt) {
    temporary = absl::StrCat(directory, ".softlookup.", ::getpid(), ".",
                             attempt, ".tmp");
    const int descriptor = ::open(
        temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
}

// Creates `target`, or replaces it where `existing` is its status. Errors name
// `path`, by which the caller knows it.
absl::Status ReplaceFile(const std::string& path, const std::string& target,
                         const struct stat* existing,
                         absl::Span<const absl::string_view> pieces) {
  if (existing != nullptr) {
    // Renaming over a file does not ask whether it may be written.
    FileDescriptor probe(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
    if (probe.get() < 0) return SystemError(errno, "write", path);
  }
  std::string temporary;
  FileDescriptor file(OpenTemporary(target, temporary));
  if (file.get() < 0) return SystemError(errno, "write", path);
  absl::Status status;
  if (existing != nullptr &&
      ::fchmod(file.get(), existing->st_mode & 07777) != 0) {
    status = SystemError(errno, "set the mode of", path);
  }
  if (status.ok()) status = WriteAll(file, pieces, path);
  if (status.ok() && ::rename(temporary.c_str(), target.c_str()) != 0) {
    status = SystemError(errno, "write", path);
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError(errno, "open", path);
  struct stat status;
  if (::fstat(file.get(), &status) != 0) {
    return SystemError(errno, "open", path);
  }
  const bool regular = S_ISREG(status.st_mode);
  if (regular) {
    SOFTLOOKUP_RETURN_IF_ERROR(
        CheckMemory(absl::StrCat(path, ": reading it"), status.st_size));
  }
  // One byte more than the file has finds its end in the same read.
  std::string content(regular ? status.st_size + 1 : 1 << 16, '\0');
  size_t size = 0;
  while (true) {
    const ssize_t got =
        ::read(file.get(), content.data() + size, content.size() - size);
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError(errno, "read", path);
    }
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (!regular && size > kMostFromStream) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": no regular file, and more than ",
                       kMostFromStream, " bytes come from it"));
    }
    if (size == content.size()) content.resize(2 * size);
  }
  content.resize(size);
  return content;
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content) {
  return WriteFileAtomically(path, absl::MakeConstSpan(&content, 1));
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::Span<const absl::string_view> pieces) {
  struct stat existing;
  if (::stat(path.c_str(), &existing) != 0) {
    return ReplaceFile(path, path, nullptr, pieces);
  }
  if (S_ISDIR(existing.st_mode)) return SystemError(EISDIR, "write", path);
  if (S_ISREG(existing.st_mode)) {
    // A symbolic link stays, and the file that it leads to is replaced.
    std::error_code error;
    const std::string target = std::filesystem::canonical(path, error);
    return ReplaceFile(path, error ? path : target, &existing, pieces);
  }
  // A device or a pipe (/dev/null, /dev/full): renaming over it would replace
  // it.
  FileDescriptor device(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (device.get() < 0) return SystemError(errno, "open", path);
  return WriteAll(device, pieces, path);
}

absl::Status CheckWritable(const std::string& path) {
  struct stat existing;
  std::string target = path;
  if (::stat(path.c_str(), &existing) == 0) {
    if (S_ISDIR(existing.st_mode)) return SystemError(EISDIR, "write", path);
    if (!S_ISREG(existing.st_mode)) return absl::OkStatus();
    FileDescriptor probe(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (probe.get() < 0) return SystemError(errno, "write", path);
    std::error_code error;
    const std::string real = std::filesystem::canonical(path, error);
    if (!error) target = real;
  }
  std::string temporary;
  FileDescriptor file(OpenTemporary(target, temporary));
  if (file.get() < 0) return SystemError(errno, "write", path);
  ::unlink(temporary.c_str());
  return absl::OkStatus();
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::is_regular_file(a, error) &&
         std::filesystem::equivalent(a, b, error);
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
