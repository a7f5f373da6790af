#include "run_files.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <random>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "cupel/writer/seal_run.h"

namespace cupel::writer_detail {
namespace {

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

constexpr std::string_view kChief = "worker_0";

std::string random_run_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 16; ++i) name += hexadecimal_digit(random() & 0xfU);
  return name;
}

}  // namespace

std::string expand_out_dir(const std::string& out_dir) {
  std::string result = out_dir;
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> time{};
  const std::size_t length = std::strftime(time.data(), time.size(), "%Y%m%dT%H%M%SZ", &utc);
  replace_all(result, "{time}", std::string(time.data(), length));
  const char* job = std::getenv("TRAINING_JOB_NAME");
  replace_all(result, "{job}", job != nullptr && *job != '\0' ? job : std::to_string(::getpid()));
  return result;
}

RunFiles::RunFiles(Store& store, const std::string& directory, const HookOptions& options)
    : store_(store),
      worker_(options.worker),
      num_workers_(options.include_workers == "all" ? options.num_workers.value_or(1) : 1) {
  check_worker_name(worker_);
  if (!directory.empty()) {
    lock_ = DirectoryLock::try_acquire(directory, lock_name(worker_));
    if (lock_ == nullptr) {
      throw UsageError("another process is writing this run as the same worker: " + directory +
                       ", " + worker_);
    }
  }
  settle_existing_run(options.existing);
}

void RunFiles::settle_existing_run(Existing existing) {
  const bool finished = store_.stat(kEndMarker).has_value();
  if (finished && existing == Existing::Refuse) {
    throw UsageError(
        "out_dir already holds a finished run; choose another, or set existing to Replace or "
        "Continue: " +
        store_.location());
  }
  if (existing == Existing::Replace) {
    // Of a run of several workers the others may be alive, and what they left is theirs to replace.
    if (num_workers_ == 1) {
      remove_run();
    } else {
      remove_own();
    }
  }
  store_.remove(kEndMarker);
  if (worker_ == kChief) {
    // Nobody can have ended before the chief began, nor asked it to stop.
    for (const ObjectInfo& object : store_.list(kEndedPrefix)) store_.remove(object.key);
    store_.remove(kStopFile);
  } else {
    store_.remove(ended_key(worker_));
    if (num_workers_ == 1) store_.remove(kStopFile);
  }

  for (const ObjectInfo& object : store_.list(kCollectionsPrefix)) {
    const auto worker = parse_collections_key(object.key);
    const auto bytes =
        worker ? store_.get(object.key, format_limits().collections_file) : std::nullopt;
    if (!bytes) continue;
    const CollectionsFile file = decode_collections_file(object.key, *bytes);
    run_ = file.run;
    if (*worker == worker_) attempt_ = file.attempt + 1;
  }
  if (attempt_ == 0) attempt_ = first_unused_attempt();
  if (attempt_ == std::numeric_limits<std::int32_t>::max())
    throw UsageError("the run has no room for another attempt of " + worker_ + ": " +
                     store_.location());
  if (run_.empty()) run_ = random_run_name();
}

/// Where the power failed, segments may be there without the collections file that knows them.
std::int32_t RunFiles::first_unused_attempt() const {
  std::int32_t attempt = 0;
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    for (const ObjectInfo& object : store_.list(prefix)) {
      const auto segment =
          SegmentName::parse_index_key(std::string(kIndexPrefix).append(object.key, prefix.size()));
      // Behind the last that can be, nothing comes.
      if (segment && segment->worker == worker_ && segment->attempt < INT32_MAX - 1)
        attempt = std::max(attempt, segment->attempt + 1);
    }
  }
  return attempt;
}

// The index goes first: without it nothing else of the run exists for a reader.
void RunFiles::remove_run() {
  for (const std::string_view prefix :
       {kIndexPrefix, kEventsPrefix, kEndedPrefix, kCollectionsPrefix}) {
    for (const ObjectInfo& object : store_.list(prefix)) store_.remove(object.key);
  }
  store_.remove(kEndMarker);
}

// The collections file stays until it is written anew: attempts are counted on, so that no name is
// used twice while others may be reading the run.
void RunFiles::remove_own() {
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    for (const ObjectInfo& object : store_.list(prefix)) {
      const auto segment = segment_of(object.key);
      if (segment && segment->worker == worker_) store_.remove(object.key);
    }
  }
}

std::string RunFiles::collections_key() const { return cupel::collections_key(worker_); }

std::vector<std::byte> RunFiles::collections_file(const Collections& collections,
                                                  const StepCounters& at_close,
                                                  std::int64_t left_out) const {
  CollectionsFile file{num_workers_, run_, worker_, attempt_, collections};
  for (const Mode mode : kAllModes)
    if (at_close[mode] >= 0) file.steps.emplace(mode, at_close[mode]);
  file.joined_left_out = left_out;
  return encode_collections_file(file);
}

void RunFiles::take_back_end() {
  store_.remove(kEndMarker);
  if (num_workers_ > 1) store_.remove(ended_key(worker_));
}

void RunFiles::write_end() {
  if (num_workers_ > 1) {
    store_.put(ended_key(worker_), {}, Durability::Cached);
    if (static_cast<std::int64_t>(store_.list(kEndedPrefix).size()) < num_workers_) return;
  }
  store_.put(kEndMarker, {}, Durability::Cached);
}

}  // namespace cupel::writer_detail
