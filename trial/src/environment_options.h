#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace cupel::trial_detail {

// What variables of the ported SDK say where TrialOptions do not; a warning for what cannot be
// meant.

/// SMDEBUG_TRAINING_END_DELAY_REFRESH, seconds; none if it is not set.
std::chrono::milliseconds end_delay_from_environment();

/// SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW; nothing if it is not set.
std::optional<std::int64_t> wait_window_from_environment();

}  // namespace cupel::trial_detail
