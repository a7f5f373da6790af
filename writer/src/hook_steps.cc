// What a hook does at each step. How it begins and ends is in hook_state.cc.

#include <algorithm>
#include <iterator>

#include "cupel/core/error.h"
#include "cupel/core/mutex.h"
#include "cupel/core/printable.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "hook_state.h"
#include "note_text.h"
#include "value_bytes.h"

namespace cupel {
namespace {

constexpr auto kOverheadPeriod = std::chrono::seconds(1);
constexpr std::uint64_t kStepsUnderWay = 2;  // that a writer may have before it, and not be behind
constexpr SaveDecision kRawOnly{.raw = true};

// What is saved instead of a raw value that there is no time for.
ReductionSet instead_of_raw() {
  return ReductionConfig{
      .reductions = {"min", "max", "mean", "std"}, .abs_reductions = {"mean"}, .norms = {"l2"}}
      .set();
}

std::string joined(const std::vector<std::string>& complaints) {
  std::string all;
  for (const std::string& complaint : complaints) all += (all.empty() ? "" : "; ") + complaint;
  return all;
}

}  // namespace

std::int64_t Hook::State::microseconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

ReductionSet Hook::State::index_columns() const {
  ReductionSet columns = plan->columns();
  if (governor) columns |= instead_of_raw();
  return columns;
}

SaveDecision Hook::State::decide(const Membership& members) const {
  const bool due = step_mode == mode && !step_is_left_out && active() && decides;
  return due ? plan->decide(members, mode, counters[mode]) : SaveDecision{};
}

void Hook::State::next_step() {
  const auto begin = Clock::now();
  const bool is_first = !plan;
  if (is_first) {
    prepare();
    first_begin_ = begin;
  }
  end_step();
  check_writer();
  if (writer) count_refused();
  if (writer) count_lost();
  if (output)
    if (auto news = output->news_of_uploads(counters.global)) note(std::move(*news));
  if (checkpoints) checkpoints->look(counters, committed_step);
  if (metrics) metrics->flush();
  poll_stop();
  counters.count(mode);
  ++steps_begun;
  govern(begin);
  begin_step();
  if (is_first && decides) report_misspelt_collections();
  if (!late_complaints_.empty()) complain(nullptr, joined(std::exchange(late_complaints_, {})));
}

void Hook::State::govern(Clock::time_point begin) {
  if (governor) {
    const auto now = Clock::now();
    const auto spent = std::chrono::nanoseconds(spent_ns_) + (now - begin);
    const SavingLevel before = governor->level();
    const bool was_due = step_is_due && !step_is_left_out;
    const bool is_behind = writer && writer->progress().commits + kStepsUnderWay < commits_;
    if (governor->observe(now - first_begin_, spent, was_due, is_behind)) {
      level = governor->level();
      note(note_text({{"kind", "saving_level"},
                      {"step", counters.global},
                      {"level", level.to_text()},
                      {"before", before.to_text()},
                      {"share", governor->recent_share()},
                      {"budget", governor->budget()}}));
    }
  }
  step_is_due = plan->is_any_active(mode, counters[mode]);
  step_is_left_out = step_is_due && governor && !governor->admit();
  if (step_is_left_out) ++report.steps_left_out;
}

void Hook::State::begin_step() {
  step_mode = mode;
  has_begun = true;
  std::vector<std::pair<NamedTensor*, double>> early;
  {
    const MutexLock lock(mutex_);
    module_values_.clear();
    early.swap(early_scalars_);
  }
  if (recorder) {
    spool_had_room_ = output->has_room();
    recorder->begin({counters.global, mode, counters[mode], microseconds_now()}, when_full(),
                    when_full() == WhenFull::Block || has_room());
  }
  groups.decide_all();
  for (const auto& [scalar, value] : early) save(*scalar, TensorView(&value, {}), kRawOnly);
}

void Hook::State::end_step() {
  if (!recorder || !recorder->has_records()) return;
  const std::int64_t step = recorder->step();
  if (!recorder->dropped()) {
    note_hidden_steps();
    add_own_tensors();
  }
  const bool is_lost = recorder->dropped();
  const auto ended = recorder->end();
  ++commits_;
  if (is_lost) return count_dropped(step);
  if (closed) return;  // finish() waits
  if (!level.in_background && options.commit == Commit::Step) {
    await_commit(*ended);
  } else {
    await_room();
  }
}

// What the hook still has to say rides in a step of its own. The writer is idle, so that there is
// room in the buffers.
void Hook::State::say_the_rest() {
  if (steps_begun == 0 || (dropped_.count == 0 && !has_notes())) return;
  // Behind the last step, if that is in the run.
  const bool is_step_free = committed_step < counters.global;
  const std::int64_t behind = counters.global + 1;
  const std::int64_t now = microseconds_now();
  recorder->begin(is_step_free ? StepHeader{counters.global, mode, counters[mode], now}
                               : StepHeader{behind, Mode::Global, behind, now},
                  WhenFull::Block, true);
  add_own_tensors();
  if (recorder->end()) writer->wait_until_idle();
}

void Hook::State::await_commit(Step& step) {
  const auto begin = Clock::now();
  const bool still_behind = behind_ && writer->progress().commits + 1 < commits_;
  const auto at_most = still_behind ? std::chrono::milliseconds(0) : options.commit_timeout;
  const bool committed = writer->wait_for_commits(commits_, step, at_most);
  waited_ns_ += (Clock::now() - begin).count();
  if (!committed) {
    const std::string number = std::to_string(step.header.step);
    note(note_text(
        {{"kind", "commit_timeout"}, {"step", step.header.step}, {"waited_ms", at_most.count()}}));
    if (!still_behind) {
      complain_later("step " + number + " was not committed within " +
                     std::to_string(at_most.count()) +
                     " ms; it may be later, and the steps behind it do not wait");
    }
  }
  behind_ = !committed;
  await_room();
}

// Who is over a budget does not wait.
WhenFull Hook::State::when_full() const {
  return governor && level != governor->full() ? WhenFull::DropStep : options.when_full;
}

// Values are bounded by the pool; what describes them, here.
std::size_t Hook::State::most_records() const {
  return std::max<std::size_t>(options.buffer_bytes / 4 / sizeof(Record), 1);
}

bool Hook::State::has_few_records() const { return writer->records_waiting() <= most_records(); }

bool Hook::State::has_room() const { return has_few_records() && spool_had_room_; }

void Hook::State::await_room() {
  if (when_full() == WhenFull::DropStep || has_few_records()) return;
  const auto begin = Clock::now();
  writer->wait_for_records_below(most_records());
  waited_ns_ += (Clock::now() - begin).count();
}

void Hook::State::count_dropped(std::int64_t step) {
  ++report.steps_dropped;
  if (dropped_.count++ == 0) {
    dropped_.first = step;
    dropped_by_spool_ = !spool_had_room_;
    complain_later(std::string(dropped_by_spool_ ? "the spool is full" : "the buffers are full") +
                   ": step " + std::to_string(step) +
                   " is left out, and those behind it until there is room");
  }
  dropped_.last = step;
}

// Steps that no reader would have taken: nothing of them is in the run.
void Hook::State::count_refused() {
  LostSteps news = writer->take_refused_steps();
  if (news.count == 0) return;
  {
    const MutexLock lock(mutex_);
    notes_.insert(notes_.begin(), std::make_move_iterator(news.notes.begin()),
                  std::make_move_iterator(news.notes.end()));
  }
  report.steps_dropped += news.count;
  note_dropped(news, "there was more in the index of a step than readers take");
  if (std::exchange(told_of_refused_, true)) return;
  complain_later("step " + std::to_string(news.first) + " is left out: its rows take up to " +
                 std::to_string(news.bytes) + " bytes of the index, and readers take at most " +
                 std::to_string(format_limits().index_message) +
                 " of a step; so is every other step that is as large");
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

void Hook::State::note_dropped(const LostSteps& steps, const char* why) {
  note(note_text({{"kind", "dropped_steps"},
                  {"first", steps.first},
                  {"last", steps.last},
                  {"count", steps.count},
                  {"why", why}}));
}

// What the hook says about itself rides in a step that exists anyway.
void Hook::State::add_own_tensors() {
  const auto now = Clock::now();
  if (closed || now - overhead_saved_ >= kOverheadPeriod) {
    overhead_saved_ = now;
    const double share = share_of_time(spent_ns_);
    recorder->save(*groups.find_or_add(kOverheadTensor), TensorView(&share, {}), kRawOnly);
  }
  if (dropped_.count > 0) {
    note_dropped(std::exchange(dropped_, {}),
                 dropped_by_spool_ ? kSpoolWasFull : "the buffers were full");
  }
  std::vector<std::string> texts;
  {
    const MutexLock lock(mutex_);
    texts = notes_;
  }
  const TensorView view(texts.data(), {texts.size()});
  // No step of the user's is dropped for a note.
  if (texts.empty() ||
      (when_full() == WhenFull::DropStep && !recorder->has_room_for(value_length(view))))
    return;
  recorder->save(*groups.find_or_add(kNoteTensor), view, kRawOnly);
  if (recorder->dropped()) return;  // said again with the next step
  recorder->carry({texts.begin(), texts.end()});
  const MutexLock lock(mutex_);
  notes_.erase(notes_.begin(), notes_.begin() + static_cast<std::ptrdiff_t>(texts.size()));
}

void Hook::State::poll_stop() {
  StopWatch* const watch = output ? &output->stop_watch() : stop_watch ? &*stop_watch : nullptr;
  if (watch == nullptr || stop_seen) return;
  watch->look();
  stop_seen.store(watch->is_requested(), std::memory_order_relaxed);
}

void Hook::State::check_writer() {
  if (writer && writer->failed()) std::rethrow_exception(writer->progress().error);
}

NamedTensor* Hook::State::tensor(std::string_view name, const CollectionNames& tags) {
  if (const char* defect = tensor_name_defect(name)) {
    report_illegal_name(name, defect);
    return nullptr;
  }
  NamedTensor* named = groups.find_or_add(name);
  const auto illegal = std::ranges::find_if(tags.names(), [](std::string_view tag) -> bool {
    return collection_name_defect(tag) != nullptr;
  });
  if (illegal != tags.names().end()) {
    complain(named, std::string(collection_name_defect(*illegal)) + ": it was given with " +
                        printable(named->name));
  } else if (!tags.empty() && !groups.join(*named, tags)) {
    complain(named, "a run has at most " + std::to_string(kMostCollections) +
                        " collections: there is no room for those given with " +
                        printable(named->name));
  }
  return named;
}

void Hook::State::save_due(NamedTensor& named, const TensorView& view) {
  // The step may have changed since the caller looked.
  if (!named.group.load(std::memory_order_acquire)->due.load(std::memory_order_relaxed)) return;
  SaveDecision what = groups.decision(named);
  if (level.reductions_only && what.raw && !what.must_be_raw &&
      value_length(view) > kMaxInlineBytes) {
    what.raw = false;
    what.reductions |= instead_of_raw();
  }
  save(named, view, what);
}

void Hook::State::save_scalar(NamedTensor& named, double value) {
  if (step_mode) return save(named, TensorView(&value, {}), kRawOnly);
  const MutexLock lock(mutex_);
  early_scalars_.emplace_back(&named, value);
}

void Hook::State::save(NamedTensor& named, const TensorView& view, const SaveDecision& what) {
  if (const char* defect = value_defect(view))
    return complain(&named, "cannot save " + printable(named.name) + ": " + defect);
  named.saved.store(true, std::memory_order_relaxed);
  if (options.dry_run) {
    log(LogLevel::Debug, "dry run: step " + std::to_string(counters.global) + " would save " +
                             printable(named.name));
  } else if (recorder) {
    recorder->save(named, view, what);
    if (metrics) log_metric(named, view);
  }
}

void Hook::State::log_metric(const NamedTensor& named, const TensorView& view) {
  if (groups.is_in_any(named, MetricLog::kLoggedCollections))
    metrics->add(named.name, *step_mode, counters[*step_mode], view);
}

std::int64_t Hook::State::number_of_next(const std::string& module_side) {
  const MutexLock lock(mutex_);
  return module_values_[module_side]++;
}

}  // namespace cupel
