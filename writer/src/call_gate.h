#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "cupel/core/mutex.h"
#include "process.h"

namespace cupel::writer_detail {

// The door that every public call of a hook goes through. It counts the calls that are under way
// and their time, keeps saves out while a thread changes the step, and is shut for good when saving
// has ended: after close(), after an error, and in a process that saves nothing. In the child of a
// fork it is shut from the start, since the threads and locks of the hook stayed with the parent.
//
// A thread may be inside a call already when it makes another: a store, a log sink or a handler of
// a signal may call the hook again, or another hook. Such a nested call waits for nobody.
class CallGate {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether calls act.
  bool is_open() const noexcept { return open_.load(std::memory_order_relaxed) && !is_copy(); }
  // Calls that begin from now on do nothing. Returns whether the gate was open.
  bool shut() noexcept { return open_.exchange(false); }
  // Whether this object is the child's copy of a hook.
  bool is_copy() const noexcept { return fork_depth() != made_at_depth_; }
  bool is_busy() const noexcept { return calls_ > 0; }

  // Returns whether this is the first call of the function.
  bool begin_closing() noexcept { return !closing_.exchange(true); }
  // From now on calls that begin do nothing. The thread that closes at the exit looks
  // afterwards whether a call is under way, so that one of the two sees the other.
  void begin_exit() noexcept { exiting_ = true; }

  // Runs `act` as a call of the training thread.
  template <class Act>
  void run(Act&& act);
  // Runs `act` as a save, where the gate is open. A save that begins while another thread changes
  // the step belongs to no step: `refuse` runs in its place.
  template <class Act, class Refuse>
  void run_save(Act&& act, Refuse&& refuse);
  // Runs `act` as a call that gives a tensor its name or collections: it waits for the thread that
  // changes the step. Inside a call that waits, too, `refuse` runs in its place.
  template <class Act, class Refuse>
  void run_naming(Act&& act, Refuse&& refuse);

  // How long calls have taken, all threads together, and the share of a time since the gate was
  // made.
  std::chrono::nanoseconds spent() const noexcept { return std::chrono::nanoseconds(spent_ns_); }
  double share_of_time(std::chrono::nanoseconds time) const noexcept;

  // Whether this thread is inside a call of this hook.
  bool is_inside_call() const noexcept;

  class Busy;
  class Call;
  class Alone;

 private:
  // One of the calls that this thread is inside. A call that waits for other threads does not act
  // yet.
  class Inside {
   public:
    Inside(const CallGate& gate, bool waits) noexcept
        : gate_(gate), waits_(waits), outer_(innermost_) {
      innermost_ = this;
    }
    ~Inside() { innermost_ = outer_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    friend class CallGate;
    const CallGate& gate_;
    const bool waits_;
    const Inside* const outer_;
  };
  bool is_acting() const noexcept;  // inside a call that does not wait for other threads

  static thread_local const Inside* innermost_;

  std::atomic<bool> open_{true};
  std::atomic<bool> closing_{false};
  std::atomic<bool> exiting_{false};  // the process, or the hook is destroyed
  std::atomic<bool> alone_{false};    // a thread changes the step and holds the mutex
  std::atomic<int> calls_{0};
  std::atomic<std::int64_t> spent_ns_{0};
  Mutex alone_mutex_;
  const std::uint64_t made_at_depth_ = fork_depth();
  const Clock::time_point created_ = Clock::now();
};

// Counts a public call while it lasts.
class CallGate::Busy {
 public:
  explicit Busy(CallGate& gate) noexcept : gate_(gate), is_nested_(gate.is_acting()) {
    ++gate_.calls_;
  }
  ~Busy() { --gate_.calls_; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  bool is_nested() const noexcept { return is_nested_; }

 private:
  CallGate& gate_;
  const bool is_nested_;
  const Inside inside_{gate_, false};
};

// Counts a public call and its time.
class CallGate::Call {
 public:
  explicit Call(CallGate& gate) noexcept : gate_(gate), busy_(gate) {}
  ~Call() { gate_.spent_ns_ += (Clock::now() - begin_).count(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether no thread changes the step. A thread that is about to change it waits for this call.
  bool may_run_beside_others() const noexcept { return busy_.is_nested() || !gate_.alone_; }

 private:
  CallGate& gate_;
  const Busy busy_;
  Clock::time_point begin_ = Clock::now();
};

// Keeps all other threads out of the hook while the step, the mode or the end of the run changes.
// Calls that have begun end first; they need nothing of this thread.
class CallGate::Alone {
 public:
  explicit Alone(CallGate& gate);
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

  // False inside a call of this thread that waits itself: what that call waits for is not over.
  bool may_change() const noexcept { return may_change_; }

 private:
  CallGate& gate_;
  std::optional<Inside> waiting_;
  std::optional<MutexLock> lock_;
  bool may_change_ = false;
};

template <class Act>
void CallGate::run(Act&& act) {
  const Call counted(*this);
  if (!exiting_) act();
}

template <class Act, class Refuse>
void CallGate::run_save(Act&& act, Refuse&& refuse) {
  const Call counted(*this);
  const bool may_run = counted.may_run_beside_others();
  // In this order: a save that begins behind close() finds the gate shut.
  if (exiting_ || !is_open()) return;
  if (may_run) {
    act();
  } else {
    refuse();
  }
}

template <class Act, class Refuse>
void CallGate::run_naming(Act&& act, Refuse&& refuse) {
  {
    const Call counted(*this);
    if (exiting_) return;
    if (counted.may_run_beside_others()) return act();
  }  // or each would wait for the other
  if (is_inside_call()) {
    const Call counted(*this);
    return refuse();
  }
  const Inside waiting(*this, true);
  const MutexLock behind_step_change(alone_mutex_);
  run(act);
}

}  // namespace cupel::writer_detail
