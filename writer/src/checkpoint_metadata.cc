// Reads and writes metadata.json beside checkpoints. The file belongs to the user and may have any
// content: it is read with limits (foreign_json.h), and one that this class has not written is
// never overwritten. It is replaced by a temporary file and a rename, on the training thread, when
// a checkpoint has appeared; a failure is one warning and costs the note only.

#include "checkpoint_metadata.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "checkpoint_files.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/store/local_store.h"
#include "foreign_json.h"

namespace cupel::writer_detail {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFile = "metadata.json";
constexpr const char* kTrainingRun = "training-run";
constexpr const char* kSaved = "latest-global-step-saved";
constexpr const char* kSeen = "latest-global-step-seen";
constexpr const char* kModeStep = "latest-mode-step";
constexpr std::size_t kMostEntries = 10'000;

std::int64_t require_counter(const Json& entry, const char* key, std::int64_t least) {
  const auto found = entry.find(key);
  const auto number = found == entry.end() ? std::nullopt : counter_of(*found, least);
  if (!number) throw UsageError(std::string("an entry has no number \"") + key + '"');
  return *number;
}

// An entry as the run after it sees it. Throws UsageError for what is none; modes that we do not
// know do not matter.
CheckpointMetadata::Restored restored_from(const Json& entry) {
  if (!entry.is_object()) throw UsageError("an entry is not an object");
  CheckpointMetadata::Restored result;
  result.training_run = require_counter(entry, kTrainingRun, 0) + 1;
  result.counters.global = require_counter(entry, kSeen, -1);
  const auto modes = entry.find(kModeStep);
  if (modes == entry.end()) return result;
  if (!modes->is_object())
    throw UsageError(std::string("an entry's ") + kModeStep + " is not an object");
  for (const Mode mode : kAllModes) {
    const std::string name(to_string(mode));
    if (mode != Mode::Global && modes->contains(name))
      result.counters[mode] = require_counter(*modes, name.c_str(), -1);
  }
  return result;
}

Json entry_of(std::int64_t training_run, const StepCounters& seen, std::int64_t saved) {
  Json modes = Json::object();
  for (const Mode mode : kAllModes)
    if (seen[mode] >= 0) modes[std::string(to_string(mode))] = seen[mode];
  return {{kTrainingRun, training_run},
          {kSaved, saved},
          {kSeen, seen.global},
          {kModeStep, std::move(modes)}};
}

fs::path configuration_file() {
  const char* const named = std::getenv("CHECKPOINT_CONFIG_FILE_PATH");
  return named != nullptr && *named != '\0' ? named : "/opt/ml/input/config/checkpointconfig.json";
}

// LocalPath in the configuration file; nothing without the file or the key.
std::optional<std::string> configured_directory() {
  const fs::path file = configuration_file();
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  const std::uintmax_t size = fs::file_size(file);
  if (size > kMostForeignJson) throw UsageError("it is too large");
  std::string text(static_cast<std::size_t>(size), '\0');
  if (!std::ifstream(file, std::ios::binary)
           .read(text.data(), static_cast<std::streamsize>(text.size())))
    throw UsageError("it cannot be read");
  const Json json = parse_foreign_json(text);
  if (!json.is_object()) throw UsageError("it is not an object");
  const auto path = json.find("LocalPath");
  if (path == json.end() || path->is_null()) return std::nullopt;
  if (!path->is_string()) throw UsageError("LocalPath is not text");
  auto directory = path->get<std::string>();
  return directory.empty() ? std::nullopt : std::optional(std::move(directory));
}

// Also when there is no memory for the whole message.
void warn(const char* what, const std::string& where, const char* why) noexcept {
  try {
    log(LogLevel::Warning, std::string(what) + ": " + where + ": " + why);
  } catch (const std::exception&) {
    log(LogLevel::Warning, what);
  }
}

}  // namespace

struct CheckpointMetadata::State {
  explicit State(const std::string& in)
      : store(in), directory(fs::absolute(store.location()).string()), files(directory) {}

  // The entries that are there. Throws for what is not ours to write over.
  Json read() const {
    const auto bytes = store.get(kFile, kMostForeignJson);
    if (!bytes) {
      std::error_code ignored;
      if (fs::exists(fs::symlink_status(fs::path(directory) / kFile, ignored)))
        throw UsageError("it is not a regular file");
      return Json::array();
    }
    Json json = parse_foreign_json({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    if (!json.is_array()) throw UsageError("it is not an array");
    for (const Json& entry : json) static_cast<void>(restored_from(entry));
    return json;
  }

  void give_up(const char* why) noexcept {
    usable = false;
    warn("the checkpoint directory's metadata.json is left as it is", directory, why);
  }

  LocalStore store;
  const std::string directory;
  CheckpointFiles files;
  Restored restored;
  bool usable = true;  // what is there may be written over
  bool warned = false;
};

std::optional<CheckpointMetadata> CheckpointMetadata::from_environment() {
  try {
    if (const auto directory = configured_directory()) return CheckpointMetadata(*directory);
  } catch (const std::exception& error) {
    warn("the checkpoint configuration is left aside", configuration_file().string(), error.what());
  }
  return std::nullopt;
}

CheckpointMetadata::CheckpointMetadata(const std::string& directory)
    : state_(std::make_unique<State>(directory)) {
  try {
    for (const Json& entry : state_->read()) {
      Restored from_entry = restored_from(entry);
      // Of equal ones the last: it was noted by the later run.
      if (from_entry.counters.global >= state_->restored.counters.global)
        state_->restored = from_entry;
    }
  } catch (const Error& error) {
    state_->give_up(error.what());
  }
}

CheckpointMetadata::~CheckpointMetadata() = default;
CheckpointMetadata::CheckpointMetadata(CheckpointMetadata&&) noexcept = default;
CheckpointMetadata& CheckpointMetadata::operator=(CheckpointMetadata&&) noexcept = default;

const CheckpointMetadata::Restored& CheckpointMetadata::restored() const noexcept {
  return state_->restored;
}

void CheckpointMetadata::look(const StepCounters& seen, std::int64_t latest_saved_global) noexcept {
  State& s = *state_;
  if (!s.usable) return;
  try {
    if (!s.files.changed()) return;
    Json entries;
    try {
      entries = s.read();  // another process may have added to them
    } catch (const UsageError& error) {
      return s.give_up(error.what());
    }
    entries.push_back(entry_of(s.restored.training_run, seen, latest_saved_global));
    if (entries.size() > kMostEntries)
      entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(kMostEntries));
    const std::string text = entries.dump(2, ' ', true, Json::error_handler_t::replace) + '\n';
    s.store.put(kFile, std::as_bytes(std::span(text)));
  } catch (const std::exception& error) {
    if (!std::exchange(s.warned, true))
      warn("a checkpoint was not noted", s.directory, error.what());
  }
}

}  // namespace cupel::writer_detail
