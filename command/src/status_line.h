#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

namespace cupel::command_detail {

/// One line on a terminal that changes in place and is removed at the end. Without a terminal
/// nothing is shown. One thread uses an object.
class StatusLine {
 public:
  using Clock = std::chrono::steady_clock;
  struct Terminal {
    std::ostream* out = nullptr;  ///< The stream of the terminal. Null: there is no terminal.
    int columns = 80;
    std::function<Clock::time_point()> now = Clock::now;
  };
  /// Returns standard error, if it is a terminal that can move its cursor.
  static Terminal standard_error();

  explicit StatusLine(Terminal terminal) : terminal_(std::move(terminal)) {}
  ~StatusLine() { wipe(); }  ///< Removes the line.
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  const Terminal& terminal() const noexcept { return terminal_; }
  /// Shows `text` in place of the text before. A text that is wider than the terminal is cut,
  /// because a broken line cannot be removed. The cursor stays at the beginning of the line, so
  /// that log messages overwrite it.
  void show(std::string text);
  /// Removes the line until the next show(), so that something can be printed.
  void wipe();

 private:
  const Terminal terminal_;
  bool visible_ = false;
};

}  // namespace cupel::command_detail
