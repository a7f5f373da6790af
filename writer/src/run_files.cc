// Who writes the run, and what becomes of a run that is already there.
//
// A finished run is refused, replaced or continued, as the options say; an unfinished one is
// continued by a new attempt. All of that happens in the constructor, before uploads begin: where
// the run is delivered to a remote store, it reads and removes in the spool and in the remote store
// alike. Afterwards only the local run is written. The training thread runs all of it. A failure of
// the constructor keeps the hook from saving; a full spool costs the file that finds no room.

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
#include "cupel/delivery/end_of_run.h"
#include "cupel/delivery/seal_segments.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "settled_options.h"

namespace cupel::writer_detail {
namespace {

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
}

std::string random_run_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 16; ++i) name += hexadecimal_digit(random() & 0xfU);
  return name;
}

// Removes the files of all workers. The index goes first: without it no reader sees the rest.
void remove_run(Store& store) {
  for (const std::string_view prefix :
       {kIndexPrefix, kEventsPrefix, kEndedPrefix, kCollectionsPrefix}) {
    for (const ObjectInfo& object : store.list(prefix)) store.remove(object.key);
  }
  store.remove(kEndMarker);
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

void refuse_finished_run(const Store& store, Existing existing) {
  if (existing != Existing::Refuse || !store.stat(kEndMarker)) return;
  throw OutDirError(
      "out_dir already holds a finished run; choose another, or set existing to Replace or "
      "Continue: " +
      store.location());
}

RunFiles::RunFiles(const Stores& stores, const std::string& directory, const HookOptions& options,
                   WorkerOrder order)
    : store_(stores.run),
      events_(stores.events),
      worker_(options.worker),
      num_workers_(options.include_workers == "all" ? options.num_workers.value_or(1) : 1) {
  check_worker_name(worker_);
  if (!directory.empty())
    lock_ = WorkerLock::acquire(directory, worker_, directory, FileAccess::Umask);
  settle_existing_run(stores.at_start, options.existing, order);
}

void RunFiles::settle_existing_run(Store& store, Existing existing, WorkerOrder order) {
  refuse_finished_run(store, existing);
  if (existing == Existing::Replace) {
    // The other workers of a run may be alive, and their files are theirs to replace.
    if (num_workers_ == 1) {
      remove_run(store);
    } else {
      remove_own_segments(store);
    }
  }
  store.remove(kEndMarker);
  if (worker_ == kChief && order == WorkerOrder::ChiefFirst) {
    for (const ObjectInfo& object : store.list(kEndedPrefix)) store.remove(object.key);
  } else {
    store.remove(ended_key(worker_));
  }
  // No worker was asked to stop before the chief began.
  if (worker_ == kChief || num_workers_ == 1) store.remove(kStopFile);

  for (const ObjectInfo& object : store.list(kCollectionsPrefix)) {
    const auto worker = parse_collections_key(object.key);
    const auto bytes =
        worker ? store.get(object.key, format_limits().collections_file) : std::nullopt;
    if (!bytes) continue;
    const CollectionsFile file = decode_collections_file(object.key, *bytes);
    run_ = file.run;
    if (*worker == worker_) attempt_ = file.attempt + 1;
  }
  if (attempt_ == 0) attempt_ = first_unused_attempt(store);
  if (attempt_ == std::numeric_limits<std::int32_t>::max())
    throw UsageError("the run has no room for another attempt of " + worker_ + ": " +
                     store.location());
  if (run_.empty()) run_ = random_run_name();
}

// After a power failure, segments may be there without the collections file of their attempt.
std::int32_t RunFiles::first_unused_attempt(const Store& store) const {
  std::int32_t attempt = 0;
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    for (const ObjectInfo& object : store.list(prefix)) {
      const auto segment = segment_of(object.key);
      // The greatest number has no successor.
      if (segment && segment->worker == worker_ && segment->attempt < INT32_MAX - 1)
        attempt = std::max(attempt, segment->attempt + 1);
    }
  }
  return attempt;
}

// The collections file stays until it is written anew: the number of the next attempt follows from
// it, so that no key is used twice while others may be reading the run.
void RunFiles::remove_own_segments(Store& store) {
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    for (const ObjectInfo& object : store.list(prefix)) {
      const auto segment = segment_of(object.key);
      if (segment && segment->worker == worker_) store.remove(object.key);
    }
  }
}

std::vector<std::byte> RunFiles::collections_file(const Collections& collections,
                                                  const StepCounters& at_close,
                                                  std::int64_t left_out) const {
  CollectionsFile file{num_workers_, run_, worker_, attempt_, collections};
  for (const Mode mode : kAllModes)
    if (at_close[mode] >= 0) file.steps.emplace(mode, at_close[mode]);
  file.joined_left_out = left_out;
  return encode_collections_file(file);
}

void RunFiles::write_collections(std::span<const std::byte> file, Durability durability,
                                 bool waits_for_room) {
  const auto put = [&] { store_.put(collections_key(worker_), file, durability); };
  if (events_ != nullptr && waits_for_room) {
    events_->room_for(file.size(), put);
  } else {
    put();
  }
  if (events_ != nullptr) events_->collections_changed();
}

void RunFiles::write_end() {
  const auto write = [this] { cupel::write_end(store_, worker_, num_workers_); };
  if (events_ == nullptr) return write();
  events_->room_for(0, write);
  events_->ended();
}

void RunFiles::take_back_end() { remove_end(store_, worker_, num_workers_); }

}  // namespace cupel::writer_detail
