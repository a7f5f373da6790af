#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace cupel::command_detail {

/// Makes SIGINT and SIGTERM end the process at once with kExitInterrupted. A signal that the
/// process ignored when it was started stays ignored.
void exit_on_signal();

/// While the object exists, SIGINT or SIGTERM requests a stop and does not end the process; a
/// second signal ends it with kExitInterrupted. A process has one such object at a time.
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

}  // namespace cupel::command_detail
