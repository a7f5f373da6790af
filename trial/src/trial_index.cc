// Polling a run and publishing snapshots of it.
//
// A refresh polls the index source, which appends to the shared index data, and then publishes a
// snapshot: how much of that data queries may see. One thread at a time refreshes, under
// refresh_mutex_; queries take the newest snapshot under a mutex of its own, which is held for the
// copy of a pointer only.
//
// A step counts as passed when every worker has committed it or a later one, when more steps wait
// than TrialOptions::wait_window allows, or when the run has ended.
//
// When a store fails, what was read before is published, and the next query polls again. Damage is
// kept: up_to_date() throws each one once, refresh() throws the worst one each time.

#include "trial_index.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "cupel/core/natural_order.h"
#include "cupel_index_source.h"
#include "environment_options.h"
#include "step_merge.h"

namespace cupel {

using trial_detail::IndexSource;
using trial_detail::IndexState;
using trial_detail::PollTimer;

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxWarnings = 100;
constexpr std::size_t kLongestWarning = 1000;

constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max();

void check_range(const StepRange& range) {
  if (range.begin.value_or(0) < 0 || range.end.value_or(0) < 0)
    throw UsageError("range_steps must not be negative");
  if (range.begin && range.end && *range.begin >= *range.end)
    throw UsageError("range_steps must begin before it ends: " + std::to_string(*range.begin) +
                     ", " + std::to_string(*range.end));
}

void check_polling(const PollingOptions& options) {
  if (options.requests_at_once < 1)
    throw UsageError("requests_at_once must be at least 1: " +
                     std::to_string(options.requests_at_once));
  for (const milliseconds time :
       {options.min_interval, options.max_interval, options.full_interval, options.value_timeout})
    if (time < milliseconds(0))
      throw UsageError("intervals and timeouts of polling must not be negative: " +
                       std::to_string(time.count()) + " ms");
}

std::optional<std::int64_t> wait_window_of(const TrialOptions& options) {
  if (!options.wait_window) return trial_detail::wait_window_from_environment();
  if (*options.wait_window >= 1) return options.wait_window;
  throw UsageError("wait_window must be at least 1: " + std::to_string(*options.wait_window));
}

}  // namespace

std::shared_ptr<TrialIndex> TrialIndex::open(std::shared_ptr<const Store> store,
                                             TrialOptions options) {
  if (!store) throw UsageError("A trial needs a store");
  check_range(options.range_steps);
  check_polling(options.polling);
  std::shared_ptr<const TrialClock>& clock = options.polling.clock;
  if (!clock) clock = std::make_shared<const TrialClock>();
  auto source = std::make_unique<trial_detail::CupelIndexSource>(*store, clock, options);
  return std::make_shared<TrialIndex>(std::move(store), std::move(source), options);
}

TrialIndex::TrialIndex(std::shared_ptr<const Store> store, std::unique_ptr<IndexSource> source,
                       const TrialOptions& options)
    : store_(std::move(store)),
      clock_(options.polling.clock),
      poll_timer_(store_->can_append() ? nullptr
                                       : std::make_shared<PollTimer>(clock_, options.polling)),
      source_(std::move(source)),
      reader_(*store_, *source_->data(), clock_, options.polling),
      end_delay_(options.end_delay ? *options.end_delay
                                   : trial_detail::end_delay_from_environment()),
      wait_window_(wait_window_of(options)),
      watch_(watch()),
      progress_(options.progress) {
  const MutexLock lock(refresh_mutex_);
  wait_for_run(options);
  poll();
  progress_ = {};
  poll_again_ = wait_window_.has_value();  // opening skips slow workers by one half window only
  const IndexState& state = source_->state();
  if (state.replaced) throw FormatError(*state.loss);
  const auto files = static_cast<std::int64_t>(state.collections->files().size());
  if (newest()->ended && files < state.collections->num_workers())
    throw MissingCollectionFiles(store_->location(),
                                 "the run has ended with " + std::to_string(files) + " of " +
                                     std::to_string(state.collections->num_workers()) + " workers");
}

std::unique_ptr<Watch> TrialIndex::watch() const {
  return poll_timer_ ? poll_timer_->watch() : store_->watch();
}

