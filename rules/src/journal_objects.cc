// Results in objects of a store. Every write puts a whole object, so lines are collected in memory,
// for longer the more there are; as with files, lines are there before the state covers them.
//
// Objects cannot be locked. Runners of one machine respect the lock of a local file. Among runners
// of several machines, the one that began last owns the objects: a runner reads the state before it
// writes, and ends with StoreError where the state is no longer its own. Only the thread of run()
// writes.

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "claims.h"
#include "cupel/core/error.h"
#include "cupel/core/new_file.h"
#include "cupel/trial/text_object.h"
#include "file_handle.h"
#include "journal_place.h"
#include "process_lock.h"

namespace cupel::rules_detail {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostStateBytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostLineBytes = std::uint64_t{1} << 30U;
// With so many bytes of lines twice as long is waited, with twice as many three times.
constexpr std::uint64_t kBytesPerInterval = std::uint64_t{4} << 20U;

fs::path state_directory() {
  const auto from = [](const char* variable) {
    const char* const text = std::getenv(variable);
    return fs::path(text == nullptr ? "" : text);
  };
  if (const fs::path state = from("XDG_STATE_HOME"); !state.empty()) return state / "cupel/watch";
  if (const fs::path home = from("HOME"); !home.empty()) return home / ".local/state/cupel/watch";
  throw UsageError("a runner whose results are far away needs HOME or XDG_STATE_HOME to be set");
}

// A file of this machine that belongs to an object.
std::string local_path(const std::string& location, const char* suffix) {
  return (state_directory() / plain_name(location)).string() + suffix;
}

void make_directory(const fs::path& path) {
  if (!make_directories(path.string(), FileAccess::Private))
    throw StoreError(path.string(), false,
                     "cannot be made: " + std::generic_category().message(errno));
}

// The path, below a directory that is there.
const std::string& with_directory(const std::string& path) {
  make_directory(fs::path(path).parent_path());
  return path;
}

class JournalInObjects final : public JournalPlace {
 public:
  JournalInObjects(TextObject lines, std::chrono::milliseconds interval)
      : lines_(std::move(lines)),
        interval_(interval),
        lock_path_(local_path(lines_.location(), ".lock")),
        lock_(open_or_create_file(AT_FDCWD, with_directory(lock_path_).c_str(), O_RDWR | O_NOFOLLOW,
                                  FileAccess::Private)) {
    if (!lock_) throw StoreError(lock_path_, false, "cannot be opened");
    lock_for_runner(lock_, lock_path_, lines_.location());
    text_ = lines_.read(kMostLineBytes).value_or("");
  }

  std::uint64_t size() const override { return text_.size(); }

  std::optional<std::string> read(std::string_view suffix) const override {
    return lines_.with_suffix(suffix).read(kMostStateBytes);
  }

  // What is cut off stays in the object until something is put in its place.
  void cut(std::uint64_t size) override { text_.resize(size); }

  void append(std::string_view lines) override {
    const std::size_t before = text_.size();
    if (before + lines.size() > kMostLineBytes)
      throw StoreError(lines_.location(), false, "it holds as many lines as it can");
    text_ += lines;
    try {
      lines_.write(text_);
    } catch (...) {
      text_.resize(before);
      throw;
    }
  }

  void replace(std::string_view suffix, std::string_view text) override {
    lines_.with_suffix(suffix).write(text);
  }

  void require_ours(std::string_view runner) const override {
    const std::optional<std::string> state = read(kStateSuffix);
    if (state && state->find(runner) == std::string::npos)
      throw UsageError("another runner, of another machine perhaps, now writes its lines to " +
                       lines_.location());
  }

  std::chrono::milliseconds pause() const noexcept override {
    return interval_ * static_cast<std::int64_t>(1 + text_.size() / kBytesPerInterval);
  }

 private:
  TextObject lines_;
  const std::chrono::milliseconds interval_;
  const std::string lock_path_;
  const FileHandle lock_;
  std::string text_;
};

bool is_object(const RunnerOptions& options) {
  return options.out_store != nullptr || TextObject::is_location(options.out);
}

TextObject object_of(const RunnerOptions& options, const StoreSchemes& schemes) {
  return options.out_store ? TextObject(options.out_store, options.out)
                           : TextObject(options.out, schemes);
}

}  // namespace

std::unique_ptr<JournalPlace> open_journal(const RunnerOptions& options,
                                           const StoreSchemes& schemes) {
  if (is_object(options))
    return std::make_unique<JournalInObjects>(object_of(options, schemes), options.out_interval);
  return journal_in_files(options.out);
}

std::string claims_directory_of(const RunnerOptions& options, const StoreSchemes& schemes) {
  if (!is_object(options)) return options.out + ".actions";
  std::string path = local_path(object_of(options, schemes).location(), ".actions");
  make_directory(path);  // the runner before this one may have had another machine
  return path;
}

}  // namespace cupel::rules_detail
