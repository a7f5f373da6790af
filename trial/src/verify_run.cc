// Verifying a run as a whole: which files there are, and whether they belong together.
//
// SegmentCheck checks the contents of one segment; where requests cost, OrderedTasks checks several
// at the same time. The calling thread collects their findings in the order of the segments, so the
// report does not depend on the number of threads. Damage becomes a finding and ends nothing; only
// a run that cannot be listed is an error.

#include "cupel/trial/verify_run.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/format/collections_file.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "ordered_tasks.h"
#include "run_listing.h"
#include "segment_check.h"
#include "verify_findings.h"

namespace cupel {

namespace {

using trial_detail::OrderedTasks;
using trial_detail::RunListing;
using trial_detail::SealDemand;
using trial_detail::SegmentCheck;
using trial_detail::VerifyFindings;

// The memory of segments that are being checked, or whose findings are not collected yet.
constexpr std::uint64_t kMostBytesAhead = std::uint64_t{512} << 20U;
constexpr const char* kForeign = "not a file of a run";
constexpr std::string_view kAllCollections = "collections/";

/// The segment whose events file has this key.
std::optional<SegmentName> parse_events_key(std::string_view key) {
  if (!key.starts_with(kEventsPrefix)) return std::nullopt;
  key.remove_prefix(kEventsPrefix.size());
  return SegmentName::parse_index_key(std::string(kIndexPrefix) + std::string(key));
}

class RunCheck {
 public:
  RunCheck(const Store& store, const VerifyOptions& options) : store_(store), options_(options) {}

  VerifyReport run();

 private:
  struct Job {
    const RunListing::Segment* segment;
    SealDemand demand;
    bool begins_attempt;
    const CollectionsFile* collections;             // of the worker; may be null
    std::uint64_t bytes;                            // the size of its files
    std::uint64_t bytes_left = bytes;               // not yet reported as progress
    std::unique_ptr<SegmentCheck> check = nullptr;  // while it runs, and until conclude()
  };

  void read_collections();
  void list_jobs(const std::string& worker, const std::vector<RunListing::Segment>& segments);
  void check_jobs();
  void perform(Job& job);
  void conclude(Job& job);
  std::uint64_t bytes_of(const RunListing::Segment& segment) const;
  void check_number(const SegmentName& name, const std::optional<SegmentIdentity>& identity);
  void check_events_without_index();
  void check_markers();
  void report_progress(Job& job, std::uint64_t bytes);

  const Store& store_;
  const VerifyOptions& options_;
  VerifyReport report_;
  VerifyFindings findings_;
  std::vector<ObjectInfo> ended_workers_, events_;
  RunListing listing_;
  std::map<std::string, CollectionsFile> collections_;
  std::set<std::string> damaged_collections_;  // workers whose files are damaged
  std::vector<std::int64_t> steps_;
  std::vector<Job> jobs_;
  std::uint64_t total_bytes_ = 0;

  // Guards Job::bytes_left, too.
  Mutex progress_mutex_;
  std::uint64_t done_bytes_ CUPEL_GUARDED_BY(progress_mutex_) = 0;