void TrialIndex::wait_for_run(const TrialOptions& options) {
  const std::stop_callback wake_on_stop(options.stop_waiting, [this] { watch_->wake(); });
  const TrialClock::Time begin = clock_->now();
  const auto find = [&]() CUPEL_REQUIRES(refresh_mutex_) {
    const bool found = source_->find_run();
    if (poll_timer_) poll_timer_->poll_ended(false);
    return found;
  };
  for (;;) {
    if (find()) return;
    const auto waited = std::chrono::duration_cast<milliseconds>(clock_->now() - begin);
    const bool over = waited >= options.wait_for_run || options.stop_waiting.stop_requested();
    const bool ended = !over && source_->has_ended();
    // The run may have begun and ended since it was not found.
    if (ended && find()) return;
    if (over || ended) throw MissingCollectionFiles(store_->location());
    const milliseconds rest = options.wait_for_run - waited;
    watch_->wait(poll_timer_ ? rest : std::min(rest, kLongestWait));
  }
}

std::shared_ptr<const Snapshot> TrialIndex::newest() const {
  const MutexLock lock(newest_mutex_);
  return newest_;
}

std::shared_ptr<const Snapshot> TrialIndex::up_to_date() {
  if (finished_.load(std::memory_order_acquire)) return newest();
  const MutexLock lock(refresh_mutex_);
  const IndexState& state = source_->state();
  if (!newest()->ended && !state.loss && (watch_->changed() || poll_again_)) poll();
  if (damage_reported_ < state.damage.size()) throw FormatError(state.damage[damage_reported_++]);
  finished_.store(newest()->ended || state.loss, std::memory_order_release);
  return newest();
}

bool TrialIndex::refresh() {
  const MutexLock lock(refresh_mutex_);
  return refresh_alone();
}

bool TrialIndex::refresh_if_due() {
  const MutexLock lock(refresh_mutex_);
  if (!poll_timer_ || poll_timer_->is_due()) return refresh_alone();
  throw_damage();
  return false;
}

bool TrialIndex::refresh_alone() {
  bool news = false;
  if (!newest()->ended && !source_->state().loss) {
    watch_->changed();  // Forgets the changes that this poll reads.
    news = poll();
  }
  throw_damage();
  return news;
}

/// Throws the worst damage; then all damage counts as reported.
void TrialIndex::throw_damage() {
  const FormatError* const damage = worst_damage();
  if (damage == nullptr) return;
  damage_reported_ = source_->state().damage.size();
  throw FormatError(*damage);
}

void TrialIndex::require_undamaged() {
  const MutexLock lock(refresh_mutex_);
  if (const FormatError* const damage = worst_damage()) throw FormatError(*damage);
}

/// The loss of the run, else the first damage; null if there is none.
const FormatError* TrialIndex::worst_damage() const noexcept {
  const IndexState& state = source_->state();
  if (state.loss) return &*state.loss;
  return state.damage.empty() ? nullptr : &state.damage.front();
}

void TrialIndex::warn_once(const std::string& text) {
  const std::string message =
      text.size() <= kLongestWarning ? text : text.substr(0, kLongestWarning) + "...";
  {
    const MutexLock lock(warned_mutex_);
    if (warned_.size() >= kMaxWarnings || !warned_.insert(message).second) return;
  }
  log(LogLevel::Warning, message);
}

bool TrialIndex::poll() {
  poll_again_ = true;
  bool news = false;
  try {
    news = read_and_publish();
  } catch (...) {
    if (poll_timer_) poll_timer_->poll_ended(false);
    throw;
  }
  if (poll_timer_) poll_timer_->poll_ended(news);
  poll_again_ = false;
  return news;
}

/// Reads what is new and publishes it, also when the store fails in the middle.
bool TrialIndex::read_and_publish() {
  bool ended = source_->begin_poll();
  bool news = false;
  try {
    if (ended && end_delay_.count() > 0) {
      news = source_->read_news(false, progress_);
      publish(false);
      std::this_thread::sleep_for(end_delay_);
      ended = source_->begin_poll();
    }
    news = source_->read_news(ended, progress_) || news;
  } catch (...) {
    publish_after_failure();
    throw;
  }
  const std::int64_t skipped_to = skipped_to_;
  publish(ended);
  return news || ended || skipped_to_ > skipped_to;
}

