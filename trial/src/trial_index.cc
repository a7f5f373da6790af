#include "trial_index.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/layout.h"
#include "environment_options.h"
#include "step_merge.h"

namespace cupel {

using trial_detail::IndexData;
using trial_detail::IndexFollower;
using trial_detail::LookPace;
using trial_detail::RunCollections;
using trial_detail::RunLook;

namespace {

using std::chrono::milliseconds;

// A watch finds every change within the time it is asked to wait.
constexpr milliseconds kLongestWait(1000);

constexpr std::size_t kMaxWarnings = 100;
constexpr std::size_t kLongestWarning = 1000;

void check_range(const StepRange& range) {
  if (range.begin.value_or(0) < 0 || range.end.value_or(0) < 0)
    throw UsageError("range_steps must not be negative");
  if (range.begin && range.end && *range.begin >= *range.end)
    throw UsageError("range_steps must begin before it ends: " + std::to_string(*range.begin) +
                     ", " + std::to_string(*range.end));
}

std::optional<std::int64_t> wait_window_of(const TrialOptions& options) {
  if (!options.wait_window) return trial_detail::wait_window_from_environment();
  if (*options.wait_window >= 1) return options.wait_window;
  throw UsageError("wait_window must be at least 1: " + std::to_string(*options.wait_window));
}

std::shared_ptr<const Store> checked(std::shared_ptr<const Store> store) {
  if (!store) throw UsageError("A trial needs a store");
  return store;
}

const TrialOptions& checked(const TrialOptions& options) {
  check_range(options.range_steps);
  if (options.requests_at_once < 1)
    throw UsageError("requests_at_once must be at least 1: " +
                     std::to_string(options.requests_at_once));
  for (const milliseconds time :
       {options.poll_least, options.poll_most, options.poll_all, options.value_patience})
    if (time < milliseconds(0))
      throw UsageError("times of polling and patience must not be negative: " +
                       std::to_string(time.count()) + " ms");
  return options;
}

std::shared_ptr<const TrialClock> clock_of(const TrialOptions& options) {
  return options.clock ? options.clock : std::make_shared<const TrialClock>();
}

std::unique_ptr<RunLook> look_over(const Store& store, std::shared_ptr<const TrialClock> clock,
                                   const TrialOptions& options) {
  if (store.can_append()) return std::make_unique<trial_detail::AskingLook>(store);
  return std::make_unique<trial_detail::ListingLook>(store, std::move(clock), options.poll_all);
}

}  // namespace

TrialIndex::TrialIndex(std::shared_ptr<const Store> store, const TrialOptions& options)
    : store_(checked(std::move(store))),
      clock_(clock_of(checked(options))),
      pace_(store_->can_append() ? nullptr : std::make_shared<LookPace>(clock_, options)),
      data_(std::make_shared<IndexData>()),
      reader_(*store_, *data_, clock_, options),
      end_delay_(options.end_delay ? *options.end_delay
                                   : trial_detail::end_delay_from_environment()),
      wait_window_(wait_window_of(options)),
      watch_(watch()),
      look_(look_over(*store_, clock_, options)),
      follower_(*store_, *look_, *clock_, *data_, options) {
  const std::lock_guard lock(refresh_mutex_);
  await_collections(options);
  follower_.tell_progress(options.progress);
  look();
  follower_.tell_progress({});
  look_owed_ = wait_window_.has_value();  // it went on without slow workers by one half only
  if (replaced_) throw FormatError(*loss_);
  const auto files = static_cast<std::int64_t>(collections_->files().size());
  if (newest()->ended && files < collections_->num_workers())
    throw MissingCollectionFiles(store_->location(),
                                 "the run has ended with " + std::to_string(files) + " of " +
                                     std::to_string(collections_->num_workers()) + " workers");
}

std::unique_ptr<Watch> TrialIndex::watch() const {
  return pace_ ? pace_->watch() : store_->watch();
}

void TrialIndex::await_collections(const TrialOptions& options) {
  const std::stop_callback wake_on_stop(options.stop_waiting, [this] { watch_->wake(); });
  const TrialClock::Time begin = clock_->now();
  const auto read = [&] {
    collections_ = RunCollections::read(*store_);
    if (pace_) pace_->looked(false);
    return !collections_->files().empty();
  };
  for (;;) {
    if (read()) return;
    const auto waited = std::chrono::duration_cast<milliseconds>(clock_->now() - begin);
    const bool over = waited >= options.wait_for_run || options.stop_waiting.stop_requested();
    const bool ended = !over && store_->stat(kEndMarker);
    // It may have begun and ended since the files were looked for.
    if (ended && read()) return;
    if (over || ended) throw MissingCollectionFiles(store_->location());
    const milliseconds rest = options.wait_for_run - waited;
    watch_->wait(pace_ ? rest : std::min(rest, kLongestWait));
  }
}

std::shared_ptr<const Snapshot> TrialIndex::newest() const {
  const std::lock_guard lock(newest_mutex_);
  return newest_;
}

std::shared_ptr<const Snapshot> TrialIndex::up_to_date() {
  if (at_rest_.load(std::memory_order_acquire)) return newest();
  const std::lock_guard lock(refresh_mutex_);
  if (!newest()->ended && !loss_ && (watch_->changed() || look_owed_)) look();
  if (damage_told_ < damage_.size()) throw FormatError(damage_[damage_told_++]);
  at_rest_.store(newest()->ended || loss_, std::memory_order_release);
  return newest();
}

bool TrialIndex::refresh() {
  const std::lock_guard lock(refresh_mutex_);
  return refresh(lock);
}

bool TrialIndex::refresh_if_due() {
  const std::lock_guard lock(refresh_mutex_);
  if (!pace_ || pace_->is_due()) return refresh(lock);
  throw_damage();
  return false;
}

bool TrialIndex::refresh(const std::lock_guard<std::mutex>& /*lock*/) {
  bool news = false;
  if (!newest()->ended && !loss_) {
    watch_->changed();  // what it has to say is looked at now
    news = look();
  }
  throw_damage();
  return news;
}

/// Tells the worst damage, and that all was told.
void TrialIndex::throw_damage() {
  const FormatError* const damage = worst_damage();
  if (damage == nullptr) return;
  damage_told_ = damage_.size();
  throw FormatError(*damage);
}

void TrialIndex::require_undamaged() {
  const std::lock_guard lock(refresh_mutex_);
  if (const FormatError* const damage = worst_damage()) throw FormatError(*damage);
}

/// What ended the run for us, else the first damage; null if there is none.
const FormatError* TrialIndex::worst_damage() const noexcept {
  if (loss_) return &*loss_;
  return damage_.empty() ? nullptr : &damage_.front();
}

void TrialIndex::warn_once(const std::string& text) {
  const std::string message =
      text.size() <= kLongestWarning ? text : text.substr(0, kLongestWarning) + "...";
  {
    const std::lock_guard lock(warned_mutex_);
    if (warned_.size() >= kMaxWarnings || !warned_.insert(message).second) return;
  }
  log(LogLevel::Warning, message);
}

bool TrialIndex::look() {
  look_owed_ = true;
  bool news = false;
  try {
    news = look_for_news();
  } catch (...) {
    if (pace_) pace_->looked(false);
    throw;
  }
  if (pace_) pace_->looked(news);
  look_owed_ = false;
  return news;
}

/// Reads what is new and publishes it, also when a store fails on the way.
bool TrialIndex::look_for_news() {
  // Whatever was committed before the marker was written is listed after it was seen.
  RunLook::Begin begun = begin_look();
  std::set<std::string, std::less<>> ended_workers;
  for (std::string& worker : look_->ended_workers()) ended_workers.insert(std::move(worker));

  bool news = false;
  try {
    if (begun.ended && end_delay_.count() > 0) {
      news = read_news({.ended = false, .whole = true});
      publish(ended_workers, false);
      std::this_thread::sleep_for(end_delay_);
      begun = begin_look();
    }
    news = read_news(begun) || news;
  } catch (...) {
    publish_what_came();
    throw;
  }
  const std::int64_t conceded = conceded_;
  publish(std::move(ended_workers), begun.ended);
  return news || begun.ended || conceded_ > conceded;
}

RunLook::Begin TrialIndex::begin_look() {
  const auto workers = std::max<std::int64_t>(
      collections_->num_workers(), static_cast<std::int64_t>(collections_->files().size()));
  return look_->begin(follower_.listing_begins(), static_cast<std::size_t>(workers));
}

/// Reads what was committed since the last time; true if steps came or went.
bool TrialIndex::read_news(RunLook::Begin begun) {
  // Which attempts there were is known before the last segments are judged.
  if (begun.ended) read_collections();
  if (replaced_) return false;
  // Where every request costs they are not asked for twice in one look.
  const bool were_read = pace_ && (begun.ended || newest() == nullptr);
  collections_owed_ = collections_owed_ || (begun.whole && !were_read);
  const bool news = follower_.follow(begun.ended, *collections_);
  // The tags of a step are written before its index is, so they are read after it.
  if (collections_owed_ || follower_.needs_collections()) read_collections();
  return news;
}

void TrialIndex::read_collections() {
  if (loss_) return;
  RunCollections::News found = collections_->read_changes(*store_);
  note_damage(found);
  if (found.changed) collections_ = std::move(found.changed);
  collections_owed_ = false;
  follower_.collections_were_read();
}

/// After a failure: no step is seen with collections that are older than it.
void TrialIndex::publish_what_came() {
  try {
    if (collections_owed_ || follower_.needs_collections()) read_collections();
    publish(ended_workers_, false);
  } catch (const StoreError&) {  // then it comes with the next look
  }
}

/// Keeps what is new of damage. Where the run was lost, all else that broke has broken with it.
void TrialIndex::note_damage(RunCollections::News& found) {
  if (found.loss) {
    loss_ = found.loss;
    replaced_ = found.replaced;
    damage_.push_back(*std::move(found.loss));
    return;
  }
  const std::vector<FormatError>& followed = follower_.damage();
  while (damage_followed_ < followed.size()) damage_.push_back(followed[damage_followed_++]);
  for (FormatError& error : found.damage) {
    const std::string_view text = error.what();
    const auto is_it = [text](const FormatError& known) { return text == known.what(); };
    if (std::ranges::none_of(damage_, is_it)) damage_.push_back(std::move(error));
  }
}

void TrialIndex::publish(std::set<std::string, std::less<>> ended_workers, bool ended) {
  if (replaced_) return;  // the newest snapshot is the last one of the run that was read
  ended_workers_ = std::move(ended_workers);
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->data = data_;
  snapshot->collections = collections_;
  snapshot->ended = ended;
  snapshot->index_bytes = follower_.index_bytes();
  snapshot->rewinds = follower_.rewinds();
  std::set<std::string_view, trial_detail::WorkerOrder> names;
  for (const auto& [name, worker] : follower_.workers()) names.insert(name);
  for (const auto& [name, file] : collections_->files()) names.insert(name);
  for (const std::string_view name : names) {
    static const auto no_steps = std::make_shared<const trial_detail::WorkerSteps>();
    const auto found = follower_.workers().find(name);
    std::shared_ptr<const trial_detail::WorkerSteps> steps =
        found == follower_.workers().end() ? no_steps : found->second.steps;
    const trial_detail::WorkerSteps::Sizes sizes = steps->sizes();
    snapshot->workers.push_back(
        {*data_->worker_names.emplace(name).first, std::move(steps), sizes});
  }
  snapshot->passed = settled(*snapshot, ended_workers_);
  if (wait_window_) concede(*snapshot);
  const std::lock_guard lock(newest_mutex_);
  newest_ = std::move(snapshot);
}

/// The least progress over the workers that the run says it has.
std::int64_t TrialIndex::settled(const Snapshot& snapshot,
                                 const std::set<std::string, std::less<>>& ended_workers) const {
  constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max();
  if (snapshot.ended) return kEverything;
  struct Progress {
    std::int32_t attempt;
    std::int64_t step;
  };
  std::vector<Progress> progress;
  for (const Snapshot::Worker& worker : snapshot.workers) {
    Progress own{-1, -1};
    if (const auto known = follower_.workers().find(worker.name);
        known != follower_.workers().end())
      own = {known->second.attempt, known->second.progress};
    if (const auto file = collections_->files().find(worker.name);
        file != collections_->files().end())
      own.attempt = std::max(own.attempt, file->second.content.attempt);
    if (ended_workers.contains(worker.name)) own.step = kEverything;
    progress.push_back(own);
  }
  const auto wanted =
      static_cast<std::size_t>(std::max<std::int64_t>(collections_->num_workers(), 1));
  if (progress.size() < wanted) return -1;
  // A run that went on with fewer workers has left some behind: those of the newest attempts count.
  std::ranges::stable_sort(progress, std::ranges::greater{}, &Progress::attempt);
  progress.resize(wanted, {});
  return std::ranges::min_element(progress, {}, &Progress::step)->step;
}

/// Goes on without slow workers, by halves of the window, until no more steps wait than may; the
/// look that opens the run by one half, so that whoever asks at once may still see them come.
void TrialIndex::concede(Snapshot& snapshot) {
  for (; rewinds_seen_ < snapshot.rewinds.size(); ++rewinds_seen_)
    conceded_ = std::min(conceded_, snapshot.rewinds[rewinds_seen_] - 1);
  snapshot.passed = std::max(snapshot.passed, conceded_);
  constexpr std::int64_t kEverything = std::numeric_limits<std::int64_t>::max();
  if (snapshot.passed == kEverything) return;
  std::vector<std::int64_t> waiting;
  trial_detail::StepMerge steps(trial_detail::Reading(&snapshot, std::nullopt), snapshot.passed + 1,
                                kEverything);
  for (auto parts = steps.next(); !parts.empty(); parts = steps.next())
    waiting.push_back(parts.front().rows->step);
  const auto window = static_cast<std::size_t>(*wait_window_);
  if (waiting.size() <= window) return;
  const std::size_t half = std::max<std::size_t>(window / 2, 1);
  const bool opening = newest() == nullptr;
  const std::size_t halves = opening ? 1 : (waiting.size() - window + half - 1) / half;
  snapshot.passed = conceded_ = waiting[halves * half - 1];
}

}  // namespace cupel
