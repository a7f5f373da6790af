#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace cupel {

/// From now on SIGINT and SIGTERM end the process at once with kExitInterrupted, unless whoever
/// started it had them ignored.
void exit_on_signal();

/// While it exists, SIGINT or SIGTERM requests a stop instead of ending the process; a second one
/// ends it with kExitInterrupted. One at a time in a process.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const noexcept { return source_.get_token(); }

 private:
  std::stop_source source_;
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
  std::jthread listener_;
};

}  // namespace cupel
