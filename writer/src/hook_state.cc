// How a hook begins and ends. What it does at each step is in hook_steps.cc.

#include "hook_state.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <thread>
#include <tuple>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/core/printable.h"
#include "cupel/format/events_writer.h"
#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"
#include "cupel/writer/environment.h"
#include "option_limits.h"
#include "value_bytes.h"

namespace cupel {
namespace {

constexpr std::size_t kChunkBytes = 16U << 20U;
constexpr std::uint64_t kLeastBufferBytes = 1U << 20U;
constexpr auto kForEver = std::chrono::hours(24 * 365);  // longer waits overflow clocks
constexpr std::size_t kMostProblems = 100;
constexpr std::ptrdiff_t kMostNotesOfAKind = 100;
constexpr const char* kChief = "worker_0";

void check_options(const HookOptions& options) {
  const auto demand = [](bool holds, const std::string& otherwise) {
    if (!holds) throw UsageError(otherwise);
  };
  options.save_config.validate();
  if (options.reduction_config) static_cast<void>(options.reduction_config->set());
  check_worker_name(options.worker);
  demand(options.include_workers == "one" || options.include_workers == "all",
         "include_workers is \"one\" or \"all\": \"" + options.include_workers + '"');
  demand(options.buffer_bytes >= kLeastBufferBytes,
         "buffer_bytes is at least 1 MiB: " + std::to_string(options.buffer_bytes));
  demand(options.segment_bytes >= 1, "segment_bytes is at least 1");
  demand(!options.segment_age || options.segment_age->count() >= 1, "segment_age is at least 1 ms");
  demand(options.spool_bytes >= std::uint64_t{kLeastSpoolBytes},
         "spool_bytes is at least 1 MiB: " + std::to_string(options.spool_bytes));
  demand(options.upload_parallelism >= 1 && options.upload_parallelism <= kMostUploads,
         "upload_parallelism is 1 to 64: " + std::to_string(options.upload_parallelism));
  demand(options.close_timeout.count() >= 0, "close_timeout is not negative");
  demand(options.commit_timeout.count() >= 0, "commit_timeout is not negative");
  if (const auto budget = options.overhead_budget)
    demand(*budget > 0 && *budget < 1,
           "overhead_budget is a share, above 0 and below 1: " + std::to_string(*budget));
  for (const std::string& pattern : options.include_regex) static_cast<void>(Pattern(pattern));
  for (const std::string& name : options.include_collections)
    demand(!name.empty(), "include_collections has an empty name");
}

// Options as they hold in this process: who it is, and no wait that a clock cannot add.
HookOptions settled(HookOptions options) {
  if (const auto workers = options.num_workers; workers && *workers < 1)
    throw UsageError("num_workers is at least 1: " + std::to_string(*workers));
  const WorkerIdentity identity = worker_identity(options.worker, options.num_workers.value_or(0));
  options.worker = identity.name;
  options.num_workers = identity.count;
  check_options(options);
  options.commit_timeout = std::min<std::chrono::milliseconds>(options.commit_timeout, kForEver);
  options.close_timeout = std::min<std::chrono::milliseconds>(options.close_timeout, kForEver);
  if (options.segment_age)
    options.segment_age = std::min<std::chrono::milliseconds>(*options.segment_age, kForEver);
  return options;
}

// A hook may be of static storage, and be closed when the process exits.
bool lasting_encoder() {
  static const bool prepared = [] {
    prepare_encoding();
    return true;
  }();
  return prepared;
}

}  // namespace

Hook::State::State(HookOptions hook_options, std::vector<Collection> configured,
                   std::shared_ptr<Store> into)
    : options(saving_enabled() ? settled(std::move(hook_options)) : std::move(hook_options)),
      inert(!saving_enabled() || !lasting_encoder()),
      collections(initial_collections(options)),
      groups(collections, [this](const Membership& members) { return decide(members); }) {
  for (Collection& collection : configured)
    collections.insert_or_assign(collection.name(), std::move(collection));
  if (inert) return;
  // Static objects of the encoder were made before: they are destroyed after the call at exit.
  at_exit_.emplace([this] { close_at_exit(); });
  if (options.export_tensorboard || !options.tensorboard_dir.empty()) {
    log(LogLevel::Warning,
        "export_tensorboard is kept, but this version does not export to TensorBoard");
  }
  // Of several workers only the chief saves, unless all are asked for.
  decides = options.include_workers == "all" || options.worker == kChief;
  writes = decides && !options.dry_run;
  if (!decides) {
    log(LogLevel::Info,
        options.worker + " saves nothing: with include_workers \"one\" only " + kChief + " does");
  }
  if (!options.dry_run) open(std::move(into));
}

void Hook::State::open(std::shared_ptr<Store> into) {
  if (!writes) {
    stop_watch.emplace(into ? std::move(into) : open_store_of_run(options));
    stop_watch->begin();
    return;
  }
  output.emplace(options, std::move(into));
  if (options.existing == Existing::Continue) counters = output->last_steps();
  if ((checkpoints = CheckpointMetadata::from_environment())) {
    const StepCounters& restored = checkpoints->restored().counters;
    if (restored.global >= 0) counters = restored;
    // All go on from there, one keeps the notes.
    if (options.worker != kChief && options.num_workers != 1) checkpoints.reset();
  }
  find_earlier_steps();
  pool.emplace(options.buffer_bytes, kChunkBytes);
  metrics = MetricLog::from_environment();
  if (options.overhead_budget) {
    governor.emplace(*options.overhead_budget,
                     SavingLevel{.in_background = options.commit == Commit::Background});
    level = governor->level();
  }
  output->begin();
}

void Hook::State::prepare() {
  for (const auto& [name, collection] : collections)
    if (const char* defect = collection_name_defect(name))
      throw UsageError(std::string(defect) + ": " + printable(name));
  SavePlan made(collections, options);
  // Refuses what no reader would open, before anything is saved.
  const std::uint32_t collections_crc32c = writes ? output->write_collections(groups, {}) : 0;
  plan.emplace(std::move(made));
  groups.follow(*plan);
  if (!writes) return;
  writer.emplace(output->store(), output->segment_policy(index_columns(), collections_crc32c),
                 *pool, committed_step);
  recorder.emplace(*writer, *pool);
}

void Hook::State::complain(NamedTensor* tensor, const std::string& what) {
  if (tensor != nullptr && tensor->complained.exchange(true)) return;
  if (options.on_error == OnError::Throw) throw UsageError(what);
  tell(what);
}

void Hook::State::tell(std::string what, LogLevel severity) {
  log(severity, what);
  const MutexLock lock(mutex_);
  if (problems_.size() < kMostProblems) problems_.push_back(std::move(what));
}

void Hook::State::complain_later(std::string what) {
  if (options.on_error == OnError::Throw) {
    late_complaints_.push_back(std::move(what));
  } else {
    complain(nullptr, what);
  }
}

// There is no next step that could throw them.
void Hook::State::tell_late_complaints() noexcept {
  try {
    for (const std::string& what : late_complaints_) tell(what);
  } catch (const std::exception&) {
    log(LogLevel::Warning, "no memory for all that the report of the hook has to tell");
  }
}

void Hook::State::disable(const char* what) noexcept {
  if (disabled.exchange(true)) return;
  groups.nothing_is_due();
  try {
    const std::string message = "saving has ended, training goes on: " + std::string(what);
    {
      const MutexLock lock(mutex_);
      problems_.emplace_back(what);
    }
    log(LogLevel::Error, message);
  } catch (const std::exception&) {  // no memory even for that
    log(LogLevel::Error, "saving has ended, training goes on");
  }
}

// A call raises calls_ and then looks at alone_; this thread raises alone_ and then looks at
// calls_. One of the two sees the other.
Hook::State::Alone::Alone(State& state) : state_(state) {
  if (state.is_inside_call()) {
    may_change_ = state.is_acting();
    return;
  }
  // First: what interrupts this thread must not wait for what it holds.
  waiting_.emplace(state, true);
  lock_.emplace(state.alone_mutex_);
  state.alone_ = true;
  constexpr int kTries = 100;
  for (int tries = 0; state.busy(); ++tries) {
    if (tries < kTries) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  may_change_ = true;
}

Hook::State::Alone::~Alone() {
  if (lock_) state_.alone_ = false;
}

thread_local const Hook::State::Inside* Hook::State::innermost_ = nullptr;

bool Hook::State::is_inside_call() const noexcept {
  for (const Inside* each = innermost_; each != nullptr; each = each->outer_)
    if (&each->state_ == this) return true;
  return false;
}

bool Hook::State::is_acting() const noexcept {
  for (const Inside* each = innermost_; each != nullptr; each = each->outer_)
    if (&each->state_ == this && !each->waits_) return true;
  return false;
}

void Hook::State::report_save_beside_step(std::string_view name) {
  if (reported_save_beside_step_.exchange(true)) return;
  complain(nullptr,
           "a thread saved a tensor beside next_step(), set_mode() or close() of another "
           "thread, and this save was dropped (reported once): " +
               printable(name));
}

void Hook::State::warn_before_first_step(std::string_view name) {
  if (warned_before_first_step_.exchange(true)) return;
  log(LogLevel::Warning,
      "saved before the first next_step(), and so not saved (said once): " + printable(name));
}

void Hook::State::note(std::string text) {
  // With the kind it begins. None keeps others from being told.
  const std::string_view kind = std::string_view(text).substr(0, text.find(','));
  const MutexLock lock(mutex_);
  if (std::ranges::count_if(report.notes, [&](const std::string& other) {
        return other.starts_with(kind);
      }) >= kMostNotesOfAKind)
    return;
  report.notes.push_back(text);
  notes_.push_back(std::move(text));
}

// Collections that were configured when saving had begun may be too large; then the file stays as
// it was written at the start, without the counters.
void Hook::State::write_collections_at_close() {
  try {
    if (!output->write_last_collections(groups, counters))
      tell_spool_is_full("the collections that close() writes, which count all steps");
  } catch (const UsageError& error) {
    tell(error.what());
  }
}

void Hook::State::finish() {
  if (!step_mode && has_early_scalars()) next_step();
  if (!plan) prepare();
  end_step();
  if (decides && step_mode) report_empty_collections();
  if (writer) writer->wait_until_idle();
  check_writer();
  if (metrics) metrics->flush();
  if (!writes) return;
  report_hidden_steps();
  // All at once: a second step without values would have the number of the first.
  count_refused();
  count_lost();
  say_the_rest();
  writer->hand_over(SealNow{});
  writer->wait_until_idle();
  check_writer();
  // Where uploads may make room, now they have what they need for it.
  write_collections_at_close();
  if (!output->write_end()) tell_spool_is_full("the end of the run");
}

void Hook::State::tell_spool_is_full(const char* what) {
  tell(std::string("the spool is full: there is no room for ") + what);
}

// Saving has ended before training did. What was committed is in the run; that more is missing is
// said there, too, if that can still be written.
void Hook::State::leave_last_note() noexcept {
  if (!recorder) return;
  try {
    recorder->drop();
    recorder->end();
    output->take_back_end();
    const std::int64_t last = committed_step;
    // Short enough for the index alone.
    std::string text = R"({"kind":"disabled","after_step":)" + std::to_string(last) + '}';
    report.notes.push_back(text);
    const std::int64_t step = std::max(counters.global, last + 1);
    writer->hand_over(LastNote{{step, Mode::Global, step, microseconds_now()},
                               groups.find_or_add(kNoteTensor),
                               std::move(text)});
    writer->hand_over(SealNow{});
    writer->wait_until_idle();
  } catch (...) {
    log(LogLevel::Debug, "the run does not say that saving has ended");  // log and report have
  }
}

// Waits until the store has what was written. What it did not take is reported.
void Hook::State::deliver(Clock::time_point until) noexcept {
  if (!output) return;
  Delivery delivery = output->deliver(until);
  report.steps_not_uploaded = delivery.steps_left;
  report.bytes_not_uploaded = delivery.bytes_left;
  try {
    const MutexLock lock(mutex_);
    for (std::string& problem : delivery.problems) problems_.push_back(std::move(problem));
  } catch (const std::exception& error) {
    log(LogLevel::Error, error.what());
  }
}

void Hook::State::close() {
  const Busy until_all_is_taken_apart(*this);
  if (closed.exchange(true)) return;
  const auto until = Clock::now() + options.close_timeout;
  if (output) output->stop_waiting_at(until);
  std::exception_ptr error;
  {
    const Call counted(*this);
    try {
      if (!disabled && !inert) finish();
    } catch (const std::exception& caught) {
      error = std::current_exception();
      disable(caught.what());
    } catch (...) {
      error = std::current_exception();
      disable("something was thrown that is no std::exception");
    }
    tell_late_complaints();
    groups.nothing_is_due();
    if (disabled) leave_last_note();
    deliver(until);
  }
  fill_report();
  recorder.reset();
  writer.reset();
  output.reset();
  metrics.reset();
  pool.reset();
  if (error && options.on_error == OnError::Throw) std::rethrow_exception(error);
}

// From a destructor, from the exit of the process, or from both. Another thread's call either is
// seen here, or sees that there is nothing to do any more.
bool Hook::State::close_at_exit() noexcept {
  if (is_copy()) return false;
  exiting = true;
  if (busy()) {
    if (!told_of_exit.exchange(true)) {
      log(LogLevel::Error, "the process exits inside a call of the hook: the run is left as it is");
      if (writer) writer->halt();
      if (output) output->halt();
    }
    return false;
  }
  try {
    close();
  } catch (const std::exception& error) {
    log(LogLevel::Error, error.what());
  } catch (...) {  // told by disable()
  }
  return true;
}

HookReport Hook::State::told() const noexcept {
  try {
    return report;
  } catch (const std::exception&) {
    HookReport numbers;
    numbers.steps_begun = report.steps_begun;
    numbers.steps_committed = report.steps_committed;
    numbers.last_committed_step = report.last_committed_step;
    numbers.rows = numbers.tensors_saved = report.rows;
    numbers.value_bytes = report.value_bytes;
    numbers.steps_dropped = report.steps_dropped;
    numbers.steps_left_out = report.steps_left_out;
    numbers.overhead = report.overhead;
    numbers.waiting = report.waiting;
    numbers.steps_not_uploaded = report.steps_not_uploaded;
    numbers.bytes_not_uploaded = report.bytes_not_uploaded;
    numbers.disabled = report.disabled;
    return numbers;
  }
}

double Hook::State::share_of_time(std::int64_t ns) const {
  const auto total = std::chrono::nanoseconds(Clock::now() - created_).count();
  return total <= 0 ? 0 : static_cast<double>(ns) / static_cast<double>(total);
}

void Hook::State::fill_report() noexcept {
  if (writer) {
    writer->wait_until_idle();
    const WriterProgress progress = writer->progress();
    report.steps_committed = progress.steps;
    report.last_committed_step = progress.committed_step;
    report.rows = report.tensors_saved = progress.rows;
    report.value_bytes = progress.value_bytes;
  }
  report.steps_begun = steps_begun;
  report.overhead = share_of_time(spent_ns_);
  report.waiting = share_of_time(waited_ns_ + (pool ? pool->waited().count() : 0));
  report.disabled = disabled;
  try {
    fill_texts();
  } catch (const std::exception&) {
    log(LogLevel::Warning, "no memory for all that the report of the hook has to tell");
  }
}

void Hook::State::fill_texts() {
  {
    const MutexLock lock(mutex_);
    report.problems = std::move(problems_);
  }
  if (disabled && writes) {
    report.problems.emplace_back(
        "the run is left without its end marker; what was committed stays readable");
  }
  for (const NamedTensor& named : groups.tensors()) {
    if (!inert && groups.is_unwanted(named) && !named.saved && !is_reserved_tensor(named.name)) {
      report.never_saved.push_back(named.name);
    }
  }
  std::sort(report.never_saved.begin(), report.never_saved.end());
}

}  // namespace cupel
