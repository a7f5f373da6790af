#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "status_line.h"

namespace cupel::command_detail {

/// Shows the progress of a command that takes more than a second, in one line of a terminal, which
/// is removed at the end:
///
///     reading values  [███████▌            ]  38 %  1.2 of 3.1 GiB
///
/// Without a terminal, and in less than a second, nothing is shown. One thread uses an object.
class Progress {
 public:
  using Clock = StatusLine::Clock;
  /// Shows the line on `terminal`. Default: standard error, if it is a terminal.
  using Terminal = StatusLine::Terminal;
  enum class Unit { Count, Bytes };

  /// `what` is the work in words: "reading values".
  explicit Progress(std::string what, Unit unit = Unit::Count);
  Progress(std::string what, Unit unit, Terminal terminal);

  /// Reports that `done` of `total` is done. A call is cheap enough for every tensor.
  void operator()(std::uint64_t done, std::uint64_t total);

  /// Removes the line until the next call, so that something can be printed.
  void wipe() { line_.wipe(); }

 private:
  std::string text(std::uint64_t done, std::uint64_t total) const;

  const std::string what_;
  const Unit unit_;
  StatusLine line_;  // its destructor removes the line
  const Clock::time_point begin_;
  std::optional<Clock::time_point> drawn_;
};

}  // namespace cupel::command_detail
