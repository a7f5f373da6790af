// How a hook comes by its store, and what it does where that cannot append: it writes to a spool,
// and what is in it is uploaded.

#include <algorithm>
#include <iterator>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/store/local_store.h"
#include "cupel/store/open_store.h"
#include "hook_state.h"
#include "note_text.h"

namespace cupel {
namespace {

constexpr std::uint64_t kSegmentsInSpool = 4;  // that it has room for, at least
constexpr int kSegmentsBehind = 3;             // that could have been sealed meanwhile
constexpr auto kSegmentAge = std::chrono::seconds(60);
constexpr auto kSegmentAgeInSpool = std::chrono::seconds(10);

std::int64_t whole_seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

// The store that open_store() finds, or, where somebody else uploads, the spool itself.
void Hook::State::open_store_of_run() {
  if (options.out_dir.empty()) throw UsageError("out_dir is not set");
  const std::string place = expand_out_dir(options.out_dir);
  if (options.s3_sync == S3Sync::Off && place.find("://") != std::string::npos) {
    store = std::make_shared<LocalStore>(
        Spool::directory_of(options.spool_dir, {place, options.worker}));
  } else {
    store = open_store(place, options.schemes);
  }
  owns_store_ = true;
}

void Hook::State::open_spool() {
  const Spool::Destination destination{store->location(), options.worker};
  SpoolOptions spool_options;
  spool_options.bytes = options.spool_bytes;
  spool_options.interrupts_remote = owns_store_;
  spool_options.upload.parallelism = options.upload_parallelism;
  spool = std::make_shared<SpooledStore>(
      store, Spool(Spool::directory_of(options.spool_dir, destination), destination),
      std::move(spool_options), options.existing == Existing::Replace);
}

std::chrono::milliseconds Hook::State::segment_age() const {
  return options.segment_age.value_or(spool ? kSegmentAgeInSpool : kSegmentAge);
}

SegmentPolicy Hook::State::segment_policy(std::uint32_t collections_crc32c) const {
  SegmentPolicy policy{
      files->run(),       files->worker(), files->attempt(),      files->collections_key(),
      collections_crc32c, index_columns(), options.segment_bytes, segment_age(),
      options.sync};
  if (spool) {
    policy.segment_bytes = std::min(policy.segment_bytes, options.spool_bytes / kSegmentsInSpool);
    policy.is_short_of_room = [this] { return spool->is_nearly_full(); };
    policy.finish_segment = [this](const SegmentName& name) { spool->finish_segment(name); };
  }
  return policy;
}

// Steps for which the spool had room when they began, and none when they were written.
void Hook::State::count_lost() {
  if (LostSteps news = writer->take_lost_steps(); news.count > 0) {
    {
      const MutexLock lock(mutex_);
      notes_.insert(notes_.begin(), std::make_move_iterator(news.notes.begin()),
                    std::make_move_iterator(news.notes.end()));
    }
    report.steps_dropped += news.count;
    if (lost_.count == 0) {
      lost_.first = news.first;
      complain_later(
          "the spool is full, and there is nothing to upload that would make room: step " +
          std::to_string(news.first) + " is lost, and those behind it that do not fit");
    }
    lost_.last = news.last;
    lost_.count += news.count;
  }
  // Readers are told when there is room again, since the step that tells it may be lost, too.
  if (lost_.count == 0 || (committed_step <= lost_.last && !closed)) return;
  note_dropped(std::exchange(lost_, {}), kSpoolWasFull);
}

// Tells readers of the run that what they see is old, and when it is not any more.
void Hook::State::note_uploads() {
  const auto now = Clock::now();
  const auto since = spool->waiting_since();
  const auto waited = since ? now - *since : Clock::duration::zero();
  const auto age = segment_age();
  if (!uploads_behind_since_ && waited > kSegmentsBehind * age) {
    uploads_behind_since_ = *since;
    const UploadProgress progress = spool->progress();
    note(note_text({{"kind", "uploads_behind"},
                    {"step", counters.global},
                    {"seconds", whole_seconds(waited)},
                    {"segments", progress.segments_waiting},
                    {"bytes", progress.bytes_waiting},
                    {"why", progress.trouble.empty() ? "the store is slow" : progress.trouble}}));
  } else if (uploads_behind_since_ && waited <= age) {
    note(note_text({{"kind", "uploads_recovered"},
                    {"step", counters.global},
                    {"seconds", whole_seconds(now - *uploads_behind_since_)}}));
    uploads_behind_since_.reset();
  }
}

// Waits until the store has what is in the spool. What it did not take stays there.
void Hook::State::deliver(Clock::time_point until) noexcept {
  if (!spool) return;
  try {
    spool->finish();
    spool->wait_until_uploaded(until);
    const std::string refusal = spool->progress().refusal;
    NotUploaded left = spool->close();
    if (left.why == refusal) left.why.clear();  // that is told anyway
    const MutexLock lock(mutex_);
    for (const std::string& problem : spool->problems()) problems_.push_back(problem);
    if (!refusal.empty()) problems_.push_back("the store refused what was uploaded: " + refusal);
    tell_not_uploaded(left);
  } catch (const std::exception& error) {
    log(LogLevel::Error, error.what());
  }
}

void Hook::State::tell_not_uploaded(const NotUploaded& left) {
  if (left.directory.empty()) return;
  report.steps_not_uploaded = left.steps;
  report.bytes_not_uploaded = left.bytes;
  std::string what = std::to_string(left.steps) + " steps, " + std::to_string(left.bytes) +
                     " bytes" + (left.end ? " and the end of the run" : "");
  what += " are not uploaded to " + spool->location();
  if (!left.why.empty()) what += " (" + left.why + ")";
  what += "; \"cupel sync " + left.directory + "\" does it";
  log(LogLevel::Warning, what);
  problems_.push_back(std::move(what));
}

}  // namespace cupel
