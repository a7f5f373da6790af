#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cupel/trial/run_follower.h"
#include "cupel/trial/trial.h"
#include "runner_step.h"

namespace cupel::rules_detail {

struct StepFeedOptions {
  /// The first global step to feed.
  std::int64_t start_step = 0;
  /// The feed ends before this global step; default: with the run.
  std::optional<std::int64_t> end_step = std::nullopt;
  /// Whether to wait for steps that are still to come; else only the present ones are fed.
  bool wait = true;
  /// The feed ends when no step has come for so long; default: never.
  std::optional<std::chrono::milliseconds> idle_timeout = std::nullopt;
  /// The time between two calls of Sink::tick().
  std::chrono::milliseconds tick_interval = std::chrono::seconds(1);
  /// Whether the feed ends when the run is interrupted.
  bool until_writer_gone = false;
  /// Whether steps carry the notes of hooks up to them.
  bool notes = false;
  /// Of a runner that resumes an earlier one: RunFollower::rewinds() as the earlier one saw it.
  std::optional<std::size_t> rewinds_before = std::nullopt;
  /// Of a runner that resumes an earlier one: the first step that was not judged.
  std::int64_t first_fresh_step = 0;
  /// Of a runner that resumes an earlier one: the notes before this step were reported.
  std::int64_t first_fresh_note = 0;
};

/// Follows a run and passes each new complete step to a sink, once. Belongs to one thread, which
/// runs follow().
class StepFeed {
 public:
  /// Receives what the feed finds, on the feed's thread.
  struct Sink {
    virtual ~Sink() = default;
    virtual void add(std::vector<Step> steps) = 0;
    /// Time has passed; `snapshot` is the newest one.
    virtual void tick(std::chrono::steady_clock::time_point now,
                      std::shared_ptr<const Snapshot> snapshot) = 0;
    /// The run has become Interrupted, or is Running again.
    virtual void status_changed(RunStatus status) = 0;
    /// Whether the feed is to end. Asked before each wait, which RunFollower::wake() ends.
    virtual bool enough() = 0;
  };

  /// Why the feed has ended.
  struct End {
    /// The idle timeout is over.
    bool idle = false;
    /// Why the run cannot be read any further; null if it can.
    std::exception_ptr error = nullptr;
    /// The notes behind the last step.
    std::vector<Note> notes = {};
    /// The last snapshot; null if there never was one.
    std::shared_ptr<const Snapshot> snapshot = {};
  };

  /// Borrows `trial`, `follower` and `sink`; the follower is over the same view as the trial.
  StepFeed(Trial& trial, RunFollower& follower, Sink& sink, const StepFeedOptions& options)
      : trial_(trial),
        follower_(follower),
        sink_(sink),
        options_(options),
        notes_begin_(options.first_fresh_note) {}

  /// Returns when the run has ended, the options end the feed, or Sink::enough() returns true.
  End follow();

 private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;

  void feed_until_end(End& end);
  bool feed_and_tick();
  Milliseconds longest_wait(Clock::time_point now) const;
  void feed_interrupted_steps(End& end);
  void feed_before_damage();
  void read_last_notes(End& end);
  bool feed_steps(bool incomplete_steps = false);
  bool is_interrupted();
  std::optional<Step> rewind() const;
  void attach_notes(std::vector<Step>& fresh);
  std::vector<Note> fresh_notes(std::int64_t end);

  Trial& trial_;
  RunFollower& follower_;
  Sink& sink_;
  const StepFeedOptions options_;
  std::optional<std::int64_t> last_;  // the last step that was fed
  std::shared_ptr<const Snapshot> last_snapshot_;
  std::optional<std::int64_t> newest_;  // the last step at last_news_
  Clock::time_point last_news_;         // when steps were fed last
  Clock::time_point last_tick_;
  int failures_ = 0;  // of the store, one after another
  bool interrupted_ = false;
  std::int64_t notes_begin_;  // the notes of steps before this one were fed
  // All notes that were fed: after a rewind their steps are read again.
  std::set<std::tuple<std::int64_t, std::string, std::string>> fed_notes_;
};

}  // namespace cupel::rules_detail
