#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace cupel {

/// Shows on a terminal how far a command is that takes more than a second, in one line that is
/// wiped away at the end:
///
///     reading values  [███████▌            ]  38 %  1.2 of 3.1 GiB
///
/// Elsewhere, and in what takes less, it says nothing. One thread.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  /// Where the line goes. Default: standard error, if that is a terminal.
  struct Terminal {
    std::ostream* out = nullptr;  ///< Null: there is none.
    int columns = 80;
    std::function<Clock::time_point()> now = Clock::now;
  };
  enum class Unit { Count, Bytes };

  /// `what` says what is done: "reading values".
  explicit Progress(std::string what, Unit unit = Unit::Count);
  Progress(std::string what, Unit unit, Terminal terminal);
  ~Progress();  ///< Wipes the line.
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Tells that `done` of `total` is done. Cheap enough for every tensor.
  void operator()(std::uint64_t done, std::uint64_t total);

  /// What was shown in the line is wiped away until the next call, so that something can be
  /// printed.
  void wipe();

 private:
  std::string line(std::uint64_t done, std::uint64_t total) const;

  const std::string what_;
  const Unit unit_;
  const Terminal terminal_;
  const Clock::time_point begin_;
  std::optional<Clock::time_point> drawn_;
  bool visible_ = false;
};

}  // namespace cupel
