// Threads take jobs from an UploadQueue and retry failed ones. After a failure all threads pause,
// and then one of them retries, because nearly always the remote store as a whole fails. The pause
// doubles up to a limit, and after success all threads go on. A job fails by any exception: of the
// remote store, or of the local run, whose file may be gone. Retries of single requests, such as
// one that a server answers by 503, are the remote store's own; here only their final failure
// arrives. The threads own their state, so that they may outlive the Uploader inside a request.

#include "uploader.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <random>
#include <system_error>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/delivery/end_of_run.h"
#include "upload_queue.h"

namespace cupel::delivery_detail {
namespace {

using Clock = Uploader::Clock;
using Job = UploadQueue::Job;
using Kind = UploadQueue::Kind;

constexpr std::uint64_t kAnySize = std::numeric_limits<std::uint64_t>::max();
constexpr int kMostDoublings = 20;

struct Failure {
  std::string what;
  bool is_refusal = false;
};

}  // namespace

struct Uploader::State {
  State(std::shared_ptr<Store> run_store, std::shared_ptr<Store> remote_store,
        std::string worker_name, UploadOptions upload_options,
        std::function<void(std::uint64_t)> removed, HaltFlag halt_flag)
      : run(std::move(run_store)),
        remote(std::move(remote_store)),
        worker(std::move(worker_name)),
        options(upload_options),
        on_removed(std::move(removed)),
        halted(std::move(halt_flag)),
        queue(static_cast<std::size_t>(options.parallelism), options.most_bytes) {}

  void work();
  // Does a job, without the mutex. Returns whether its segment was found in the store.
  bool perform(const Job& job);
  std::optional<Failure> attempt(const Job& job, bool& is_there);
  void report_result(const Job& job, bool is_there, const std::optional<Failure>& failure)
      CUPEL_REQUIRES(mutex);
  void count_failure(const Failure& failure) CUPEL_REQUIRES(mutex);
  void count_success() CUPEL_REQUIRES(mutex);
  bool upload_values(const UploadQueue::Segment& segment);
  void upload(const std::string& key);
  void remove_uploaded(const UploadQueue::Segment& segment);
  std::int64_t workers_of_run();
  Clock::duration pause() CUPEL_REQUIRES(mutex);

  const std::shared_ptr<Store> run;
  const std::shared_ptr<Store> remote;
  const std::string worker;
  const UploadOptions options;
  const std::function<void(std::uint64_t)> on_removed;
  const HaltFlag halted;

  Mutex mutex;
  ConditionVariable work_to_do, changed;
  UploadQueue queue CUPEL_GUARDED_BY(mutex);
  UploadProgress counted CUPEL_GUARDED_BY(mutex);  // all but what the queue knows
  std::int64_t num_workers CUPEL_GUARDED_BY(mutex) = 1;
  bool stopping CUPEL_GUARDED_BY(mutex) = false;
  int failures CUPEL_GUARDED_BY(mutex) = 0;  // since the last success
  bool is_retrying CUPEL_GUARDED_BY(mutex) = false;
  bool last_was_refusal CUPEL_GUARDED_BY(mutex) = false;
  Clock::time_point retry_at CUPEL_GUARDED_BY(mutex);
  Clock::time_point failing_since CUPEL_GUARDED_BY(mutex);
  std::minstd_rand random CUPEL_GUARDED_BY(mutex){std::random_device()()};

  Mutex removing;  // held while files are removed; locked before `mutex`
  bool keeps_files CUPEL_GUARDED_BY(removing) = false;
};

void Uploader::State::work() {
  MutexLock lock(mutex);
  while (!stopping && !*halted) {
    const bool may_begin = failures == 0 || (!is_retrying && Clock::now() >= retry_at);
    if (const auto job = may_begin ? queue.next() : std::nullopt) {
      const bool retries = failures > 0;
      is_retrying = is_retrying || retries;
      lock.unlock();
      bool is_there = false;
      const auto failure = attempt(*job, is_there);
      lock.lock();
      if (retries) is_retrying = false;
      if (stopping || *halted) break;
      report_result(*job, is_there, failure);
      work_to_do.notify_all();
      changed.notify_all();
    } else if (failures > 0 && Clock::now() < retry_at) {
      work_to_do.wait_until(lock, retry_at);
    } else {
      work_to_do.wait(lock);
    }
  }
}

std::optional<Failure> Uploader::State::attempt(const Job& job, bool& is_there) {
  try {
    is_there = perform(job);
    return std::nullopt;
  } catch (const StoreError& error) {
    return Failure{error.what(), !error.retryable};
  } catch (const Error& error) {
    return Failure{error.what(), true};
  } catch (const std::exception& error) {
    return Failure{error.what()};
  } catch (...) {  // thrown by a store of the user's
    return Failure{"something was thrown that is no std::exception"};
  }
}

void Uploader::State::report_result(const Job& job, bool is_there,
                                    const std::optional<Failure>& failure) {
  if (failure) {
    queue.failed(job);
    return count_failure(*failure);
  }
  queue.done(job, is_there);
  if (job.kind == Kind::Index) {
    ++counted.segments_uploaded;
    counted.bytes_uploaded += job.segment.bytes();
  }
  count_success();
}

void Uploader::State::count_failure(const Failure& failure) {
  if (failures == 0) failing_since = Clock::now();
  if (failure.is_refusal && counted.refusal.empty()) {
    counted.refusal = failure.what;
    log(LogLevel::Warning, "the store refuses what is uploaded; it stays in " + run->location() +
                               " and is tried again: " + failure.what);
  } else if (counted.trouble.empty() && !failure.is_refusal) {
    log(LogLevel::Warning, "uploading fails and is tried again; what is saved stays in " +
                               run->location() + ": " + failure.what);
  }
  counted.trouble = failure.what;
  last_was_refusal = failure.is_refusal;
  // Jobs that were under way together fail together.
  if (failures > 0 && Clock::now() < retry_at) return;
  failures = std::min(failures + 1, kMostDoublings);
  retry_at = Clock::now() + pause();
}

void Uploader::State::count_success() {
  if (failures == 0) return;
  failures = 0;
  counted.trouble.clear();
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - failing_since);
  log(LogLevel::Info, "uploading to " + remote->location() + " works again after " +
                          std::to_string(seconds.count()) + " s");
}

