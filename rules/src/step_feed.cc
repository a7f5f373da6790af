#include "step_feed.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/trial/pins.h"

namespace cupel::runner_detail {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::int64_t kNoStep = std::numeric_limits<std::int64_t>::max();
// A store that fails for a moment is asked again after 50, 100, 200 … ms, so many times.
constexpr int kMostFailures = 8;
constexpr milliseconds kFirstRetry{50};

// The notes of the steps from `begin` to before `end`. One that is damaged becomes a note that says
// so: rules can be judged without it.
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

// What of the steps that were handed over is void.
std::optional<Step> StepFeed::rewind() const {
  std::optional<std::int64_t> to;
  std::optional<std::int64_t> behind = last_;
  // What the runner before this one judged may not have been handed over again.
  if (options_.rewinds_before)
    behind = std::max(behind.value_or(-1), options_.first_fresh_step - 1);
  if (last_snapshot_)
    to = trial_.rewound_to(*last_snapshot_);
  else if (options_.rewinds_before)
    to = trial_.rewound_to(*options_.rewinds_before);
  if (!to || !behind || *to > *behind) return std::nullopt;
  return Step{.rewound = true,
              .rewinds = trial_.rewinds(),
              .step = *to,
              .mode = trial_.mode(*to).value_or(Mode::Global),
              .mode_step = trial_.mode_step(*to).value_or(*to)};
}

// Hands over the steps that came since the last call; returns whether there can be more.
bool StepFeed::hand_over(bool incomplete_steps) {
  const std::shared_ptr<const Snapshot> snapshot = trial_.snapshot();
  const PinnedView pin(trial_, snapshot, std::nullopt);
  const bool ended = trial_.ended();
  const std::int64_t num_workers = trial_.num_workers();
  const std::size_t rewinds = trial_.rewinds();
  std::vector<Step> fresh;
  if (std::optional<Step> back = rewind()) {
    noted_before_ = std::clamp<std::int64_t>(back->step, 0, noted_before_);
    fresh.push_back(*std::move(back));
  }
  last_snapshot_ = snapshot;
  const std::int64_t first = last_ ? *last_ + (*last_ < kNoStep ? 1 : 0) : options_.start_step;
  for (const std::int64_t step : trial_.steps_from(first, incomplete_steps)) {
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

// The notes before a step that were not told yet; of a pinned trial.
std::vector<Note> StepFeed::fresh_notes(std::int64_t end) {
  std::vector<Note> notes;
  if (end <= noted_before_) return notes;
  try {
    read_notes(trial_, noted_before_, end, notes);
  } catch (const StoreError& failure) {
    log(LogLevel::Warning, failure.what());  // they come with the next step
    return {};
  }
  noted_before_ = end;
  std::erase_if(notes, [this](const Note& note) {
    return !noted_.emplace(note.step, note.worker, note.text).second;
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

// Asks how the run stands, and tells the sink when that changes.
bool StepFeed::is_interrupted() {
  const RunStatus status = trial_.status();
  if (const bool now = status == RunStatus::Interrupted; now != interrupted_) {
    interrupted_ = now;
    sink_.status_changed(now ? status : RunStatus::Running);
  }
  return interrupted_;
}

StepFeed::End StepFeed::follow() {
  End end;
  Clock::time_point last_news = Clock::now();
  Clock::time_point last_tick{};
  std::optional<std::int64_t> newest;
  int failures = 0;
  while (true) {
    try {
      if (options_.wait)
        trial_.refresh_if_due();
      else
        trial_.refresh();
      const bool more = hand_over();
      failures = 0;
      if (!more || !options_.wait || sink_.enough()) break;
      if (newest != last_) {
        newest = last_;
        last_news = Clock::now();
      }
      if (const auto now = Clock::now(); now - last_tick >= options_.tick_interval) {
        last_tick = now;
        sink_.tick(now, last_snapshot_);
        if (is_interrupted() && options_.until_writer_gone) break;
      }
    } catch (const StoreError& failure) {
      if (!failure.retryable || !options_.wait || ++failures > kMostFailures) {
        end.error = std::current_exception();
        break;
      }
      log(LogLevel::Warning, failure.what());
    } catch (...) {
      end.error = std::current_exception();
      break;
    }
    const Clock::time_point now = Clock::now();
    milliseconds at_most =
        failures == 0 ? std::chrono::ceil<milliseconds>(last_tick + options_.tick_interval - now)
                      : kFirstRetry * (1 << (failures - 1));
    if (options_.idle_timeout) {
      const auto silent = std::chrono::duration_cast<milliseconds>(now - last_news);
      if (silent >= *options_.idle_timeout) {
        end.idle = true;
        break;
      }
      at_most = std::min(at_most, *options_.idle_timeout - silent);
    }
    try {
      trial_.wait_for_change(std::max(at_most, milliseconds(0)));
    } catch (...) {
      end.error = std::current_exception();
      break;
    }
  }
  if (interrupted_ && !end.error && !sink_.enough()) {
    // As at the end of a run, what only some workers have committed is judged, too. The last steps
    // may have come since the look before.
    try {
      trial_.refresh();
      hand_over(true);
    } catch (...) {
      end.error = std::current_exception();
    }
  }
  if (end.error) {
    // What was committed before the damage is judged all the same. Asking may tell of more damage,
    // each once.
    constexpr int kAttempts = 3;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      try {
        hand_over();
        break;
      } catch (...) {
        log(LogLevel::Debug, "the run is damaged in more than one place");
      }
    }
  }
  end.snapshot = last_snapshot_;
  if (!options_.notes || !last_snapshot_) return end;
  try {
    const PinnedView pin(trial_, last_snapshot_, std::nullopt);
    end.notes = fresh_notes(options_.end_step.value_or(kNoStep));
  } catch (...) {
    if (!end.error) end.error = std::current_exception();
  }
  return end;
}

}  // namespace cupel::runner_detail
