// Following a run, step by step.
//
// One thread of the runner runs all of it. It refreshes the trial, pins it to the newest snapshot,
// and passes the steps that came to the sink; then it waits for a change, a tick or the idle
// timeout, whatever comes first. RunFollower::wake() ends the wait.
//
// A store that fails for a moment is retried with growing pauses. Any other error ends the feed:
// the steps before it are fed all the same, and follow() returns the error. When the run is
// interrupted and the feed ends for that, the steps that only some workers committed are fed as at
// the end of a run. When a restarted training takes steps back, the feed passes a Step that is
// marked `rewound`, and then the new ones.

#include "step_feed.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/trial/pins.h"

namespace cupel::rules_detail {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();
// A store that fails for a moment is asked again after 50, 100, 200 … ms, so many times.
constexpr int kMostFailures = 8;
constexpr milliseconds kFirstRetry{50};

// Reads the notes of the steps from `begin` to before `end`. A note that is damaged is replaced by
// one that reports the damage: rules can be judged without it.
void read_notes(const Trial& trial, std::int64_t begin, std::int64_t end, std::vector<Note>& into) {
  try {
    std::ranges::move(trial.notes({begin, end}), std::back_inserter(into));
  } catch (const FormatError& damage) {
    if (end - begin == 1) {
      into.push_back({begin, "", std::string("a note cannot be read: ") + damage.what()});
      return;
    }
    const std::int64_t middle = begin + (end - begin) / 2;
    read_notes(trial, begin, middle, into);
    read_notes(trial, middle, end, into);
  }
}

}  // namespace

StepFeed::End StepFeed::follow() {
  End end;
  last_news_ = Clock::now();
  feed_until_end(end);
  if (interrupted_ && !end.error && !sink_.enough()) feed_interrupted_steps(end);
  if (end.error) feed_before_damage();
  end.snapshot = last_snapshot_;
  if (options_.notes && last_snapshot_) read_last_notes(end);
  return end;
}

void StepFeed::feed_until_end(End& end) {
  while (true) {
    try {
      if (!feed_and_tick()) return;
    } catch (const StoreError& failure) {
      if (!failure.retryable || !options_.wait || ++failures_ > kMostFailures) {
        end.error = std::current_exception();
        return;
      }
      log(LogLevel::Warning, failure.what());
    } catch (...) {
      end.error = std::current_exception();
      return;
    }
    const Clock::time_point now = Clock::now();
    if (options_.idle_timeout && now - last_news_ >= *options_.idle_timeout) {
      end.idle = true;
      return;
    }
    try {
      follower_.wait_for_change(longest_wait(now));
    } catch (...) {
      end.error = std::current_exception();
      return;
    }
  }
}

// Feeds what is new; returns whether to wait for more.
bool StepFeed::feed_and_tick() {
  if (options_.wait)
    follower_.refresh_if_due();
  else
    trial_.refresh();
  const bool more = feed_steps();
  failures_ = 0;
  if (!more || !options_.wait || sink_.enough()) return false;
  const Clock::time_point now = Clock::now();
  if (std::exchange(newest_, last_) != last_) last_news_ = now;
  if (now - last_tick_ < options_.tick_interval) return true;
  last_tick_ = now;
  sink_.tick(now, last_snapshot_);
  return !is_interrupted() || !options_.until_writer_gone;
}

milliseconds StepFeed::longest_wait(Clock::time_point now) const {
  milliseconds longest =
      failures_ == 0 ? std::chrono::ceil<milliseconds>(last_tick_ + options_.tick_interval - now)
                     : kFirstRetry * (1 << (failures_ - 1));
  if (options_.idle_timeout) {
    const auto silent = std::chrono::duration_cast<milliseconds>(now - last_news_);
    longest = std::min(longest, *options_.idle_timeout - silent);
  }
  return std::max(longest, milliseconds(0));
}

// The last steps may have come after the last poll, so the run is polled once more.
void StepFeed::feed_interrupted_steps(End& end) {
  try {
    trial_.refresh();
    feed_steps(true);
  } catch (...) {
    end.error = std::current_exception();
  }
}

// Each query reports one more damage, once.
void StepFeed::feed_before_damage() {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    try {
      feed_steps();
      return;
    } catch (...) {
      log(LogLevel::Debug, "the run is damaged in more than one place");
    }
  }
}

void StepFeed::read_last_notes(End& end) {
  try {
    const PinnedView pin(trial_, last_snapshot_, std::nullopt);
    end.notes = fresh_notes(options_.end_step.value_or(kNoStep));
  } catch (...) {
    if (!end.error) end.error = std::current_exception();
  }
}