// Returns a random part of the second half of the limit, so that workers do not all retry at once.
Clock::duration Uploader::State::pause() {
  const auto doubled = options.first_pause * (std::int64_t{1} << (failures - 1));
  const auto limit = last_was_refusal
                         ? options.refused_pause
                         : std::min<std::chrono::milliseconds>(doubled, options.longest_pause);
  const auto most = std::chrono::microseconds(limit).count();
  return std::chrono::microseconds(
      std::uniform_int_distribution<std::int64_t>(most / 2, most)(random));
}

bool Uploader::State::perform(const Job& job) {
  switch (job.kind) {
    case Kind::CollectionsFile:
      upload(collections_key(worker));
      return false;
    case Kind::Values:
      return upload_values(job.segment);
    case Kind::Index:
      if (!job.is_there) upload(job.segment.name.index_key());
      remove_uploaded(job.segment);
      return false;
    case Kind::End:
      write_end(*remote, worker, workers_of_run());
      return false;
  }
  return false;
}

void Uploader::State::upload(const std::string& key) {
  const auto bytes = run->get(key, kAnySize);
  if (!bytes) throw StoreError(key, false, "it is gone", run->location());
  remote->put(key, *bytes);
}

bool Uploader::State::upload_values(const UploadQueue::Segment& segment) {
  if (segment.may_be_there) {
    const std::string key = segment.name.index_key();
    if (const auto there = remote->get(key, kAnySize)) {
      if (there != run->get(key, kAnySize))
        throw StoreError(key, false, "another process has written it, as the same worker",
                         remote->location());
      return true;
    }
  }
  if (segment.values_bytes > 0) upload(segment.name.events_key());
  return false;
}

// The index goes first: values without an index are what a killed process may leave at any time.
void Uploader::State::remove_uploaded(const UploadQueue::Segment& segment) {
  const MutexLock lock(removing);
  if (keeps_files || *halted) return;
  try {
    run->remove(segment.name.index_key());
    run->remove(segment.name.events_key());
  } catch (const StoreError& error) {  // the next process finds the segment in the store
    log(LogLevel::Warning, error.what());
  }
  if (on_removed) on_removed(segment.bytes());
}

std::int64_t Uploader::State::workers_of_run() {
  const MutexLock lock(mutex);
  return num_workers;
}

Uploader::Uploader(std::shared_ptr<Store> run, std::shared_ptr<Store> remote, std::string worker,
                   UploadOptions options, std::function<void(std::uint64_t)> on_removed,
                   HaltFlag halted)
    : state_(std::make_shared<State>(std::move(run), std::move(remote), std::move(worker), options,
                                     std::move(on_removed), std::move(halted))) {
  for (std::int64_t i = 0; i < state_->options.parallelism; ++i) {
    try {
      threads_.start([state = state_] { state->work(); });
    } catch (const std::system_error&) {
      if (i == 0) throw;
      return;  // the threads that started do all the work
    }
  }
}

Uploader::~Uploader() {
  {
    State& state = *state_;
    const MutexLock removing_lock(state.removing);
    const MutexLock lock(state.mutex);
    state.keeps_files = true;
    state.stopping = true;
  }
  state_->work_to_do.notify_all();
}

void Uploader::add(const SegmentName& segment, Origin origin) {
  const auto size_of = [&](const std::string& key) -> std::uint64_t {
    const auto info = state_->run->stat(key);
    return info ? info->size : 0;
  };
  UploadQueue::Segment added{.name = segment,
                             .values_bytes = size_of(segment.events_key()),
                             .index_bytes = size_of(segment.index_key()),
                             .may_be_there = origin == Origin::LeftBehind,
                             .since = Clock::now()};
  const MutexLock lock(state_->mutex);
  state_->queue.add(std::move(added));
  state_->work_to_do.notify_all();
}

void Uploader::collections_changed() {
  const MutexLock lock(state_->mutex);
  state_->queue.collections_changed();
  state_->work_to_do.notify_all();
}

void Uploader::finish(Ending ending, std::int64_t num_workers) {
  const MutexLock lock(state_->mutex);
  state_->num_workers = num_workers;
  state_->queue.finish(ending == Ending::Ended);
  state_->work_to_do.notify_all();
  state_->changed.notify_all();
}

bool Uploader::wait_until_finished(Clock::time_point until) {
  MutexLock lock(state_->mutex);
  return state_->changed.wait_until(
      lock, until, [&]() CUPEL_REQUIRES(state_->mutex) { return state_->queue.is_finished(); });
}

UploadProgress Uploader::progress() const {
  const MutexLock lock(state_->mutex);
  UploadProgress progress = state_->counted;
  progress.segments_waiting = state_->queue.segments_waiting();
  progress.bytes_waiting = state_->queue.bytes_waiting();
  return progress;
}

std::optional<Clock::time_point> Uploader::waiting_since() const {
  const MutexLock lock(state_->mutex);
  return state_->queue.waiting_since();
}

}  // namespace cupel::delivery_detail
