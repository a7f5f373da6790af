#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace cupel::demo {

/// A program that runs beside this process. Its standard output and standard error are read here;
/// its standard input is empty. One thread uses an object.
class ChildProcess {
 public:
  /// Starts the program at the path `command[0]` with the arguments behind it. Throws Error, with
  /// the path and the reason, if the program cannot be started.
  explicit ChildProcess(std::vector<std::string> command);
  /// Ends a program that runs, by SIGTERM, and waits for its end.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Waits for the first line of the program's output. Throws what finish() throws if the program
  /// ends before.
  void wait_for_a_line();
  /// Waits until the program has ended. Throws Error, with the path, the exit code or signal and
  /// the last line of output, unless the exit code is 0.
  void finish();

 private:
  bool read_output();
  const std::string program_;
  pid_t process_ = -1;  // -1: it has ended
  int output_ = -1;     // the end of a pipe
  std::string text_;    // the end of the output
  bool has_line_ = false;
};

}  // namespace cupel::demo