// The step from which on the steps that were fed are void; nothing if all are valid.
std::optional<Step> StepFeed::rewind() const {
  std::optional<std::int64_t> to;
  std::optional<std::int64_t> last_judged = last_;
  // Steps that an earlier runner judged may not have been fed again.
  if (options_.rewinds_before)
    last_judged = std::max(last_judged.value_or(-1), options_.first_fresh_step - 1);
  if (last_snapshot_)
    to = follower_.rewound_to(*last_snapshot_);
  else if (options_.rewinds_before)
    to = follower_.rewound_to(*options_.rewinds_before);
  if (!to || !last_judged || *to > *last_judged) return std::nullopt;
  return Step{.rewound = true,
              .rewinds = follower_.rewinds(),
              .step = *to,
              .mode = trial_.mode(*to).value_or(Mode::Global),
              .mode_step = trial_.mode_step(*to).value_or(*to)};
}

// Feeds the steps that came since the previous call; returns whether more may come.
bool StepFeed::feed_steps(bool incomplete_steps) {
  const std::shared_ptr<const Snapshot> snapshot = follower_.snapshot();
  const PinnedView pin(trial_, snapshot, std::nullopt);
  const bool ended = trial_.ended();
  const std::int64_t num_workers = trial_.num_workers();
  const std::size_t rewinds = follower_.rewinds();
  std::vector<Step> fresh;
  if (std::optional<Step> back = rewind()) {
    notes_begin_ = std::clamp<std::int64_t>(back->step, 0, notes_begin_);
    fresh.push_back(*std::move(back));
  }
  last_snapshot_ = snapshot;
  const std::int64_t first = last_ ? *last_ + (*last_ < kNoStep ? 1 : 0) : options_.start_step;
  for (const std::int64_t step : follower_.steps_from(first, incomplete_steps)) {
    if ((options_.end_step && step >= *options_.end_step) || step == last_) break;
    fresh.push_back({.rewinds = rewinds,
                     .step = step,
                     .mode = trial_.mode(step).value_or(Mode::Global),
                     .mode_step = trial_.mode_step(step).value_or(step),
                     .num_workers = num_workers,
                     .missing_workers = num_workers > 1 ? trial_.missing_workers(step)
                                                        : std::vector<std::string>(),
                     .snapshot = snapshot});
    last_ = step;
  }
  if (options_.notes) attach_notes(fresh);
  const bool passed_end =
      options_.end_step && (*options_.end_step <= options_.start_step ||
                            trial_.last_complete_step() >= *options_.end_step - 1);
  if (!fresh.empty()) sink_.add(std::move(fresh));
  return !ended && !passed_end;
}

// The notes before the step `end` that were not fed yet. The trial is pinned.
std::vector<Note> StepFeed::fresh_notes(std::int64_t end) {
  std::vector<Note> notes;
  if (end <= notes_begin_) return notes;
  try {
    read_notes(trial_, notes_begin_, end, notes);
  } catch (const StoreError& failure) {
    log(LogLevel::Warning, failure.what());  // The next step carries them.
    return {};
  }
  notes_begin_ = end;
  std::erase_if(notes, [this](const Note& note) {
    return !fed_notes_.emplace(note.step, note.worker, note.text).second;
  });
  return notes;
}

void StepFeed::attach_notes(std::vector<Step>& fresh) {
  const auto last = std::find_if(fresh.rbegin(), fresh.rend(), [](auto& s) { return !s.rewound; });
  if (last == fresh.rend()) return;
  std::vector<Note> notes = fresh_notes(last->step < kNoStep ? last->step + 1 : kNoStep);
  auto note = notes.begin();
  for (Step& step : fresh) {
    if (step.rewound) continue;
    const auto begin = note;
    while (note != notes.end() && note->step <= step.step) ++note;
    if (note != begin)
      step.notes = std::make_shared<const std::vector<Note>>(std::make_move_iterator(begin),
                                                             std::make_move_iterator(note));
  }
}

// Asks for the status of the run, and passes each change of it to the sink.
bool StepFeed::is_interrupted() {
  const RunStatus status = follower_.status();
  if (const bool now = status == RunStatus::Interrupted; now != interrupted_) {
    interrupted_ = now;
    sink_.status_changed(now ? status : RunStatus::Running);
  }
  return interrupted_;
}

}  // namespace cupel::rules_detail
