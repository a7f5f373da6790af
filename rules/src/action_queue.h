#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "action_performer.h"
#include "cupel/core/mutex.h"

namespace cupel::rules_detail {

struct ActionQueueOptions {
  PerformerOptions performer = {};
  bool dry_run = false;  ///< No action is done; outcomes are Planned.
  /// The number of orders that may wait; a further order is refused, and its outcome is reported at
  /// once. Actions that are done at once do not count, and are never refused.
  std::size_t most_waiting = 256;
  int attempts = 3;  ///< The number of attempts of one order.
  /// The delay before the second attempt; it doubles before each further one.
  std::chrono::milliseconds first_delay{1000};
};

/// Performs actions on a thread of its own, one after another, in the order of add(). Actions that
/// are done at once (stop, signal, stopfile, log) go before, and beside, those that wait for a
/// command or a receiver. Orders to stop that follow each other are written to the disk as one
/// request, so that thousands of them take no longer than a few. A failed order is retried later,
/// and does not hold up other orders.
class ActionQueue {
 public:
  using Order = ActionOrder;
  struct Outcome {
    Order order;
    ActionResult result = ActionResult::Done;
    int attempts = 0;  ///< 0: the order was refused, not begun, or only planned.
    std::string message;
    /// The queue ended before the order was begun, or before its next attempt.
    bool left = false;
    /// Returns the outcome as a line of the rule and step that fired, with the time of the finding.
    VerdictLine line() const;
  };
  /// Called from the queue's thread, once for every order that add() accepted. It may call add(),
  /// but not close().
  using OnOutcome = std::function<void(const Outcome&)>;

  ActionQueue(ActionQueueOptions options, OnOutcome on_outcome);
  ~ActionQueue();  ///< close() without grace.
  ActionQueue(const ActionQueue&) = delete;
  ActionQueue& operator=(const ActionQueue&) = delete;

  /// Adds an order; from any thread, never blocks. Returns false where the queue is closed: then
  /// the order has no outcome.
  bool add(Order order);

  /// Performs the orders that wait, for so long at most; then ends the action that runs, and
  /// reports the other orders as not performed. All outcomes have been reported when close()
  /// returns, which takes little longer than `grace` whatever commands and receivers do.
  void close(std::chrono::milliseconds grace);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Order order;
    int attempts = 0;
    Clock::time_point not_before = {};
    std::string message = {};  // of the last attempt
    bool refused = false;
  };
  using Position = std::deque<Waiting>::iterator;

  void work();
  bool is_over() const CUPEL_REQUIRES(mutex_);
  Position next(bool only_quick) CUPEL_REQUIRES(mutex_);
  // Lets go of the mutex meanwhile.
  void carry_out(Position position) CUPEL_REQUIRES(mutex_);
  void try_once(Waiting waiting);
  void try_stops(std::vector<Waiting> stops);
  void take(Waiting waiting, Attempt attempt);
  bool go_on(std::chrono::milliseconds at_most);
  void report_outcome(Waiting waiting, ActionResult result, std::string message, bool left = false);

  const ActionQueueOptions options_;
  const OnOutcome on_outcome_;
  ActionPerformer performer_;  // of the thread

  Mutex mutex_;
  ConditionVariable news_;
  std::deque<Waiting> waiting_ CUPEL_GUARDED_BY(mutex_);
  // Set: the queue is closed.
  std::optional<Clock::time_point> deadline_ CUPEL_GUARDED_BY(mutex_);

  std::jthread thread_;
};

}  // namespace cupel::rules_detail
