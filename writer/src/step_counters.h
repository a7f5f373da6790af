#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "cupel/core/mode.h"

namespace cupel::writer_detail {

/// The last step that began: of all, and of each mode; -1 where none has.
///
/// A value. Global's counter is `global`; its place in `of_mode` stays unused.
struct StepCounters {
  std::int64_t global = -1;
  std::array<std::int64_t, 5> of_mode = {-1, -1, -1, -1, -1};  ///< By the number of the Mode.

  /// A valid mode only.
  std::int64_t& operator[](Mode mode) noexcept {
    return mode == Mode::Global ? global : of_mode[static_cast<std::size_t>(mode)];
  }
  std::int64_t operator[](Mode mode) const noexcept {
    return mode == Mode::Global ? global : of_mode[static_cast<std::size_t>(mode)];
  }

  /// Begins a step in a mode.
  void count(Mode mode) noexcept {
    ++global;
    if (mode != Mode::Global) ++(*this)[mode];
  }

  friend bool operator==(const StepCounters&, const StepCounters&) = default;
};

}  // namespace cupel::writer_detail
