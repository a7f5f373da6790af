#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>

namespace cupel {

/// One line on a terminal that changes in place and is wiped away at the end. Elsewhere it shows
/// nothing. One thread.
class StatusLine {
 public:
  using Clock = std::chrono::steady_clock;
  struct Terminal {
    std::ostream* out = nullptr;  ///< Null: there is none.
    int columns = 80;
    std::function<Clock::time_point()> now = Clock::now;
  };
  /// Standard error, if that is a terminal that can move its cursor.
  static Terminal standard_error();

  explicit StatusLine(Terminal terminal) : terminal_(std::move(terminal)) {}
  ~StatusLine() { wipe(); }  ///< Wipes the line.
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  const Terminal& terminal() const noexcept { return terminal_; }
  /// Shows `text` in place of what was there. A line that is broken cannot be wiped away, so that
  /// what is wider than the terminal is cut. The cursor stays at its begin, so that lines which
  /// somebody logs meanwhile take its place.
  void show(std::string text);
  /// Wipes the line until the next show(), so that something can be printed.
  void wipe();

 private:
  const Terminal terminal_;
  bool visible_ = false;
};

}  // namespace cupel
