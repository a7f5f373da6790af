#include "call_gate.h"

#include <thread>

namespace cupel::writer_detail {

thread_local const CallGate::Inside* CallGate::innermost_ = nullptr;

// A call raises calls_ and then looks at alone_; this thread raises alone_ and then looks at
// calls_. One of the two sees the other.
CallGate::Alone::Alone(CallGate& gate) : gate_(gate) {
  if (gate.is_inside_call()) {
    may_change_ = gate.is_acting();
    return;
  }
  // First: what interrupts this thread must not wait for what it holds.
  waiting_.emplace(gate, true);
  lock_.emplace(gate.alone_mutex_);
  gate.alone_ = true;
  constexpr int kTries = 100;
  for (int tries = 0; gate.is_busy(); ++tries) {
    if (tries < kTries) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  may_change_ = true;
}

CallGate::Alone::~Alone() {
  if (lock_) gate_.alone_ = false;
}

bool CallGate::is_inside_call() const noexcept {
  for (const Inside* each = innermost_; each != nullptr; each = each->outer_)
    if (&each->gate_ == this) return true;
  return false;
}

bool CallGate::is_acting() const noexcept {
  for (const Inside* each = innermost_; each != nullptr; each = each->outer_)
    if (&each->gate_ == this && !each->waits_) return true;
  return false;
}

double CallGate::share_of_time(std::chrono::nanoseconds time) const noexcept {
  const auto total = std::chrono::nanoseconds(Clock::now() - created_).count();
  return total <= 0 ? 0 : static_cast<double>(time.count()) / static_cast<double>(total);
}

}  // namespace cupel::writer_detail
