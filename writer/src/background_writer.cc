// The thread that writes. It takes the tasks that were handed over and performs them in order;
// values and index entries gather in the SegmentWriter until a few MiB or 5 ms have come together,
// so that a slow store is asked once for many steps. While there are no tasks it measures values,
// and seals the open segment when it is due. An error ends writing, but tasks are still taken, so
// that nobody waits for ever; StoreFull, in a spool, costs the steps that have gathered, and
// writing goes on.

#include "background_writer.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"

namespace cupel::writer_detail {
namespace {

// Values that gather before the thread is woken for them: waking costs more than a small value.
constexpr std::size_t kWorthWaking = 32;
constexpr std::size_t kBytesWorthWaking = 256U << 10U;
constexpr auto kMomentBeforeExit = std::chrono::milliseconds(200);

constexpr std::size_t kWorthWriting = 4U << 20U;
// A step is not kept back for longer, so that who follows the run sees it soon.
constexpr auto kLongestGathering = std::chrono::milliseconds(5);

constexpr auto kStayAwake = std::chrono::microseconds(100);
constexpr auto kBetweenQuestions = std::chrono::milliseconds(50);

// What the one pass of a streamed value yields; prod and median were computed when it was saved.
void take_statistics(Record& value, const Statistics& statistics) {
  if (is_floating(value.dtype)) value.counts = statistics.counts;
  const ReductionSet known = beyond_one_pass(value.wanted);
  value.wanted.for_each([&](Reduction reduction) {
    if (!known.contains(reduction)) value.reductions.put(reduction, statistics.get(reduction));
  });
}

// Sorted by name; of several saves of one name the last, the others are named in `replaced`.
std::vector<const Record*> rows_of(const Step& step, const NamedTensor*& replaced) {
  std::vector<const Record*> rows;
  rows.reserve(step.records.size());
  for (const Record& record : step.records) rows.push_back(&record);
  const auto name = [](const Record* record) -> const std::string& { return record->tensor->name; };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Record* a, const Record* b) { return name(a) < name(b); });
  std::vector<const Record*> unique;
  unique.reserve(rows.size());
  for (const Record* row : rows) {
    if (!unique.empty() && unique.back()->tensor == row->tensor) {
      unique.back() = row;
      replaced = row->tensor;
    } else {
      unique.push_back(row);
    }
  }
  return unique;
}

}  // namespace

BackgroundWriter::BackgroundWriter(Store& store, SegmentPolicy policy, ChunkPool& pool,
                                   std::atomic<std::int64_t>& committed_step)
    : store_(store),
      pool_(pool),
      committed_step_(committed_step),
      segments_(store, std::move(policy)) {
  thread_ = std::jthread([this] { run(); });
}

BackgroundWriter::~BackgroundWriter() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  work_.notify_one();
}

void BackgroundWriter::hand_over(Task task) {
  Tasks tasks;
  tasks.push_back(std::move(task));
  hand_over(std::move(tasks));
}

void BackgroundWriter::hand_over(Tasks tasks) noexcept {
  const MutexLock lock(mutex_);
  for (const Task& task : tasks) {
    if (const auto* commit = std::get_if<CommitStep>(&task))
      records_waiting_ += commit->step->records.size();
  }
  tasks_.splice(tasks_.end(), tasks);
  work_.notify_one();
}

void BackgroundWriter::values_ready(std::size_t bytes) noexcept {
  if (++unannounced_values_ < kWorthWaking && (unannounced_bytes_ += bytes) < kBytesWorthWaking)
    return;
  unannounced_values_ = 0;
  unannounced_bytes_ = 0;
  work_.notify_one();  // if that is missed, the next one or the step's end comes soon
}

CommitWait BackgroundWriter::wait_for_commits(std::uint64_t commits, Step& step,
                                              std::chrono::milliseconds at_most,
                                              const std::function<bool()>& interrupted) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (step.measuring.measure_some()) {
    if (std::chrono::steady_clock::now() >= until) break;
  }
  // Small steps are committed sooner than a thread that sleeps is woken.
  const auto awake_until = std::min(until, std::chrono::steady_clock::now() + kStayAwake);
  while (commits_done_ < commits && std::chrono::steady_clock::now() < awake_until)
    std::this_thread::yield();
  const auto is_done = [&]() CUPEL_REQUIRES(mutex_) { return progress_.commits >= commits; };
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    {
      MutexLock lock(mutex_);
      const auto question = interrupted ? std::min(until, now + kBetweenQuestions) : until;
      if (done_.wait_until(lock, question, is_done)) return CommitWait::Committed;
    }
    if (std::chrono::steady_clock::now() >= until) return CommitWait::TimeIsOver;
    if (interrupted()) return CommitWait::Interrupted;
  }
}

void BackgroundWriter::wait_until_idle() {
  MutexLock lock(mutex_);
  work_.notify_one();
  done_.wait(lock, [&]() CUPEL_REQUIRES(mutex_) { return tasks_.empty() && !busy_; });
}

