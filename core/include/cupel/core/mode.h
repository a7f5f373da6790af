#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cupel {

/// The purpose of a step. The numbers are those of the ported SDK.
///
/// Each mode counts its own steps from 0; the global step counts all of them. Global is the mode
/// while none was set, and a step recorded in it has mode step = global step.
enum class Mode : std::int8_t { Train = 1, Eval = 2, Predict = 3, Global = 4 };

inline constexpr std::array<Mode, 4> kAllModes = {Mode::Train, Mode::Eval, Mode::Predict,
                                                  Mode::Global};

/// "TRAIN", "EVAL", "PREDICT" or "GLOBAL".
std::string_view to_string(Mode mode) noexcept;

/// Reads a mode in any case; throws UsageError that names the four.
Mode parse_mode(std::string_view text);

/// Whether `mode` is one of the four (a cast integer may not be).
constexpr bool is_valid(Mode mode) noexcept { return mode >= Mode::Train && mode <= Mode::Global; }

}  // namespace cupel
