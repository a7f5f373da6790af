// The delivery of one worker's run: it connects the spool, the room in it, and the uploader.
//
// Events come from the threads of the writer, one at a time; removals are reported by the threads
// of the uploader. What an earlier process left in the spool is delivered first, so that segments
// come to the remote store in their order. Files of the spool may be damaged: of each attempt, the
// segments behind the first damaged one stay, and the end of the run is not uploaded, because a
// reader takes a run that has ended for whole. Failures of the remote store are retried by the
// uploader; what is not uploaded when deliver() ends stays in the spool for the next process. The
// pointer to the uploader is guarded by a mutex, because any thread may ask for the progress; only
// the thread that calls begin() and deliver() changes it.

#include "cupel/delivery/run_delivery.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/delivery/end_of_run.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "spool_room.h"
#include "store_at_start.h"
#include "uploader.h"

namespace cupel {
namespace {

using delivery_detail::SpoolRoom;
using delivery_detail::StoreAtStart;
using delivery_detail::Uploader;
using Clock = RunDelivery::Clock;

constexpr auto kPollInterval = std::chrono::milliseconds(50);

// Whether segments of the collections file `ours` belong to the run of `theirs`. Workers that begin
// at the same time may each choose a name of the run, and agree when they begin again.
bool is_same_run(const CollectionsFile& ours, const CollectionsFile& theirs) {
  return ours.run == theirs.run || (ours.num_workers > 1 && theirs.attempt < ours.attempt);
}

}  // namespace

class RunDelivery::State {
 public:
  State(std::shared_ptr<Store> remote_store, Spool spool_of_run,
        RunDeliveryOptions delivery_options);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void begin(const std::function<bool()>& goes_on);
  void sealed(const SegmentName& name, const SealReport& report);
  void collections_changed();
  NotUploaded deliver(Clock::time_point until, const std::function<bool()>& goes_on);
  UploadProgress progress() const;
  std::optional<Clock::time_point> waiting_since() const;
  void halt() noexcept { *halted_ = true; }
  bool has_ended() const noexcept { return ended && !is_superseded; }
  std::vector<std::string> problems_so_far() const;

  const std::shared_ptr<Store> remote;
  Spool spool;
  const RunDeliveryOptions options;
  const std::string worker;
  SpoolRoom room;
  StoreAtStart at_start;
  SealReport sealing;
  bool ended = false;          // the worker's part of the run
  bool is_superseded = false;  // a later attempt has continued the run elsewhere

 private:
  LocalStore& run() { return spool.run(); }
  void seal_left_segments();
  void compare_with_remote();
  void set_aside(const std::string& run_name);
  std::size_t add_left_segments();
  void add(const SegmentName& segment, Uploader::Origin origin) CUPEL_REQUIRES(mutex_);
  void add_problem(std::string text);
  void add_damage(const SealReport& report);
  void finish();
  // For the thread that begins and delivers.
  Uploader& uploader() const;
  void end_uploading(bool is_finished);
  NotUploaded what_is_left();

