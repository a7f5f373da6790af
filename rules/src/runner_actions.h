#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "action_queue.h"
#include "cupel/core/mutex.h"
#include "runner_state.h"

namespace cupel::rules_detail {

/// Returns the action that an earlier runner left pending, among the configured ones; null if it is
/// not one of them.
const Action* action_of(const RunnerState::PendingAction& pending,
                        const std::vector<Action>& actions);

/// The actions of a runner, from the finding to the line with the outcome. Belongs to the thread of
/// run(), except hurry().
///
/// No action begins before start(): the runner writes pending() into its state first, so that the
/// state knows every action that has begun.
class RunnerActions {
 public:
  /// `run` is the id of the run, part of the names of incidents. `on_outcome` is called from the
  /// queue's thread.
  RunnerActions(std::string run, ActionQueueOptions options, std::function<void()> on_outcome);

  /// Orders the actions of the incident that begins with the line.
  void order(const std::vector<Action>& actions, const VerdictLine& line);
  /// Takes over an action that an earlier runner left pending.
  void take_over(const RunnerState::PendingAction& pending, const Action& action,
                 const std::string& file);

  /// The orders whose outcomes have not been taken yet.
  const std::vector<RunnerState::PendingAction>& pending() const noexcept { return pending_; }
  /// Starts the ordered actions. The claims of outcomes that were taken are removed when start()
  /// returns.
  void start();

  /// Returns the lines of new outcomes, whose orders are no longer pending. Where claims are kept,
  /// an order that the queue has left undone stays pending and has no line: the next runner
  /// performs it.
  std::vector<VerdictLine> take_outcomes();

  /// Waits for the outcomes of all actions that were started, for so long at most; then ends the
  /// action that runs.
  void finish(std::chrono::milliseconds at_most);
  /// Makes finish(), the present one or the next, wait for a few seconds only; from any thread.
  void hurry();

 private:
  const std::string run_;
  const std::string claims_directory_;
  const std::function<void()> on_outcome_;
  std::vector<RunnerState::PendingAction> pending_;
  std::vector<ActionOrder> ordered_;  // not begun
  std::size_t begun_ = 0;
  std::vector<ActionQueue::Outcome> finished_;

  mutable Mutex mutex_;
  ConditionVariable news_;
  std::vector<ActionQueue::Outcome> outcomes_ CUPEL_GUARDED_BY(mutex_);
  bool hurries_ CUPEL_GUARDED_BY(mutex_) = false;

  ActionQueue queue_;  // its thread ends before the above goes
};

}  // namespace cupel::rules_detail
