// Copying a run, segment by segment and, within a worker, in the order of its segments: the values,
// then the worker's collections file as it is by then, which knows at least what the index needs,
// and last the index as far as it was read.
//
// Where requests cost time, threads of OrderedTasks copy the values of several segments at the same
// time, ahead of the calling thread, which puts the index files in their order. A collections file
// that was read after the values of a segment were copied is as good as one that is read before the
// index is put: it shows that the run was not replaced meanwhile, and knows the collections.
//
// An error ends the copy: what was copied before it stays, and is a run that has not ended.

#include "cupel/trial/copy_run.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "ordered_tasks.h"
#include "run_listing.h"
#include "segment_copy.h"

namespace cupel {

namespace {

using trial_detail::OrderedTasks;
using trial_detail::RunListing;
using trial_detail::SegmentCopy;
using trial_detail::SegmentToCopy;

// The memory of segments that are being copied, or wait for their index to be put.
constexpr std::uint64_t kMostBytesAhead = std::uint64_t{512} << 20U;

class RunCopy {
 public:
  RunCopy(const Store& from, Store& to, const CopyOptions& options)
      : from_(from), to_(to), options_(options) {}

  CopyReport run();

 private:
  struct Job {
    SegmentToCopy segment;
    std::unique_ptr<SegmentCopy> copy = nullptr;
    std::uint64_t done_at = 0;  // the number of jobs that were done by then, with this one
  };

  void list_jobs(bool ended);
  void copy_jobs();
  void perform(Job& job);
  void commit(Job& job);
  void copy_collections(const std::string& worker);
  void count(std::uint64_t bytes);
  bool stopped() const { return options_.stop.stop_requested(); }

  const Store& from_;
  Store& to_;
  const CopyOptions& options_;
  CopyReport report_;
  std::map<std::string, std::vector<std::byte>> collections_;  // by worker, as copied
  std::map<std::string, std::int32_t> attempt_of_worker_;      // by these files
  std::map<std::string, std::string> run_of_worker_;
  std::map<std::string, std::uint64_t> collections_read_at_;  // compares with Job::done_at
  std::vector<std::int64_t> steps_;
  std::uint64_t total_bytes_ = 0;

  std::vector<Job> jobs_;
  std::atomic<std::uint64_t> jobs_done_{0};

  Mutex count_mutex_;  // other threads copy values
  std::uint64_t copied_bytes_ CUPEL_GUARDED_BY(count_mutex_) = 0;
};

CopyReport RunCopy::run() {
  trial_detail::require_empty_destination(to_, "a copy");
  // A marker that is there before everything else is listed promises that nothing is missing.
  const bool ended = from_.stat(kEndMarker).has_value();
  const std::vector<ObjectInfo> ended_workers = from_.list(kEndedPrefix);
  list_jobs(ended);
  copy_jobs();

  report_.stopped = stopped();
  if (!report_.stopped) {
    for (const ObjectInfo& info : ended_workers) {
      to_.put(info.key, {});
      ++report_.files;
    }
    report_.ended = ended;
    if (ended) {
      to_.put(kEndMarker, {});
      ++report_.files;
    }
  }
  std::sort(steps_.begin(), steps_.end());
  report_.steps = static_cast<std::uint64_t>(
      std::distance(steps_.begin(), std::unique(steps_.begin(), steps_.end())));
  const MutexLock lock(count_mutex_);
  report_.bytes = copied_bytes_;
  return report_;
}

void RunCopy::list_jobs(bool ended) {
  const RunListing listing = RunListing::read(from_);
  std::map<std::string, std::uint64_t> events;
  for (const ObjectInfo& info : from_.list(kEventsPrefix)) {
    total_bytes_ += info.size;
    events.emplace(info.key, info.size);
  }
  for (const ObjectInfo& info : from_.list(kCollectionsPrefix))
    if (const auto worker = parse_collections_key(info.key)) copy_collections(*worker);
  if (collections_.empty()) throw MissingCollectionFiles(from_.location());

  for (const auto& [worker, segments] : listing.workers) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const SegmentName& name = segments[i].name;
      total_bytes_ += segments[i].size;
      const bool is_last = i + 1 == segments.size();
      const bool has_successor = !is_last && segments[i + 1].name.attempt == name.attempt;
      // A later attempt may have committed nothing.
      const auto newest = attempt_of_worker_.find(worker);
      const bool is_newest =
          is_last && (newest == attempt_of_worker_.end() || newest->second <= name.attempt);
      Job& job = jobs_.emplace_back();
      job.segment = {name, has_successor || (is_newest && ended), segments[i].size};
      if (const auto found = events.find(name.events_key()); found != events.end())
        job.segment.events_size = found->second;
    }
  }
}

