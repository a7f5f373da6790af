// The way of a step from the training threads to the store, as the training threads see it.
//
// end_step() hands the step to the background writer and waits for the commit (Commit::Step), at
// most commit_timeout. What becomes of each commit is written into its StepOutcome by the
// background thread; look_around() reads it between steps and has the ledger confirm or give back
// what the commit carried. Values are bounded by the pool, what describes them by most_records().
// When either is used up, saving waits or, with WhenFull::DropStep and over the overhead budget,
// the step is dropped. An error of the background thread is thrown by the next look_around(), and
// ends saving.

#include "step_pipeline.h"

#include <algorithm>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/format/format_limits.h"
#include "cupel/format/layout.h"
#include "note_text.h"
#include "settled_options.h"
#include "value_bytes.h"

namespace cupel::writer_detail {
namespace {

constexpr std::size_t kChunkBytes = 16U << 20U;
constexpr auto kOverheadPeriod = std::chrono::seconds(1);
constexpr std::uint64_t kStepsUnderWay = 2;  // that a writer may have before it, and not be behind
constexpr SaveDecision kRawOnly{.raw = true};

std::string range_of_steps(std::int64_t first, std::int64_t last) {
  const std::string text = std::to_string(first);
  return first == last ? "step " + text : "steps " + text + " to " + std::to_string(last);
}

}  // namespace

StepPipeline::StepPipeline(const HookOptions& options, std::shared_ptr<Store> into,
                           StepClock& clock, const CallGate& gate, HookJournal& journal,
                           TensorGroups& groups)
    : options_(options), clock_(clock), gate_(gate), journal_(journal), groups_(groups) {
  output_.emplace(options, std::move(into));
  if (options.existing == Existing::Continue) clock.go_on_from(output_->last_steps());
  // All workers go on from there, one keeps the notes.
  clock.go_on_from_checkpoints(options.worker == kChief || options.num_workers == 1);
  find_earlier_steps();
  pool_.emplace(options.buffer_bytes, kChunkBytes);
  metrics_ = MetricLog::from_environment();
  if (options.overhead_budget)
    clock.keep_budget(*options.overhead_budget,
                      {.in_background = options.commit == Commit::Background});
  output_->begin();
}

// Refuses what no reader would open, before anything is saved.
void StepPipeline::prepare(const ReductionSet& columns) {
  const std::uint32_t collections_crc32c = output_->write_collections(groups_, {});
  const MutexLock beside_halt(halt_mutex_);
  writer_.emplace(output_->store(), output_->segment_policy(columns, collections_crc32c), *pool_,
                  clock_.committed_step());
  recorder_.emplace(*writer_, *pool_);
}

void StepPipeline::begin_step() {
  output_had_room_ = output_->has_room();
  const WhenFull when_full = this->when_full();
  recorder_->begin(clock_.header(), when_full,
                   when_full == WhenFull::Block || (has_few_records() && output_had_room_));
}

void StepPipeline::save(NamedTensor& tensor, const TensorView& view, const SaveDecision& what) {
  if (!recorder_) return;  // before the first step, or behind the last one
  recorder_->save(tensor, view, what);
  if (metrics_ && groups_.is_in_any(tensor, MetricLog::kLoggedCollections))
    metrics_->add(tensor.name, clock_.step_mode(), clock_.counters()[clock_.step_mode()], view);
}

// A training that ends its steps may save nothing behind any of them: the first one has the
// overhead, so that each run has it.
void StepPipeline::end_step(bool may_be_last) {
  const std::shared_ptr<Step> ended = hand_over_step(may_be_last && !overhead_saved_);
  if (ended == nullptr) return;
  if (!clock_.level().in_background && options_.commit == Commit::Step) {
    await_commit(*ended);
  } else {
    await_room();
  }
}

std::shared_ptr<Step> StepPipeline::hand_over_step(bool needs_overhead) {
  if (!recorder_ || !recorder_->has_records()) return nullptr;
  const std::int64_t step = recorder_->step();
  if (!recorder_->dropped()) {
    note_hidden_steps();
    add_own_tensors(needs_overhead);
  }
  const bool is_dropped = recorder_->dropped();
  std::shared_ptr<Step> ended = recorder_->end();
  ++commits_;
  if (is_dropped) {
    count_dropped(step);
    return nullptr;
  }
  under_way_.emplace_back(commits_, ended->outcome);
  return ended;
}

// What the hook reports about itself rides in a step that exists anyway.
void StepPipeline::add_own_tensors(bool needs_overhead) {
  const auto now = Clock::now();
  if (needs_overhead || now - overhead_saved_.value_or(created_) >= kOverheadPeriod) {
    overhead_saved_ = now;
    const double share = gate_.share_of_time(gate_.spent());
    recorder_->save(*groups_.find_or_add(kOverheadTensor), TensorView(&share, {}), kRawOnly);
  }
  const std::vector<std::string> texts = journal_.ledger().waiting();
  const TensorView view(texts.data(), {texts.size()});
  // No step of the user's is dropped for a note.
  if (texts.empty() ||
      (when_full() == WhenFull::DropStep && !recorder_->has_room_for(value_length(view))))
    return;
  recorder_->save(*groups_.find_or_add(kNoteTensor), view, kRawOnly);
  if (!recorder_->dropped()) journal_.ledger().carry(commits_ + 1);
}

void StepPipeline::count_dropped(std::int64_t step) {
  journal_.add_missed(output_had_room_ ? Missed::NoBuffers : Missed::NoSpool, step,
                      std::string(output_had_room_ ? "the buffers are full" : "the spool is full") +
                          ": step " + std::to_string(step) +
                          " is left out, and those behind it until there is room");
}

// Reads what has become of commits. They end in the order in which they were handed over.
void StepPipeline::collect_outcomes() {
  for (; !under_way_.empty(); under_way_.pop_front()) {
    const auto& [commit, outcome] = under_way_.front();
    const std::int64_t step = outcome->step;
    switch (outcome->end.load(std::memory_order_acquire)) {
      case StepEnd::Unknown:
        return;
      case StepEnd::Committed:
        journal_.ledger().confirm(commit);
        break;
      case StepEnd::Lost:
        journal_.ledger().give_back(commit);
        journal_.add_missed(
            Missed::LostOnDisk, step,
            "the spool is full, and there is nothing to upload that would make room: step " +
                std::to_string(step) + " is lost, and those behind it that do not fit");
        break;
      case StepEnd::Refused:
        journal_.ledger().give_back(commit);
        journal_.ledger().add(Missed::Refused, step);
        if (journal_.ledger().count(Missed::Refused) > 1) break;
        journal_.add_late_mistake(
            "step " + std::to_string(step) + " is left out: its rows take up to " +
            std::to_string(outcome->bytes) + " bytes of the index, and readers take at most " +
            std::to_string(format_limits().index_message) +
            " of a step; so is every other step that is as large");
        break;
    }
  }
}

void StepPipeline::await_commit(Step& step) {
  const auto begin = Clock::now();
  const bool still_behind = behind_ && writer_->progress().commits + 1 < commits_;
  const auto at_most = still_behind ? std::chrono::milliseconds(0) : options_.commit_timeout;
  const CommitWait outcome =
      writer_->wait_for_commits(commits_, step, at_most, options_.interrupted);
  waited_ += Clock::now() - begin;
  behind_ = outcome == CommitWait::TimeIsOver;
  if (outcome == CommitWait::Interrupted) return;
  if (behind_) {
    const std::string number = std::to_string(step.header.step);
    journal_.ledger().note(note_text(
        {{"kind", "commit_timeout"}, {"step", step.header.step}, {"waited_ms", at_most.count()}}));
    if (!still_behind) {
      journal_.add_late_mistake("step " + number + " was not committed within " +
                                std::to_string(at_most.count()) +
                                " ms; it may be later, and the steps behind it do not wait");
    }
  }
  await_room();
}

// Who is over a budget does not wait.
WhenFull StepPipeline::when_full() const {
  return clock_.is_over_budget() ? WhenFull::DropStep : options_.when_full;
}

std::size_t StepPipeline::most_records() const {
  return std::max<std::size_t>(options_.buffer_bytes / 4 / sizeof(Record), 1);
}

bool StepPipeline::has_few_records() const { return writer_->records_waiting() <= most_records(); }

void StepPipeline::await_room() {
  if (when_full() == WhenFull::DropStep || has_few_records()) return;
  const auto begin = Clock::now();
  writer_->wait_for_records_below(most_records());
  waited_ += Clock::now() - begin;
}

void StepPipeline::check_writer() const {
  if (writer_ && writer_->failed()) std::rethrow_exception(writer_->progress().error);
}

void StepPipeline::look_around() {
  check_writer();
  collect_outcomes();
  if (auto news = output_->news_of_uploads(clock_.counters().global))
    journal_.ledger().note(std::move(*news));
  if (metrics_) metrics_->flush();
}

bool StepPipeline::is_behind() const {
  return writer_ && writer_->progress().commits + kStepsUnderWay < commits_;
}

bool StepPipeline::sees_stop_request(Clock::time_point now) {
  output_->stop_watch().look(now);
  return output_->stop_watch().is_requested();
}

void StepPipeline::find_earlier_steps() {
  if (output_->attempt() == 0) return;
  try {
    earlier_.last_step = output_->last_saved_step();
  } catch (const StoreError& error) {
    return log(LogLevel::Warning,
               std::string("which steps this attempt hides is not known: ") + error.what());
  }
  const std::int64_t last = clock_.counters().global;
  if (last < earlier_.last_step) {
    log(LogLevel::Warning, "the run has steps up to " + std::to_string(earlier_.last_step) +
                               " of an earlier attempt; this one begins at step " +
                               std::to_string(last + 1) +
                               " and hides them from the first step on that it saves");
  }
}

void StepPipeline::note_hidden_steps() {
  if (earlier_.hidden_from >= 0) return;
  earlier_.hidden_from = recorder_->step();
  if (earlier_.hidden_from > earlier_.last_step) return;
  journal_.ledger().note(note_text({{"kind", "hidden_steps"},
                                    {"first", earlier_.hidden_from},
                                    {"last", earlier_.last_step},
                                    {"attempt", output_->attempt()}}));
}

// A run that was begun anew and has become shorter.
void StepPipeline::report_hidden_steps() {
  const std::int64_t last = std::as_const(clock_).committed_step();
  if (earlier_.hidden_from < 0 || last < earlier_.hidden_from || last >= earlier_.last_step) return;
  journal_.add_problem(
      range_of_steps(last + 1, earlier_.last_step) + " of an earlier attempt " +
      (last + 1 == earlier_.last_step ? "is" : "are") + " hidden: this one began to save at step " +
      std::to_string(earlier_.hidden_from) + " and ended at step " + std::to_string(last));
}

void StepPipeline::end_last_step() { hand_over_step(true); }

void StepPipeline::finish() {
  writer_->wait_until_idle();
  check_writer();
  if (metrics_) metrics_->flush();
  report_hidden_steps();
  collect_outcomes();
  write_the_rest();
  writer_->hand_over(SealNow{});
  writer_->wait_until_idle();
  check_writer();
  write_end();
}

// What the ledger still has rides in a step of its own. The writer is idle, so that there is room
// in the buffers.
void StepPipeline::write_the_rest() {
  if (!clock_.has_begun() || !journal_.ledger().is_anything_waiting()) return;
  // Behind the last step, if that is in the run.
  const std::int64_t last = clock_.counters().global;
  StepHeader header = clock_.header();
  if (std::as_const(clock_).committed_step() >= last) {
    header.mode = Mode::Global;
    header.step = header.mode_step = last + 1;
  }
  if (header.step > StepClock::kLastStep)
    return journal_.add_problem("no step may follow step " + std::to_string(StepClock::kLastStep) +
                                ": the last notes of the hook are in its report only");
  recorder_->begin(header, WhenFull::Block, true);
  add_own_tensors(true);
  const auto ended = recorder_->end();
  if (ended == nullptr) return;
  writer_->wait_until_idle();
  // This step has nothing of the user's: a disk without room for it costs no step.
  if (ended->outcome->end == StepEnd::Committed) {
    journal_.ledger().confirm(++commits_);
  } else {
    journal_.ledger().give_back(++commits_);
  }
}

// Where uploads may make room, now they have what they need for it. Collections that were
// configured when saving had begun may be too large; then their file stays as it was written at the
// start, without the counters.
void StepPipeline::write_end() {
  const auto report_lack_of_room = [&](const char* what) {
    journal_.add_problem(std::string("the spool is full: there is no room for ") + what);
  };
  try {
    if (!output_->write_last_collections(groups_, clock_.counters()))
      report_lack_of_room("the collections that close() writes, which count all steps");
  } catch (const UsageError& error) {
    journal_.add_problem(error.what());
  }
  if (!output_->write_end()) report_lack_of_room("the end of the run");
}

// Saving has ended before training did. What was committed is in the run; that more is missing
// stands there, too, if that can still be written.
void StepPipeline::leave_last_note() noexcept {
  if (!recorder_) return;
  try {
    recorder_->drop();
    recorder_->end();
    output_->take_back_end();
    const std::int64_t last = std::as_const(clock_).committed_step();
    // Short enough for the index alone.
    std::string text = R"({"kind":"disabled","after_step":)" + std::to_string(last) + '}';
    journal_.ledger().note(text);
    StepHeader header = clock_.header();
    header.step = header.mode_step = std::max(header.step, last + 1);
    header.mode = Mode::Global;
    if (header.step <= StepClock::kLastStep)
      writer_->hand_over(LastNote{header, groups_.find_or_add(kNoteTensor), std::move(text)});
    writer_->hand_over(SealNow{});
    writer_->wait_until_idle();
  } catch (...) {
    log(LogLevel::Debug, "the run has no note that saving has ended");  // log and report do
  }
}

void StepPipeline::close(Clock::time_point until) noexcept {
  if (journal_.has_failed()) leave_last_note();
  end_writing();
  Delivery delivery = output_->deliver(until);
  HookReport& report = journal_.numbers();
  report.steps_not_uploaded = delivery.steps_left;
  report.bytes_not_uploaded = delivery.bytes_left;
  try {
    journal_.add_logged_problems(std::move(delivery.problems));
    if (journal_.has_failed())
      journal_.add_logged_problems(
          {"the run is left without its end marker; what was committed stays readable"});
  } catch (const std::exception&) {
    log(LogLevel::Warning, "no memory for all texts of the hook's report");
  }
  report.waiting = gate_.share_of_time(waited_ + pool_->waited());
  {
    const MutexLock beside_halt(halt_mutex_);
    has_let_go_ = true;
  }
  output_.reset();
  metrics_.reset();
  pool_.reset();
}

// Ends the background writer, which seals segments by their age: the output takes no segment any
// more when it delivers.
void StepPipeline::end_writing() noexcept {
  if (!writer_) return;
  writer_->wait_until_idle();
  const WriterProgress progress = writer_->progress();
  HookReport& report = journal_.numbers();
  report.steps_committed = progress.steps;
  report.last_committed_step = progress.committed_step;
  report.rows = report.tensors_saved = progress.rows;
  report.value_bytes = progress.value_bytes;
  recorder_.reset();
  const MutexLock beside_halt(halt_mutex_);
  writer_.reset();
}

// Does not wait for the mutex: the caller may have interrupted the thread that holds it, and then
// the objects are being made or let go.
void StepPipeline::halt() noexcept {
  if (!halt_mutex_.try_lock()) return;
  if (!has_let_go_) {
    if (writer_) writer_->halt();
    if (output_) output_->halt();
  }
  halt_mutex_.unlock();
}

}  // namespace cupel::writer_detail