/// No snapshot shows a step with collections that are older than the step.
void TrialIndex::publish_after_failure() {
  if (source_->complete_after_failure()) publish(false);
}

void TrialIndex::publish(bool ended) {
  const IndexState& state = source_->state();
  if (state.replaced) return;  // The newest snapshot is the last one of the run that was read.
  static const auto no_steps = std::make_shared<const trial_detail::WorkerSteps>();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->data = source_->data();
  snapshot->collections = state.collections;
  snapshot->ended = ended;
  snapshot->index_bytes = state.index_bytes;
  snapshot->rewinds = state.rewinds;
  std::set<std::string_view, NaturalOrder> names;
  for (const auto& [name, worker] : state.workers) names.insert(name);
  for (const auto& [name, file] : state.collections->files()) names.insert(name);
  for (const std::string_view name : names) {
    const auto found = state.workers.find(name);
    std::shared_ptr<const trial_detail::WorkerSteps> steps =
        found == state.workers.end() ? no_steps : found->second.steps;
    const trial_detail::WorkerSteps::Sizes sizes = steps->sizes();
    snapshot->workers.push_back(
        {*source_->data()->worker_names.emplace(name).first, std::move(steps), sizes});
  }
  snapshot->passed = passed_step(*snapshot);
  if (wait_window_) skip_slow_workers(*snapshot);
  const MutexLock lock(newest_mutex_);
  newest_ = std::move(snapshot);
}

/// The least progress over the workers that the run has by its collections.
std::int64_t TrialIndex::passed_step(const Snapshot& snapshot) const {
  if (snapshot.ended) return kEverything;
  const IndexState& state = source_->state();
  struct Progress {
    std::int32_t attempt;
    std::int64_t step;
  };
  std::vector<Progress> progress;
  for (const Snapshot::Worker& worker : snapshot.workers) {
    Progress own{-1, -1};
    if (const auto known = state.workers.find(worker.name); known != state.workers.end())
      own = {known->second.attempt, known->second.progress};
    const auto& files = state.collections->files();
    if (const auto file = files.find(worker.name); file != files.end())
      own.attempt = std::max(own.attempt, file->second.content.attempt);
    if (state.ended_workers.contains(worker.name)) own.step = kEverything;
    progress.push_back(own);
  }
  const auto expected =
      static_cast<std::size_t>(std::max<std::int64_t>(state.collections->num_workers(), 1));
  if (progress.size() < expected) return -1;
  // A run that was restarted with fewer workers has left some behind: the newest attempts count.
  std::ranges::stable_sort(progress, std::ranges::greater{}, &Progress::attempt);
  progress.resize(expected, {});
  return std::ranges::min_element(progress, {}, &Progress::step)->step;
}

/// Passes steps that wait for slow workers, by halves of the window, until no more steps wait than
/// may. The poll that opens the run passes one half, so that the first query may still see these
/// steps wait.
void TrialIndex::skip_slow_workers(Snapshot& snapshot) {
  for (; rewinds_seen_ < snapshot.rewinds.size(); ++rewinds_seen_)
    skipped_to_ = std::min(skipped_to_, snapshot.rewinds[rewinds_seen_] - 1);
  snapshot.passed = std::max(snapshot.passed, skipped_to_);
  if (snapshot.passed == kEverything) return;
  std::vector<std::int64_t> waiting;
  trial_detail::StepMerge steps(trial_detail::SnapshotView(&snapshot, std::nullopt),
                                snapshot.passed + 1, kEverything);
  for (auto parts = steps.next(); !parts.empty(); parts = steps.next())
    waiting.push_back(parts.front().rows->step);
  const auto window = static_cast<std::size_t>(*wait_window_);
  if (waiting.size() <= window) return;
  const std::size_t half = std::max<std::size_t>(window / 2, 1);
  const bool opening = newest() == nullptr;
  const std::size_t halves = opening ? 1 : (waiting.size() - window + half - 1) / half;
  snapshot.passed = skipped_to_ = waiting[halves * half - 1];
}

}  // namespace cupel
