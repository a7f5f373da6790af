#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "action_queue.h"
#include "runner_state.h"

namespace cupel::runner_detail {

/// The action that an earlier runner had pending, among those that are configured now; null if it
/// is not one of them.
const Action* action_of(const RunnerState::PendingAction& pending,
                        const std::vector<Action>& actions);

/// What a runner does about incidents, from the firing to the line that tells what became of each
/// action. Of run()'s thread, but for hurry().
///
/// Nothing is begun before start(): whoever keeps a state writes what is pending() first, so that
/// nothing that was begun is ever forgotten.
class RunnerActions {
 public:
  /// `run` is the run's id, part of the incidents' names; `on_outcome` is called from another
  /// thread.
  RunnerActions(std::string run, ActionQueueOptions options, std::function<void()> on_outcome);

  /// Takes orders for an incident that the line tells of.
  void order(const std::vector<Action>& actions, const VerdictLine& line);
  /// Takes over one that an earlier runner had pending.
  void take_over(const RunnerState::PendingAction& pending, const Action& action,
                 const std::string& file);

  /// What was ordered and not told of yet.
  const std::vector<RunnerState::PendingAction>& pending() const noexcept { return pending_; }
  /// Begins what was ordered. What was told of before is gone from every file when it returns.
  void start();

  /// The lines that tell what has come, which is pending no longer. What the queue has left undone
  /// stays pending, and is not told, where claims are kept: the next runner does it.
  std::vector<VerdictLine> take_outcomes();

  /// Waits for the outcomes of all that was begun, for so long at most; then ends what runs.
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
  std::vector<ActionQueue::Outcome> told_;

  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::vector<ActionQueue::Outcome> outcomes_;  // guarded by mutex_
  bool hurries_ = false;                        // likewise

  ActionQueue queue_;  // its thread ends before the above goes
};

}  // namespace cupel::runner_detail
