#include "runner_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"

namespace cupel::runner_detail {
namespace {

constexpr std::uint64_t kMostStateBytes = std::uint64_t{64} << 20U;

[[noreturn]] void fail(const std::string& path, const char* what) {
  const int number = errno;
  throw StoreError(path, false, std::string(what) + ": " + std::strerror(number));
}

class FileHandle {
 public:
  explicit FileHandle(int number) noexcept : number_(number) {}
  ~FileHandle() {
    if (number_ >= 0) ::close(number_);
  }
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  int get() const noexcept { return number_; }

 private:
  int number_;
};

void write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ::ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail(path, "cannot be written");
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Whether the file's lock could be had. A command that a killed runner was just beginning holds it
// for a moment.
bool lock(int file, const std::string& path) {
  constexpr auto kPatience = std::chrono::seconds(1);
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) fail(path, "cannot be locked");
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

std::uint64_t regular_size(int file, const std::string& path) {
  struct ::stat status {};
  if (::fstat(file, &status) != 0) fail(path, "cannot be looked at");
  if (!S_ISREG(status.st_mode)) throw UsageError("not a regular file: " + path);
  return static_cast<std::uint64_t>(status.st_size);
}

// Nothing if there is no such file.
std::optional<std::string> read_file(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail(path, "cannot be opened");
  }
  const std::uint64_t size = regular_size(file.get(), path);
  if (size > kMostStateBytes) throw FormatError(path, 0, "this is too large for a runner's state");
  std::string text(size, '\0');
  std::size_t got = 0;
  while (got < text.size()) {
    const ::ssize_t read = ::read(file.get(), text.data() + got, text.size() - got);
    if (read < 0) {
      if (errno == EINTR) continue;
      fail(path, "cannot be read");
    }
    if (read == 0) break;
    got += static_cast<std::size_t>(read);
  }
  text.resize(got);
  return text;
}

}  // namespace

RunnerJournal::RunnerJournal(std::string path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (file_ < 0) fail(path_, "cannot be opened");
  try {
    if (!lock(file_, path_)) throw UsageError("another runner is writing its lines to " + path_);
    size_ = regular_size(file_, path_);  // after the lock: what it is has come to rest
    const std::string state_path = path_ + ".state";
    if (const auto text = read_file(state_path))
      found_ = parse_runner_state(*text, state_path);
    else if (size_ > 0)
      throw UsageError(path_ + " is there, and " + state_path +
                       " is not: it is not this runner's to write; remove it or choose another");
  } catch (...) {
    ::close(file_);
    throw;
  }
}

RunnerJournal::~RunnerJournal() { ::close(file_); }

void RunnerJournal::begin() {
  const std::uint64_t told = found_ ? found_->bytes : 0;
  if (size_ < told)
    log(LogLevel::Warning, path_ + " has lost lines: it has " + std::to_string(size_) + " of " +
                               std::to_string(told) + " bytes; new ones are added behind them");
  if (size_ > told) {
    if (::ftruncate(file_, static_cast<::off_t>(told)) != 0) fail(path_, "cannot be cut");
    size_ = told;
  }
  if (::lseek(file_, 0, SEEK_END) < 0) fail(path_, "cannot be written");
}

void RunnerJournal::write() {
  write_all(file_, text_, path_);
  size_ += text_.size();
  text_.clear();
}

void RunnerJournal::commit(RunnerState state) {
  write();
  state.bytes = size_;
  std::string text = to_json(state);
  if (text == last_state_) return;
  replace(".state", text);
  last_state_ = std::move(text);
}

void RunnerJournal::write_status(const std::vector<RuleRecord>& records, const std::string& now,
                                 bool ended) {
  bool changed = status_texts_.empty();
  status_texts_.resize(records.size());
  status_times_.resize(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::string text = status_text(records[i], ended);
    if (text == status_texts_[i]) continue;
    status_texts_[i] = std::move(text);
    status_times_[i] = now;
    changed = true;
  }
  if (changed) replace(".status.json", status_json(records, status_times_, ended));
}

// Readers see the old text or the new one.
void RunnerJournal::replace(const std::string& suffix, std::string_view text) const {
  const std::string path = path_ + suffix;
  const std::string temporary = path + ".tmp";
  {
    const FileHandle file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) fail(temporary, "cannot be opened");
    write_all(file.get(), text, temporary);
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail(path, "cannot be replaced");
}

}  // namespace cupel::runner_detail