void BackgroundWriter::wait_for_records_below(std::size_t most) {
  MutexLock lock(mutex_);
  done_.wait(lock, [&] { return records_waiting_ < most; });
}

WriterProgress BackgroundWriter::progress() const {
  const MutexLock lock(mutex_);
  return progress_;
}

void BackgroundWriter::run() {
  MutexLock lock(mutex_);
  for (;;) {
    const auto has_work = [&]() CUPEL_REQUIRES(mutex_) {
      return !tasks_.empty() || stopping_ || can_measure();
    };
    if (const auto sealing_time = segments_.sealing_time(); sealing_time && !failed() && !stream_) {
      work_.wait_until(lock, *sealing_time, has_work);
    } else {
      work_.wait(lock, has_work);
    }
    if (tasks_.empty() && stopping_) return;
    Tasks tasks;
    tasks.swap(tasks_);
    busy_ = true;
    lock.unlock();
    if (!tasks.empty()) {
      perform_all(tasks);
    } else if (!(step_ && step_->measuring.measure_some())) {
      seal_if_due();
    }
    lock.lock();
    busy_ = false;
    done_.notify_all();
  }
}

void BackgroundWriter::halt() noexcept {
  halted_ = true;
  const auto until = std::chrono::steady_clock::now() + kMomentBeforeExit;
  while (performing_ && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

void BackgroundWriter::stay_if_halted() const noexcept {
  while (halted_) std::this_thread::sleep_for(std::chrono::hours(1));
}

// What waits is written together: where the store is slow, one append takes many steps.
void BackgroundWriter::perform_all(Tasks& tasks) noexcept {
  Tasks gathered;
  auto gathering_since = SegmentWriter::Clock::now();
  while (!tasks.empty()) {
    Task& task = tasks.front();
    if (stream_ && std::holds_alternative<WriteBatch>(task)) {
      behind_stream_.splice(behind_stream_.end(), tasks, tasks.begin());
      continue;
    }
    const bool gathers = std::holds_alternative<WriteBatch>(task) ||
                         std::holds_alternative<CommitStep>(task) ||
                         std::holds_alternative<StepBegun>(task);
    if (!gathers) flush(gathered);
    if (const auto error = perform(task)) {
      // What was gathered before is whole.
      if (segments_intact_) flush(gathered);
      settle(error, gathered);
      if (auto* const commit = std::get_if<CommitStep>(&task); commit != nullptr && !failed())
        lose(*commit->step);
    }
    // Not before the stream is at its end.
    if (std::holds_alternative<StreamEnd>(task))
      tasks.splice(std::next(tasks.begin()), behind_stream_);
    if (gathers) {
      gathered.splice(gathered.end(), tasks, tasks.begin());
    } else {
      tasks.pop_front();
    }
    const auto now = SegmentWriter::Clock::now();
    if (tasks.empty() || segments_.gathered_bytes() >= kWorthWriting ||
        now - gathering_since >= kLongestGathering || segments_.due_for_sealing(now)) {
      flush(gathered);
      gathering_since = SegmentWriter::Clock::now();
    }
  }
}

void BackgroundWriter::flush(Tasks& gathered) noexcept {
  if (gathered.empty()) return;
  if (const auto error = attempt([this] {
        if (!failed()) segments_.flush();
      }))
    settle(error, gathered);
  {
    const MutexLock lock(mutex_);
    const WriterProgress& now = failed() ? progress_ : next_progress_;
    progress_.committed_step = now.committed_step;
    progress_.steps = now.steps;
    progress_.rows = now.rows;
    progress_.value_bytes = now.value_bytes;
    committed_step_.store(progress_.committed_step, std::memory_order_release);
    for (const Task& task : gathered) {
      if (const auto* batch = std::get_if<WriteBatch>(&task)) pool_.release(batch->chunk);
      const auto* commit = std::get_if<CommitStep>(&task);
      if (commit == nullptr) continue;
      ++progress_.commits;
      records_waiting_ -= commit->step->records.size();
      if (!failed() && !commit->step->dropped)
        commit->step->outcome->end.store(StepEnd::Committed, std::memory_order_release);
    }
    commits_done_.store(progress_.commits, std::memory_order_release);
    done_.notify_all();
  }
  const bool has_commit = std::ranges::any_of(
      gathered, [](const Task& task) { return std::holds_alternative<CommitStep>(task); });
  gathered.clear();
  if (has_commit) seal_if_due();
}

std::exception_ptr BackgroundWriter::perform(Task& task) noexcept {
  segments_intact_ = true;
  return attempt([&] { std::visit([this](auto& t) { do_task(t); }, task); });
}

template <class F>
std::exception_ptr BackgroundWriter::attempt(F&& work) noexcept {
  performing_ = true;
  if (halted_) {
    performing_ = false;
    stay_if_halted();
  }
  std::exception_ptr error;
  try {
    work();
  } catch (...) {
    error = std::current_exception();
  }
  performing_ = false;
  return error;
}

void BackgroundWriter::settle(std::exception_ptr error, Tasks& gathered) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const StoreFull&) {
    if (!segments_.survives_full_store()) return fail(std::move(error));
  } catch (...) {
    return fail(std::move(error));
  }
  if (auto worse = attempt([&] { lose_gathered(gathered); })) fail(std::move(worse));
}

