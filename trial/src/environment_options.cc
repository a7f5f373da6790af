#include "environment_options.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "cupel/core/log.h"
#include "cupel/core/number_text.h"

namespace cupel::trial_detail {

namespace {

/// The number that a variable holds; nothing if it is not set, or holds none, with a warning.
std::optional<double> number_from(const char* variable, double least, double greatest,
                                  const char* legal) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  const std::optional<double> number = parse_number(without_blanks_and_plus(text));
  if (number && *number >= least && *number <= greatest) return number;
  log(LogLevel::Warning, std::string(variable) + " is ignored, it is not " + legal + ": " + text);
  return std::nullopt;
}

}  // namespace

std::chrono::milliseconds end_delay_from_environment() {
  const std::optional<double> seconds = number_from("SMDEBUG_TRAINING_END_DELAY_REFRESH", 0, 3600,
                                                    "a number of seconds from 0 to 3600");
  return std::chrono::milliseconds(std::llround(seconds.value_or(0) * 1000));
}

std::optional<std::int64_t> wait_window_from_environment() {
  const std::optional<double> steps =
      number_from("SMDEBUG_INCOMPLETE_STEP_WAIT_WINDOW", 1, 1e15, "a number of steps from 1 on");
  if (!steps) return std::nullopt;
  return static_cast<std::int64_t>(*steps);
}

}  // namespace cupel::trial_detail