  std::optional<StoreFull> no_room_;  // to seal a segment that an earlier process left
  bool uploads_end_ = false;          // since finish()
  bool has_begun_ = false;
  // The threads of the uploader share the flag. It is set without a lock, which the thread that
  // halt() interrupts may hold.
  const std::shared_ptr<std::atomic<bool>> halted_ = std::make_shared<std::atomic<bool>>(false);
  mutable Mutex mutex_;
  std::unique_ptr<Uploader> uploader_ CUPEL_GUARDED_BY(mutex_);  // from begin() to deliver()
  UploadProgress last_progress_ CUPEL_GUARDED_BY(mutex_);  // of the uploader that deliver() ended
  bool is_finished_ CUPEL_GUARDED_BY(mutex_) = false;      // nothing is added any more
  std::vector<std::string> problems_ CUPEL_GUARDED_BY(mutex_);
  bool has_gaps_ CUPEL_GUARDED_BY(mutex_) = false;  // some segments are never uploaded
};

RunDelivery::State::State(std::shared_ptr<Store> remote_store, Spool spool_of_run,
                          RunDeliveryOptions delivery_options)
    : remote(std::move(remote_store)),
      spool(std::move(spool_of_run)),
      options(std::move(delivery_options)),
      worker(spool.destination().worker),
      room(spool.shared_run(), collections_key(worker), options.spool_bytes, options.disk_reserve),
      at_start(spool.shared_run(), remote) {
  seal_left_segments();
  compare_with_remote();
}

RunDelivery::State::~State() {
  if (has_begun_) return;
  try {
    if (spool.is_empty()) spool.remove(options.stays);  // it was made for nothing
  } catch (const StoreError&) {                         // the next process finds it
  }
}

// Without room for a footer, the segment is sealed by begin().
void RunDelivery::State::seal_left_segments() {
  SealReport report;
  no_room_.reset();
  try {
    seal_worker(run(), worker, report, [this](const SegmentName& name) {
      return remote->stat(name.index_key()).has_value();
    });
  } catch (const StoreFull& full) {
    no_room_ = full;
  }
  add_damage(report);
  sealing.sealed += report.sealed;
  sealing.removed += report.removed;
  sealing.damaged = std::move(report.damaged);
  for (std::string& text : report.dropped) {
    if (std::ranges::find(sealing.dropped, text) != sealing.dropped.end()) continue;
    log(LogLevel::Info, "left in " + spool.directory() + ": " + text);
    sealing.dropped.push_back(std::move(text));
  }
}

void RunDelivery::State::add_problem(std::string text) {
  const MutexLock lock(mutex_);
  if (std::ranges::find(problems_, text) == problems_.end()) problems_.push_back(std::move(text));
}

void RunDelivery::State::add_damage(const SealReport& report) {
  for (const std::string& text : report.damaged)
    add_problem("damaged, and not uploaded from " + spool.directory() + ": " + text);
}

std::vector<std::string> RunDelivery::State::problems_so_far() const {
  const MutexLock lock(mutex_);
  return problems_;
}

// A worker's next attempt has a number behind those in the spool and in the remote store.
void RunDelivery::State::compare_with_remote() {
  const std::string key = collections_key(worker);
  const auto ours = run().get(key, format_limits().collections_file);
  if (!ours) return;
  const CollectionsFile file = decode_collections_file(key, *ours);
  auto theirs = remote->get(key, format_limits().collections_file);
  if (!theirs) return;
  const CollectionsFile there = decode_collections_file(key, *theirs);
  if (!is_same_run(file, there)) return set_aside(file.run);
  is_superseded = there.attempt > file.attempt;
  if (is_superseded) at_start.prefer_remote(key, *std::move(theirs));
}

void RunDelivery::State::set_aside(const std::string& run_name) {
  if (options.replaces_run) return;
  const std::string place = spool.set_aside("of-" + run_name);
  add_problem(remote->location() + " holds another run by now: what was left of run " + run_name +
              " is in " + place);
}

void RunDelivery::State::begin(const std::function<bool()>& goes_on) {
  ended = has_end(run(), worker);
  room.count_files();
  const bool has_collections = run().stat(collections_key(worker)).has_value();
  {
    const MutexLock lock(mutex_);
    uploader_ = std::make_unique<Uploader>(
        spool.shared_run(), remote, worker, options.upload,
        [this](std::uint64_t bytes) { room.removed(bytes); }, halted_);
    has_begun_ = true;
    if (!is_superseded && has_collections) uploader_->collections_changed();
  }
  if (const std::size_t added = add_left_segments(); added > 0)
    log(LogLevel::Info, "what an earlier process left in " + spool.directory() +
                            " is uploaded first: " + std::to_string(added) + " segments");
  if (!no_room_) return;
  while (room.segments_waiting() > 0) {
    if (goes_on ? !goes_on() : !progress().trouble.empty()) throw StoreFull(*no_room_);
    room.wait_for_removal(kPollInterval);
  }
  seal_left_segments();
  room.count_files();
  if (no_room_) throw StoreFull(*no_room_);
  add_left_segments();
}

// Adds the sealed segments. Of an attempt with a segment that is not sealed, those before it: a
// later segment never comes to the remote store before an earlier one.
std::size_t RunDelivery::State::add_left_segments() {
  SealReport report;
  const std::vector<SegmentName> sealed_ones = sealed_segments(run(), worker, report);
  add_damage(report);
  std::map<std::int32_t, SegmentName> gaps;  // the first of each attempt
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    for (const ObjectInfo& info : run().list(prefix)) {
      const auto name = segment_of(info.key);
      if (!name || name->worker != worker || std::ranges::binary_search(sealed_ones, *name))
        continue;
      SegmentName& first = gaps.try_emplace(name->attempt, *name).first->second;
      first = std::min(first, *name);
    }
  }
  std::size_t added = 0;
  {
    const MutexLock lock(mutex_);
    has_gaps_ = !gaps.empty();
    for (const SegmentName& name : sealed_ones) {
      const auto gap = gaps.find(name.attempt);
      if (gap != gaps.end() && gap->second < name) continue;
      ++added;
      add(name, Uploader::Origin::LeftBehind);
    }
  }
  if (added < sealed_ones.size())
    add_problem("kept back in " + spool.directory() + ", for what is damaged lies before: " +
                std::to_string(sealed_ones.size() - added) + " segments");
  return added;
}

void RunDelivery::State::add(const SegmentName& segment, Uploader::Origin origin) {
  room.waits(segment);
  uploader_->add(segment, origin);
}

void RunDelivery::State::sealed(const SegmentName& name, const SealReport& report) {
  add_damage(report);
  const MutexLock lock(mutex_);
  if (!room.closed(name)) return;
  if (!report.damaged.empty()) {
    has_gaps_ = true;
  } else if (!is_finished_) {
    add(name, Uploader::Origin::Sealed);
  }
}

