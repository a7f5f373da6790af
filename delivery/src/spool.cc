// The directory of a spool. Files in it are trusted no more than any other files: an address is
// compared with the expected one, links are not followed, and only files whose names are those of
// the worker's run are removed. The object has one thread; the upload threads use its LocalStore.
// Removing is best effort: what stays is found by the next process, and by `cupel sync`.

#include "cupel/delivery/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/new_file.h"
#include "cupel/core/number_text.h"
#include "cupel/delivery/seal_segments.h"
#include "cupel/format/layout.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kAddress = "spool.json";
constexpr std::uint64_t kLongestAddress = 64U << 10U;

const char* variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

std::string default_base() {
  if (const char* const given = variable("CUPEL_SPOOL_DIR")) return given;
  if (const char* const state = variable("XDG_STATE_HOME"))
    return std::string(state) + "/cupel/spool";
  if (const char* const home = variable("HOME"))
    return std::string(home) + "/.local/state/cupel/spool";
  throw UsageError(
      "there is no place for what is to be uploaded: set spool_dir, CUPEL_SPOOL_DIR or HOME");
}

// FNV-1a: the same hash on every machine and in every version.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hexadecimal_text(hash, 16);
}

bool is_worker_name(const std::string& name) {
  try {
    check_worker_name(name);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

bool is_own_file(std::string_view key, const std::string& worker) {
  return key == kAddress || key == lock_name(worker);
}

// Whether a folder is one of those that the keys of a run have.
bool is_folder_of_run(const std::string& folder) {
  return std::ranges::any_of(
      std::array{kIndexPrefix, kEventsPrefix, kCollectionsPrefix, kEndedPrefix},
      [&](std::string_view prefix) {
        return (folder + '/').starts_with(prefix.substr(0, prefix.find('/') + 1));
      });
}

bool is_same(const fs::path& one, const fs::path& other) {
  std::error_code failure;
  return fs::equivalent(one, other, failure);
}

std::vector<std::string> folders_in(const std::string& directory) {
  std::vector<std::string> folders;
  std::error_code failure;
  fs::directory_iterator entry(directory, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    std::error_code ignored;
    if (entry->is_directory(ignored) && !entry->is_symlink(ignored))
      folders.push_back(entry->path().string());
  }
  if (failure && failure != std::errc::no_such_file_or_directory)
    throw StoreError(directory, false, "look into the directory: " + failure.message());
  std::ranges::sort(folders);
  return folders;
}

bool has_address(const std::string& directory) {
  return LocalStore(directory).stat(kAddress).has_value();
}

}  // namespace

std::string Spool::directory_of(const std::string& base, const Destination& destination) {
  check_worker_name(destination.worker);
  const LocalStore root(base.empty() ? default_base() : base);  // knows what "~/" is
  return (fs::absolute(root.location()) / hash_of(destination.url) / destination.worker).string();
}

std::optional<Spool::Destination> Spool::destination_of(const std::string& directory) {
  const auto bytes = LocalStore(directory).get(kAddress, kLongestAddress);
  if (!bytes) return std::nullopt;
  const auto* const text = reinterpret_cast<const char*>(bytes->data());
  const Json json = Json::parse(text, text + bytes->size(), nullptr, false);
  const auto has_text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string();
  };
  if (!has_text("url") || !has_text("worker"))
    throw FormatError(directory + "/" + std::string(kAddress), 0, "it does not say url and worker");
  return Destination{json["url"].get<std::string>(), json["worker"].get<std::string>()};
}

std::vector<std::string> Spool::find(const std::string& directory) {
  if (has_address(directory)) return {directory};
  std::vector<std::string> found;
  const auto look_into = [&](const std::string& folder, const auto& look_deeper) {
    try {
      if (has_address(folder)) {
        found.push_back(folder);
      } else {
        look_deeper(folder);
      }
    } catch (const StoreError&) {  // it may be a spool if its name is that of a worker
      if (is_worker_name(fs::path(folder).filename().string())) found.push_back(folder);
    }
  };
  for (const std::string& folder : folders_in(directory)) {
    look_into(folder, [&](const std::string& upper) {
      for (const std::string& lower : folders_in(upper)) look_into(lower, [](const auto&) {});
    });
  }
  return found;
}

