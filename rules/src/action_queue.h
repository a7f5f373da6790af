#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "action_performer.h"

namespace cupel {

struct ActionQueueOptions {
  PerformerOptions performer = {};
  bool dry_run = false;  ///< Nothing is done; outcomes say what would be.
  /// Orders beyond so many that wait are refused: their outcome says so, at once. Those that are
  /// done at once do not count, and are never refused.
  std::size_t most_waiting = 256;
  int attempts = 3;  ///< In all.
  /// Before the second attempt; doubled before each further one.
  std::chrono::milliseconds first_delay{1000};
};

/// Carries actions out on a thread of its own, one after another, in the order in which they were
/// given; but those that are done at once (stop, signal, stopfile, log) go before, and beside,
/// those that wait for a command or a receiver. Orders to stop that follow each other are written
/// to the disk as one request, so that thousands of them take no longer than a few. An order that
/// failed is tried again later, and does not hold up the others meanwhile.
class ActionQueue {
 public:
  using Order = ActionOrder;
  struct Outcome {
    Order order;
    ActionResult result = ActionResult::Done;
    int attempts = 0;  ///< 0: it was refused, not begun, or only planned.
    std::string message;
    /// The queue has ended before it came to it, or to its next attempt.
    bool left = false;
    /// As a line of the firing's rule and step; its time is the firing's.
    VerdictLine line() const;
  };
  /// Called from the queue's thread, once for every order that add() took. It may call add(), not
  /// close().
  using OnOutcome = std::function<void(const Outcome&)>;

  ActionQueue(ActionQueueOptions options, OnOutcome on_outcome);
  ~ActionQueue();  ///< close() without grace.
  ActionQueue(const ActionQueue&) = delete;
  ActionQueue& operator=(const ActionQueue&) = delete;

  /// Never blocks, from any thread. False: the queue is closed and nothing will come of the order.
  bool add(Order order);

  /// Carries out what waits, for so long at most; then ends what runs, and says of the rest that it
  /// was not carried out. All outcomes have been told when it returns, which takes little longer
  /// whatever commands and receivers do.
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
  bool is_over() const;
  Position next(bool only_quick);
  void carry_out(Position position, std::unique_lock<std::mutex>& lock);
  void try_once(Waiting waiting);
  void try_stops(std::vector<Waiting> stops);
  void take(Waiting waiting, Attempt attempt);
  bool go_on(std::chrono::milliseconds at_most);
  void tell(Waiting waiting, ActionResult result, std::string message, bool left = false);

  const ActionQueueOptions options_;
  const OnOutcome on_outcome_;
  ActionPerformer performer_;  // of the thread

  std::mutex mutex_;
  std::condition_variable news_;
  // Guarded by mutex_:
  std::deque<Waiting> waiting_;
  std::optional<Clock::time_point> deadline_;  // set: the queue is closed

  std::jthread thread_;
};

}  // namespace cupel
