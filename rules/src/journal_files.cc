// Results in local files: FILE, FILE.state and FILE.status.json.
//
// Lines are appended; state and status are written beside and renamed. A lock on FILE keeps a
// second runner away. Only the thread of run() writes. An error of the file system is a StoreError,
// which ends run().

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/new_file.h"
#include "file_handle.h"
#include "journal_place.h"
#include "process_lock.h"

namespace cupel::rules_detail {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20U;

[[noreturn]] void fail(const std::string& path, const char* what) {
  const int number = errno;
  throw StoreError(path, false, std::string(what) + ": " + std::strerror(number));
}

std::uint64_t regular_size(int file, const std::string& path) {
  struct ::stat status {};
  if (::fstat(file, &status) != 0) fail(path, "cannot be looked at");
  if (!S_ISREG(status.st_mode)) throw UsageError("not a regular file: " + path);
  return static_cast<std::uint64_t>(status.st_size);
}

class JournalInFiles final : public JournalPlace {
 public:
  explicit JournalInFiles(std::string path)
      : path_(std::move(path)),
        file_(open_or_create_file(AT_FDCWD, path_.c_str(), O_RDWR, FileAccess::Private)) {
    if (!file_) fail(path_, "cannot be opened");
    lock_for_runner(file_, path_, path_);
    size_ = regular_size(file_.get(), path_);  // after the lock: what it is has come to rest
  }

  std::uint64_t size() const override { return size_; }

  std::optional<std::string> read(std::string_view suffix) const override {
    const std::string path = path_ + std::string(suffix);
    const FileHandle file(path, O_RDONLY | O_NONBLOCK);
    if (!file) {
      if (errno == ENOENT) return std::nullopt;
      fail(path, "cannot be opened");
    }
    const std::uint64_t size = regular_size(file.get(), path);
    if (size > kMostBytes) throw FormatError(path, 0, "this is too large for a runner's state");
    std::string text(size, '\0');
    std::size_t got = 0;
    while (got < text.size()) {
      const ::ssize_t part = ::read(file.get(), text.data() + got, text.size() - got);
      if (part < 0) {
        if (errno == EINTR) continue;
        fail(path, "cannot be read");
      }
      if (part == 0) break;
      got += static_cast<std::size_t>(part);
    }
    text.resize(got);
    return text;
  }

  void cut(std::uint64_t size) override {
    if (size < size_ && ::ftruncate(file_.get(), static_cast<::off_t>(size)) != 0)
      fail(path_, "cannot be cut");
    size_ = size;
    if (::lseek(file_.get(), 0, SEEK_END) < 0) fail(path_, "cannot be written");
  }

  void append(std::string_view lines) override {
    if (!write_all(file_.get(), std::as_bytes(std::span(lines)))) fail(path_, "cannot be written");
    size_ += lines.size();
  }

  void replace(std::string_view suffix, std::string_view text) override {
    const std::string path = path_ + std::string(suffix);
    TemporaryFile file(AT_FDCWD, path, FileAccess::Private);
    if (file.descriptor() < 0) fail(file.name(), "cannot be opened");
    if (!write_all(file.descriptor(), std::as_bytes(std::span(text))) || !file.close())
      fail(file.name(), "cannot be written");
    if (!file.rename_to(path)) fail(path, "cannot be replaced");
  }

  void require_ours(std::string_view /*runner*/) const override {}  // the lock sees to it
  std::chrono::milliseconds pause() const noexcept override { return {}; }

 private:
  const std::string path_;
  const FileHandle file_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<JournalPlace> journal_in_files(const std::string& path) {
  return std::make_unique<JournalInFiles>(path);
}

}  // namespace cupel::rules_detail
