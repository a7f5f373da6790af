// The queue of actions and its thread.
//
// add() takes orders from any thread. The queue's thread performs one order at a time: actions that
// are done at once (stop, signal, stopfile, log) go before and between those that wait for a
// command or a receiver. A failed order is retried after a delay, which doubles, and does not hold
// up other orders.
// Every order has exactly one outcome: done, failed, refused where the queue is full, or not begun
// because the queue ended.

#include "action_queue.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/mutex.h"
#include "exception_text.h"

namespace cupel::rules_detail {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestGrace = std::chrono::hours(24);
constexpr milliseconds kLongestDelay = std::chrono::hours(1);

// TLS writes to a connection that is gone raise SIGPIPE in the thread that writes.
void block_broken_pipes() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

VerdictLine ActionQueue::Outcome::line() const {
  VerdictLine line = order.line;
  line.status = RuleStatus::Action;
  line.tensors.clear();
  line.findings_beyond = 0;
  line.missing_workers.clear();
  line.incident = 0;
  line.message = message;
  line.action = ActionOutcome{to_text(order.action), result, attempts};
  return line;
}

ActionQueue::ActionQueue(ActionQueueOptions options, OnOutcome on_outcome)
    : options_(std::move(options)),
      on_outcome_(std::move(on_outcome)),
      performer_(options_.performer),
      thread_([this] { work(); }) {}

ActionQueue::~ActionQueue() { close(milliseconds(0)); }

bool ActionQueue::add(Order order) {
  {
    const MutexLock lock(mutex_);
    if (deadline_) return false;
    const auto takes_time = [](const Waiting& waiting) {
      return !waiting.refused && !is_quick(waiting.order.action.kind);
    };
    const bool is_full = !order.taken_before && !is_quick(order.action.kind) &&
                         std::ranges::count_if(waiting_, takes_time) >=
                             static_cast<std::ptrdiff_t>(options_.most_waiting);
    if (is_full) order.line.tensors.clear();  // its outcome has no use for them
    waiting_.push_back({.order = std::move(order), .refused = is_full});
  }
  news_.notify_one();
  return true;
}

void ActionQueue::close(milliseconds grace) {
  {
    const MutexLock lock(mutex_);
    const Clock::time_point deadline =
        Clock::now() + std::clamp(grace, milliseconds(0), kLongestGrace);
    deadline_ = deadline_ ? std::min(*deadline_, deadline) : deadline;
  }
  news_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool ActionQueue::is_over() const { return deadline_ && Clock::now() >= *deadline_; }

ActionQueue::Position ActionQueue::next(bool only_quick) {
  const Clock::time_point now = Clock::now();
  const auto is_ready = [now](const Waiting& waiting) { return waiting.not_before <= now; };
  const auto quick = std::ranges::find_if(waiting_, [&](const Waiting& waiting) {
    return is_ready(waiting) &&
           (waiting.refused || options_.dry_run || is_quick(waiting.order.action.kind));
  });
  if (only_quick || quick != waiting_.end()) return quick;
  return std::ranges::find_if(waiting_, is_ready);
}

void ActionQueue::work() {
  block_broken_pipes();
  MutexLock lock(mutex_);
  while (!is_over()) {
    if (const Position ready = next(false); ready != waiting_.end()) {
      carry_out(ready);
      continue;
    }
    const auto earliest = std::ranges::min_element(waiting_, {}, &Waiting::not_before);
    if (earliest == waiting_.end()) {
      if (deadline_) break;
      news_.wait(lock);
    } else {
      if (deadline_ && earliest->not_before >= *deadline_) break;  // no use in waiting for it
      news_.wait_until(lock, earliest->not_before);
    }
  }
  while (!waiting_.empty()) {
    Waiting rest = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    std::string message = "was not carried out, because the watch ended";
    if (rest.attempts > 0) message = rest.message + "; the watch ended before it was tried again";
    if (rest.refused) message = "was refused, because too many actions wait";
    const bool left = !rest.refused;
    report_outcome(std::move(rest), ActionResult::Failed, std::move(message), left);
    lock.lock();
  }
}

void ActionQueue::carry_out(Position position) {
  // Stops that an earlier queue had begun are performed one by one.
  const auto is_fresh_stop = [&](const Waiting& waiting) {
    return waiting.order.action.kind == Action::Kind::Stop && waiting.attempts == 0 &&
           !waiting.order.taken_before && !options_.dry_run;
  };
  Position end = std::next(position);
  if (is_fresh_stop(*position)) end = std::find_if_not(end, waiting_.end(), is_fresh_stop);
  std::vector<Waiting> taken(std::make_move_iterator(position), std::make_move_iterator(end));
  waiting_.erase(position, end);
  const MutexUnlock unlocked(mutex_);
  if (taken.size() == 1)
    try_once(std::move(taken.front()));
  else
    try_stops(std::move(taken));
}

void ActionQueue::try_stops(std::vector<Waiting> stops) {
  Attempt attempt;
  try {
    attempt = performer_.perform_stops(stops.back().order,
                                       [this](milliseconds at_most) { return go_on(at_most); });
  } catch (const std::exception& error) {
    attempt = {false, true, exception_text(error)};
  }
  for (Waiting& stop : stops) take(std::move(stop), attempt);
}

// Called by who performs something that takes time: what is quick is done meanwhile.
bool ActionQueue::go_on(milliseconds at_most) {
  MutexLock lock(mutex_);
  news_.wait_for(lock, at_most, [this]() CUPEL_REQUIRES(mutex_) {
    return is_over() || next(true) != waiting_.end();
  });
  while (!is_over()) {
    const Position quick = next(true);
    if (quick == waiting_.end()) return true;
    carry_out(quick);
  }
  return false;
}

void ActionQueue::try_once(Waiting waiting) {
  if (waiting.refused)
    return report_outcome(
        std::move(waiting), ActionResult::Failed,
        "was refused, because " + std::to_string(options_.most_waiting) + " actions wait");
  if (options_.dry_run) {
    std::string plan = performer_.plan(waiting.order.action);
    return report_outcome(std::move(waiting), ActionResult::Planned, std::move(plan));
  }
  if (waiting.order.taken_before && waiting.attempts == 0) {
    try {
      waiting.attempts = performer_.attempts_begun(waiting.order);
    } catch (const UsageError& error) {
      return report_outcome(std::move(waiting), ActionResult::Failed, exception_text(error));
    } catch (const std::exception& error) {
      return take(std::move(waiting), {false, true, exception_text(error)});
    }
  }
  if (waiting.attempts >= options_.attempts)
    return report_outcome(
        std::move(waiting), ActionResult::Failed,
        "was tried by earlier watches, and none of them learned that it succeeded");
  Attempt attempt;
  try {
    attempt = performer_.perform(waiting.order, waiting.attempts + 1,
                                 [this](milliseconds at_most) { return go_on(at_most); });
  } catch (const std::exception& error) {
    attempt = {false, true, exception_text(error)};
  }
  take(std::move(waiting), std::move(attempt));
}

// Reports the result of an attempt, or puts the order back for the next one.
void ActionQueue::take(Waiting waiting, Attempt attempt) {
  ++waiting.attempts;
  if (attempt.succeeded)
    return report_outcome(std::move(waiting), ActionResult::Done, std::move(attempt.message));
  if (!attempt.may_be_retried || waiting.attempts >= options_.attempts)
    return report_outcome(std::move(waiting), ActionResult::Failed, std::move(attempt.message));
  const int doublings = std::min(waiting.attempts - 1, 20);
  const milliseconds delay = std::min(options_.first_delay * (1 << doublings), kLongestDelay);
  waiting.not_before = Clock::now() + delay;
  waiting.message = std::move(attempt.message);
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(waiting));
}

void ActionQueue::report_outcome(Waiting waiting, ActionResult result, std::string message,
                                 bool left) {
  try {
    on_outcome_({std::move(waiting.order), result, waiting.attempts, std::move(message), left});
  } catch (const std::exception& error) {
    log(LogLevel::Error, "what became of an action was not taken: " + exception_text(error));
  }
}

}  // namespace cupel::rules_detail