void RunDelivery::State::collections_changed() {
  is_superseded = false;
  room.collections_changed();
  const MutexLock lock(mutex_);
  if (!is_finished_) uploader_->collections_changed();
}

void RunDelivery::State::finish() {
  const std::string key = collections_key(worker);
  const auto bytes = run().get(key, format_limits().collections_file);
  // Without the collections file nobody knows whose end it is.
  const std::int64_t workers = bytes ? decode_collections_file(key, *bytes).num_workers : 1;
  ended = ended && has_end(run(), worker);  // the writer may have taken it back
  const MutexLock lock(mutex_);
  is_finished_ = true;
  uploads_end_ = bytes && has_ended() && !room.has_open_index() && !has_gaps_;
  uploader_->finish(uploads_end_ ? Uploader::Ending::Ended : Uploader::Ending::Left, workers);
}

Uploader& RunDelivery::State::uploader() const {
  const MutexLock lock(mutex_);
  return *uploader_;
}

// The threads of the uploader may take a second to end: the mutex is not held meanwhile.
void RunDelivery::State::end_uploading(bool is_finished) {
  std::unique_ptr<Uploader> ending;
  {
    const MutexLock lock(mutex_);
    last_progress_ = uploader_->progress();
    ending = std::move(uploader_);
  }
  if (!is_finished && options.interrupts_remote) remote->interrupt();
}

UploadProgress RunDelivery::State::progress() const {
  const MutexLock lock(mutex_);
  return uploader_ ? uploader_->progress() : last_progress_;
}

std::optional<Clock::time_point> RunDelivery::State::waiting_since() const {
  const MutexLock lock(mutex_);
  return uploader_ ? uploader_->waiting_since() : std::nullopt;
}

NotUploaded RunDelivery::State::deliver(Clock::time_point until,
                                        const std::function<bool()>& goes_on) {
  finish();
  while (!uploader().wait_until_finished(goes_on ? std::min(until, Clock::now() + kPollInterval)
                                                 : until)) {
    if (Clock::now() >= until || (goes_on && !goes_on())) break;
  }
  const bool all = uploader().wait_until_finished(Clock::now());
  end_uploading(all);
  NotUploaded left = what_is_left();
  left.end = left.end && !(all && uploads_end_);
  if (all && left.bytes == 0 && !left.end) {
    spool.remove(options.stays);
    return {};
  }
  left.why = progress().trouble;
  left.directory = spool.directory();
  return left;
}

NotUploaded RunDelivery::State::what_is_left() {
  NotUploaded left;
  for (const ObjectInfo& info : run().list("")) {
    if (!segment_of(info.key)) continue;
    left.bytes += info.size;
    if (info.key.starts_with(kIndexPrefix)) left.steps += committed_steps(run(), info.key);
  }
  left.end = has_ended();
  return left;
}

RunDelivery::RunDelivery(std::shared_ptr<Store> remote, Spool spool, RunDeliveryOptions options)
    : state_(std::make_unique<State>(std::move(remote), std::move(spool), std::move(options))) {}

RunDelivery::~RunDelivery() = default;

LocalStore& RunDelivery::run() noexcept { return state_->spool.run(); }

Store& RunDelivery::run_at_start() noexcept { return state_->at_start; }

void RunDelivery::begin(const std::function<bool()>& goes_on) { state_->begin(goes_on); }

RunDelivery::Room RunDelivery::room_for(std::uint64_t bytes, const std::function<void()>& write) {
  return state_->room.write(bytes, write);
}

void RunDelivery::opened(const SegmentName& name) { state_->room.opened(name); }

void RunDelivery::sealed(const SegmentName& name, const SealReport& report) {
  state_->sealed(name, report);
}

void RunDelivery::collections_changed() { state_->collections_changed(); }

void RunDelivery::ended() { state_->ended = true; }

bool RunDelivery::has_room() const noexcept { return state_->room.has_room(); }

void RunDelivery::stop_waiting_at(Clock::time_point until) { state_->room.stop_waiting_at(until); }

UploadProgress RunDelivery::progress() const { return state_->progress(); }

std::optional<Clock::time_point> RunDelivery::waiting_since() const {
  return state_->waiting_since();
}

NotUploaded RunDelivery::deliver(Clock::time_point until, const std::function<bool()>& goes_on) {
  return state_->deliver(until, goes_on);
}

void RunDelivery::halt() noexcept { state_->halt(); }

bool RunDelivery::has_ended() const noexcept { return state_->has_ended(); }

std::vector<std::string> RunDelivery::foreign_files() const {
  return state_->spool.foreign_files();
}

const SealReport& RunDelivery::sealing() const noexcept { return state_->sealing; }

std::vector<std::string> RunDelivery::problems() const { return state_->problems_so_far(); }

}  // namespace cupel