void BackgroundWriter::lose_gathered(Tasks& gathered) {
  // Else all are in the index, and there was no room for what comes behind that.
  if (segments_.has_gathered_steps()) {
    for (Task& task : gathered)
      if (auto* const commit = std::get_if<CommitStep>(&task)) lose(*commit->step);
    next_progress_ = progress();
  }
  lost_step_ = values_of_;
  segments_.give_up_gathered();
}

// Unless it was dropped before, or is lost already.
void BackgroundWriter::lose(Step& step) noexcept {
  if (!std::exchange(step.dropped, true))
    step.outcome->end.store(StepEnd::Lost, std::memory_order_release);
}

void BackgroundWriter::fail(std::exception_ptr error) noexcept {
  const MutexLock lock(mutex_);
  if (progress_.error == nullptr) progress_.error = std::move(error);
  failed_.store(true, std::memory_order_release);
}

void BackgroundWriter::seal_if_due() {
  if (failed() || stream_ || !segments_.due_for_sealing(SegmentWriter::Clock::now())) return;
  Task seal = SealNow{};
  Tasks nothing;
  if (const auto error = perform(seal)) settle(error, nothing);
}

void BackgroundWriter::do_task(StepBegun& task) { step_ = std::move(task.step); }

void BackgroundWriter::do_task(WriteBatch& task) {
  segments_intact_ = false;
  values_of_ = task.step;
  if (!failed() && lost_step_ != task.step)
    segments_.write_values(task.step, task.values, task.bytes);
}

void BackgroundWriter::do_task(StreamBegin& task) {
  values_of_ = task.step;
  stream_.emplace(Stream{task.step, task.value, 0, std::nullopt});
  if (task.value->dtype != DType::Utf8) stream_->statistics.emplace(task.value->dtype);
  if (!failed() && lost_step_ != task.step) segments_.begin_stream(task.step, *task.value);
}

void BackgroundWriter::do_task(StreamPiece& task) {
  struct GiveBack {
    ChunkPool& pool;
    Chunk* chunk;
    ~GiveBack() { pool.release(chunk); }
  } give_back{pool_, task.chunk};
  if (failed() || lost_step_ == stream_->step) return;
  const std::span<const std::byte> piece(task.chunk->memory.data(), task.chunk->used);
  stream_->crc = crc32c(piece, stream_->crc);
  if (stream_->statistics)
    stream_->statistics->add(piece.data(), piece.size() / element_size(stream_->value->dtype));
  segments_.stream(piece);
}

void BackgroundWriter::do_task(StreamEnd& task) {
  const Stream stream = *std::exchange(stream_, std::nullopt);
  if (failed() || lost_step_ == stream.step) return;
  segments_.end_stream(task.missing);
  stream.value->location->crc32c = stream.crc;
  if (stream.statistics) take_statistics(*stream.value, stream.statistics->finish());
}

void BackgroundWriter::do_task(CommitStep& task) {
  step_ = nullptr;
  task.step->measuring.finish();
  const bool is_lost = lost_step_ == task.step->header.step;
  lost_step_.reset();
  values_of_.reset();
  if (failed()) return;
  if (is_lost) lose(*task.step);
  if (task.step->dropped) {
    segments_.abandon_step();
  } else {
    commit(*task.step);
  }
}

void BackgroundWriter::commit(Step& step) {
  const NamedTensor* replaced = nullptr;
  const std::vector<const Record*> rows = rows_of(step, replaced);
  if (replaced != nullptr && !std::exchange(warned_of_replacing_, true)) {
    log(LogLevel::Warning, "saved more than once in step " + std::to_string(step.header.step) +
                               ", the last value stays (said once): " + replaced->name);
  }
  segments_intact_ = false;
  if (const auto bytes = segments_.commit(step.header, rows)) {
    step.dropped = true;
    step.outcome->bytes = *bytes;
    step.outcome->end.store(StepEnd::Refused, std::memory_order_release);
    return segments_.abandon_step();
  }
  const std::int64_t rows_before = next_progress_.rows;
  for (const Record* row : rows) {
    if (is_reserved_tensor(row->tensor->name)) continue;
    ++next_progress_.rows;
    next_progress_.value_bytes += row->inline_length ? *row->inline_length
                                  : row->location    ? row->location->length
                                                     : 0;
  }
  if (next_progress_.rows == rows_before) return;  // values of the hook alone are no step
  next_progress_.committed_step = step.header.step;
  ++next_progress_.steps;
}

void BackgroundWriter::do_task(SealNow&) {
  if (!failed()) segments_.seal();
}

void BackgroundWriter::do_task(LastNote& task) {
  segments_.append_note(task.header, task.tensor->name, task.text);
}

}  // namespace cupel::writer_detail