Spool::Spool(const std::string& directory, Destination destination)
    : destination_(std::move(destination)),
      run_(std::make_shared<LocalStore>(directory, WatchMethod::Notify, FileAccess::Private)) {
  check_worker_name(destination_.worker);
  lock_ = WorkerLock::acquire(run_->location(), destination_.worker, destination_.url,
                              FileAccess::Private);
  const auto there = destination_of(run_->location());
  if (there && *there != destination_)
    throw UsageError("the spool is in use for another destination: " + run_->location() +
                     " is of " + there->url + ", " + there->worker);
  run_->hold_directory();
  if (!there) begin();
}

Spool::Spool(Spool&&) noexcept = default;

Spool::~Spool() = default;

void Spool::begin() {
  const std::string text =
      Json{{"url", destination_.url}, {"worker", destination_.worker}}.dump() + '\n';
  run_->put(kAddress, std::as_bytes(std::span(text)));
}

std::string Spool::set_aside(std::string_view what) {
  const fs::path from = directory();
  fs::path to = from;
  for (int number = 1; fs::exists(to); ++number)
    to = from.string() + "-" + std::string(what) + (number > 1 ? "-" + std::to_string(number) : "");
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(from)) entries.push_back(entry.path());
  if (!make_directory(AT_FDCWD, to.c_str(), FileAccess::Private))
    throw StoreError(to.string(), false,
                     "make the directory: " + std::generic_category().message(errno));
  for (const fs::path& entry : entries)
    if (!is_own_file(entry.filename().string(), destination_.worker))
      fs::rename(entry, to / entry.filename());
  return to.string();
}

bool Spool::is_of_run(std::string_view key) const {
  const std::string& worker = destination_.worker;
  const auto segment = segment_of(key);
  return (segment && segment->worker == worker) || key == collections_key(worker) ||
         key == ended_key(worker) || key == kEndMarker || key == kStopFile;
}

// Whether a killed process has left this file in the middle of a put().
bool Spool::is_torn_put(std::string_view key) const {
  if (!key.ends_with(".tmp")) return false;
  for (std::size_t dot; (dot = key.rfind('.')) != std::string_view::npos;) {
    key = key.substr(0, dot);
    if (key == kAddress || is_of_run(key)) return true;
  }
  return false;
}

Spool::Content Spool::content() const {
  Content content;
  std::error_code failure;
  const fs::path place = directory();
  fs::recursive_directory_iterator entry(place, fs::directory_options::skip_permission_denied,
                                         failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    std::error_code ignored;
    const fs::file_status status = entry->symlink_status(ignored);
    std::string key = entry->path().lexically_relative(place).generic_string();
    if (fs::is_directory(status)) {
      content.folders.push_back(std::move(key));
    } else if (fs::is_regular_file(status) && (is_of_run(key) || is_torn_put(key))) {
      content.of_run.push_back(std::move(key));
    } else if (!is_own_file(key, destination_.worker)) {
      content.foreign.push_back(std::move(key));
    }
  }
  return content;
}

bool Spool::is_empty() const {
  return std::ranges::none_of(run_->list(""),
                              [&](const ObjectInfo& info) { return is_of_run(info.key); });
}

std::vector<std::string> Spool::foreign_files() const {
  std::vector<std::string> files = content().foreign;
  std::ranges::sort(files);
  return files;
}

// The collections file goes last: without it nobody knows whose end marker is still there.
void Spool::clear() noexcept {
  try {
    const fs::path place = directory();
    Content content = this->content();
    std::stable_partition(content.of_run.begin(), content.of_run.end(), [](const std::string& key) {
      return !key.starts_with(kCollectionsPrefix);
    });
    std::error_code ignored;
    for (const std::string& key : content.of_run) fs::remove(place / key, ignored);
    std::ranges::sort(content.folders, std::greater());  // what is within comes first
    for (const std::string& folder : content.folders)
      if (is_folder_of_run(folder)) ::rmdir((place / folder).c_str());
  } catch (const std::exception&) {  // the next process finds what is left
  }
}

void Spool::remove(const std::string& stays) noexcept {
  clear();
  try {
    const fs::path place = directory(), parent = place.parent_path();
    if (!is_same(place, stays) && content().foreign.empty()) {
      std::error_code ignored;
      fs::remove(place / kAddress, ignored);
      lock_->remove_file();
      ::rmdir(place.c_str());
      // Fails while the spool of another worker is in it.
      if (parent.filename() == hash_of(destination_.url) && !is_same(parent, stays))
        ::rmdir(parent.c_str());
    }
  } catch (const std::exception&) {  // the next process finds it
  }
  lock_.reset();
}

}  // namespace cupel