  // The state within the attempt that is being concluded.
  std::int64_t next_segment_ = 0;
  std::int64_t last_step_ = -1;
};

VerifyReport RunCheck::run() {
  // A marker that is there before everything else is listed promises that nothing is missing.
  report_.ended = store_.stat(kEndMarker).has_value();
  ended_workers_ = store_.list(kEndedPrefix);
  events_ = store_.list(kEventsPrefix);
  listing_ = RunListing::read(store_);
  for (const ObjectInfo& info : events_) total_bytes_ += info.size;
  for (const auto& [worker, segments] : listing_.workers)
    for (const RunListing::Segment& segment : segments) total_bytes_ += segment.size;
  read_collections();

  for (const std::string& key : listing_.foreign) findings_.remark(key, 0, kForeign);
  for (const auto& [worker, segments] : listing_.workers) list_jobs(worker, segments);
  check_jobs();
  report_.stopped = options_.stop.stop_requested();
  if (!report_.stopped) {
    check_events_without_index();
    check_markers();
  }
  std::sort(steps_.begin(), steps_.end());
  report_.steps = static_cast<std::uint64_t>(
      std::distance(steps_.begin(), std::unique(steps_.begin(), steps_.end())));
  report_.findings = findings_.in_order();
  return std::move(report_);
}

void RunCheck::read_collections() {
  for (const ObjectInfo& info : store_.list(kAllCollections)) {
    const std::optional<std::string> worker = parse_collections_key(info.key);
    if (!worker) {
      findings_.remark(info.key, 0, kForeign);
      continue;
    }
    ++report_.collections_files;
    try {
      const auto bytes = store_.get(info.key, format_limits().collections_file);
      if (!bytes) continue;  // It was removed after the listing.
      CollectionsFile file = decode_collections_file(info.key, *bytes);
      if (file.worker != *worker)
        findings_.damage(info.key, 0,
                         "the file says worker " + file.worker + ", its name says otherwise");
      collections_.emplace(*worker, std::move(file));
      continue;
    } catch (const FormatError& error) {
      findings_.add(VerifyFindings::Severity::Damage, error);
    } catch (const StoreError& error) {
      findings_.damage(info.key, 0, std::string("it could not be read: ") + error.what());
    }
    damaged_collections_.insert(*worker);
  }
  if (report_.collections_files == 0 && listing_.workers.empty() && events_.empty())
    throw MissingCollectionFiles(store_.location());
}

void RunCheck::list_jobs(const std::string& worker,
                         const std::vector<RunListing::Segment>& segments) {
  const auto found = collections_.find(worker);
  const CollectionsFile* collections = found == collections_.end() ? nullptr : &found->second;
  if (collections == nullptr && !damaged_collections_.contains(worker))
    findings_.damage(collections_key(worker), 0,
                     "the file is missing, though the worker has segments");
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentName& name = segments[i].name;
    const bool begins_attempt = i == 0 || segments[i - 1].name.attempt != name.attempt;
    const bool is_last = i + 1 == segments.size();
    const bool last_of_attempt = is_last || segments[i + 1].name.attempt != name.attempt;
    // A later attempt may have committed nothing.
    const bool is_newest =
        is_last && (collections == nullptr || collections->attempt <= name.attempt);
    const SealDemand demand = !last_of_attempt || (is_newest && report_.ended) ? SealDemand::Sealed
                              : is_newest                                      ? SealDemand::None
                                          : SealDemand::EarlierAttempt;
    jobs_.push_back({&segments[i], demand, begins_attempt, collections, bytes_of(segments[i])});
  }
}

void RunCheck::check_jobs() {
  std::vector<OrderedTasks::Task> tasks;
  for (Job& job : jobs_) tasks.push_back({[this, &job] { perform(job); }, job.bytes});
  const auto at_once = static_cast<std::size_t>(std::max(options_.requests_at_once, 1));
  OrderedTasks work(std::move(tasks), store_.can_append() ? 1 : at_once, kMostBytesAhead);
  for (std::size_t i = 0; i < jobs_.size() && !options_.stop.stop_requested(); ++i) {
    work.await(i);
    conclude(jobs_[i]);
  }
}

void RunCheck::perform(Job& job) {
  job.check = std::make_unique<SegmentCheck>(
      store_, job.segment->name, job.demand, options_.stop,
      [this, &job](std::uint64_t bytes) { report_progress(job, bytes); });
  job.check->run();
}

/// The bytes of the segment's files, as they were listed.
std::uint64_t RunCheck::bytes_of(const RunListing::Segment& segment) const {
  const std::string events_key = segment.name.events_key();
  const auto events = std::ranges::lower_bound(events_, events_key, {}, &ObjectInfo::key);
  const bool has_events = events != events_.end() && events->key == events_key;
  return segment.size + (has_events ? events->size : 0);
}

void RunCheck::conclude(Job& job) {
  const std::unique_ptr<SegmentCheck> done = std::move(job.check);
  const SegmentCheck& check = *done;
  const SegmentName& name = job.segment->name;
  const CollectionsFile* const collections = job.collections;
  if (job.begins_attempt) {
    next_segment_ = 0;
    last_step_ = -1;
  }
  ++report_.index_files;
  if (check.has_events) ++report_.events_files;
  report_.rows += check.rows;
  report_.values += check.values;
  report_.value_bytes += check.value_bytes;
  steps_.insert(steps_.end(), check.steps.begin(), check.steps.end());
  findings_.add(check.findings);

  check_number(name, check.identity);
  if (check.last_step >= 0 && name.first_step <= last_step_)
    findings_.damage(name.index_key(), 0,
                     "the segment begins before the end of the one before it, which is step " +
                         std::to_string(last_step_));
  last_step_ = std::max(last_step_, check.last_step);
  if (collections != nullptr && name.attempt > collections->attempt)
    findings_.damage(name.index_key(), 0,
                     "the worker's collections file knows attempts up to " +
                         std::to_string(collections->attempt));
  if (collections != nullptr && check.identity && check.identity->run != collections->run) {
    const std::string problem = "the file is of run " + check.identity->run +
                                ", the worker's collections file of run " + collections->run;
    // Workers that begin together may agree on a name of the run only when they begin again.
    if (name.attempt == collections->attempt) {
      findings_.damage(name.index_key(), 0, problem);
    } else {
      findings_.remark(name.index_key(), 0, problem);
    }
  }

  report_progress(job, job.bytes);  // Also bytes that were not read count as done.
}

void RunCheck::check_number(const SegmentName& name,
                            const std::optional<SegmentIdentity>& identity) {
  const std::int64_t expected = next_segment_++;
  if (!identity) return;
  next_segment_ = identity->segment + 1;
  if (identity->segment == expected) return;
  const std::string numbers = "the segment has number " + std::to_string(identity->segment) +
                              ", and " + std::to_string(expected) + " was to come";
  findings_.damage(
      name.index_key(), 0,
      identity->segment > expected ? numbers + ": segments are missing before it" : numbers);
}

void RunCheck::check_events_without_index() {
  for (const ObjectInfo& info : events_) {
    const std::optional<SegmentName> name = parse_events_key(info.key);
    if (!name) {
      findings_.remark(info.key, 0, kForeign);
      continue;
    }
    const auto worker = listing_.workers.find(name->worker);
    const bool known = worker != listing_.workers.end();
    if (known && std::any_of(worker->second.begin(), worker->second.end(),
                             [&](const auto& segment) { return segment.name == *name; }))
      continue;
    ++report_.events_files;
    // A writer that closes leaves no values without an index file.
    const bool lacks_index = report_.ended && (!known || worker->second.back().name < *name);
    if (lacks_index) {
      findings_.damage(info.key, 0, "the index file of these values is missing");
    } else {
      findings_.remark(info.key, 0, "values without an index file: their step was not committed");
    }
  }
}

void RunCheck::check_markers() {
  std::size_t ended = 0;
  for (const ObjectInfo& info : ended_workers_) {
    const std::string worker = info.key.substr(kEndedPrefix.size());
    const bool known = collections_.contains(worker) || damaged_collections_.contains(worker);
    ended += known ? 1U : 0U;
    if (!known) findings_.remark(info.key, 0, "there is no such worker");
  }
  const std::int64_t num_workers = trial_detail::num_workers_of(collections_);
  const auto demand_all = [&](std::size_t there, const char* what) {
    if (static_cast<std::int64_t>(there) < num_workers)
      findings_.damage(std::string(kEndMarker), 0,
                       "the run has ended, and of its " + std::to_string(num_workers) +
                           " workers only " + std::to_string(there) + what);
  };
  if (report_.ended) {
    demand_all(report_.collections_files, " left collections files");
    if (num_workers > 1) demand_all(ended, " left markers of their end");
  }
}

/// Bytes that are read twice count once.
void RunCheck::report_progress(Job& job, std::uint64_t bytes) {
  const MutexLock lock(progress_mutex_);
  const std::uint64_t news = std::min(bytes, job.bytes_left);
  job.bytes_left -= news;
  done_bytes_ += news;
  if (options_.progress) options_.progress(std::min(done_bytes_, total_bytes_), total_bytes_);
}

}  // namespace

std::size_t VerifyReport::damages() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [](const VerifyFinding& finding) {
        return finding.severity == VerifyFinding::Severity::Damage;
      }));
}

VerifyReport verify_run(const Store& store, const VerifyOptions& options) {
  return RunCheck(store, options).run();
}

}  // namespace cupel