void RunCopy::copy_jobs() {
  std::vector<OrderedTasks::Task> tasks;
  for (Job& job : jobs_)
    tasks.push_back({[this, &job] { perform(job); },
                     job.segment.index_size + job.segment.events_size.value_or(0)});
  const bool requests_cost = !from_.can_append() || !to_.can_append();
  const auto at_once = static_cast<std::size_t>(std::max(options_.requests_at_once, 1));
  OrderedTasks work(std::move(tasks), requests_cost ? at_once : 1, kMostBytesAhead);
  for (std::size_t i = 0; i < jobs_.size() && !stopped(); ++i) {
    try {
      work.await(i);
    } catch (const Error&) {
      copy_collections(jobs_[i].segment.name.worker);  // throws if the run was replaced
      throw;
    }
    commit(jobs_[i]);
  }
}

void RunCopy::perform(Job& job) {
  job.copy = std::make_unique<SegmentCopy>(from_, to_, job.segment, options_.stop,
                                           [this](std::uint64_t bytes) { count(bytes); });
  job.copy->run();
  job.done_at = ++jobs_done_;
}

void RunCopy::commit(Job& job) {
  const std::unique_ptr<SegmentCopy> copy = std::move(job.copy);
  if (!copy->is_ready()) return;
  // The file is read after the values were copied, so it shows if they are those of another run.
  const std::string& worker = job.segment.name.worker;
  if (from_.can_append() || collections_read_at_[worker] < job.done_at) copy_collections(worker);
  copy->require_events();
  to_.put(job.segment.name.index_key(), copy->index());
  report_.files += copy->has_events() ? 2 : 1;
  count(copy->index().size());
  steps_.insert(steps_.end(), copy->steps().begin(), copy->steps().end());
}

/// Copies the file as it is now, unless that was done.
void RunCopy::copy_collections(const std::string& worker) {
  collections_read_at_[worker] = jobs_done_;
  const std::string key = collections_key(worker);
  auto bytes = from_.get(key, format_limits().collections_file);
  if (!bytes) throw FormatError(key, 0, "the file is missing, though the worker is in the run");
  const CollectionsFile file = decode_collections_file(key, *bytes);
  const auto [run, is_first] = run_of_worker_.try_emplace(worker, file.run);
  if (!is_first && run->second != file.run)
    throw Error("The run was replaced by another while it was copied: " + from_.location());
  attempt_of_worker_[worker] = file.attempt;
  const auto copied = collections_.find(worker);
  if (copied != collections_.end() && copied->second == *bytes) return;
  to_.put(key, *bytes);
  if (copied == collections_.end()) ++report_.files;
  count(bytes->size());
  collections_.insert_or_assign(worker, *std::move(bytes));
}

void RunCopy::count(std::uint64_t bytes) {
  const MutexLock lock(count_mutex_);
  copied_bytes_ += bytes;
  if (options_.progress) options_.progress(std::min(copied_bytes_, total_bytes_), total_bytes_);
}

}  // namespace

CopyReport copy_run(const Store& from, Store& to, const CopyOptions& options) {
  return RunCopy(from, to, options).run();
}

}  // namespace cupel
