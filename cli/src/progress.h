#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "status_line.h"

namespace cupel {

/// Shows on a terminal how far a command is that takes more than a second, in one line that is
/// wiped away at the end:
///
///     reading values  [███████▌            ]  38 %  1.2 of 3.1 GiB
///
/// Elsewhere, and in what takes less, it says nothing. One thread.
class Progress {
 public:
  using Clock = StatusLine::Clock;
  /// Where the line goes. Default: standard error, if that is a terminal.
  using Terminal = StatusLine::Terminal;
  enum class Unit { Count, Bytes };

  /// `what` says what is done: "reading values".
  explicit Progress(std::string what, Unit unit = Unit::Count);
  Progress(std::string what, Unit unit, Terminal terminal);

  /// Tells that `done` of `total` is done. Cheap enough for every tensor.
  void operator()(std::uint64_t done, std::uint64_t total);

  /// What was shown in the line is wiped away until the next call, so that something can be
  /// printed.
  void wipe() { line_.wipe(); }

 private:
  std::string text(std::uint64_t done, std::uint64_t total) const;

  const std::string what_;
  const Unit unit_;
  StatusLine line_;  // wiped when this goes
  const Clock::time_point begin_;
  std::optional<Clock::time_point> drawn_;
};

}  // namespace cupel
