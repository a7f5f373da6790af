#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace cupel::trial_detail {

// Variables of the ported SDK, which hold where TrialOptions leave a field out. A variable that
// holds no legal value is ignored with a warning.

/// SMDEBUG_TRAINING_END_DELAY_REFRESH, in seconds; 0 if it is not set.
std::chrono::milliseconds end_delay_from_environment();

/// SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW; nothing if it is not set.
std::optional<std::int64_t> wait_window_from_environment();

}  // namespace cupel::trial_detail
