#include "stop_signal.h"

#include <cmath>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"
#include "cupel/core/log.h"
#include "cupel/core/number_text.h"

namespace cupel::rules_detail {
namespace {

// How often the file is asked for where every request costs.
constexpr std::chrono::seconds kCostlyInterval{10};

// Blanks around it are let pass.
std::optional<double> seconds_of(std::string_view text) {
  const std::optional<double> seconds = parse_number(trimmed(text));
  return seconds && std::isfinite(*seconds) ? seconds : std::nullopt;
}

}  // namespace

StopSignal::StopSignal() {
  if (const char* const name = std::getenv("SAGEMAKER_ENV_RULE_STOP_SIGNAL_FILE");
      name != nullptr && *name != '\0')
    file_ = name;
  const char* const grace = std::getenv("rule_stop_grace_time_secs");
  if (grace == nullptr) return;
  const std::optional<double> seconds = seconds_of(grace);
  constexpr double kLongest = 1e9;
  if (seconds && *seconds >= 0 && *seconds <= kLongest)
    grace_ = std::chrono::seconds(static_cast<std::int64_t>(*seconds));
  else
    log(LogLevel::Warning,
        "rule_stop_grace_time_secs is no number of seconds: " + std::string(grace));
}

bool StopSignal::expired(const RunFollower& run, std::chrono::system_clock::time_point now) {
  if (!file_ || now < next_look_) return false;
  if (run.requests_cost()) next_look_ = now + kCostlyInterval;
  return has_expired(run, now);
}

bool StopSignal::has_expired(const RunFollower& run,
                             std::chrono::system_clock::time_point now) const {
  try {
    const std::optional<std::string> text = run.extra_file(*file_);
    if (!text) return false;
    const std::optional<double> asked = seconds_of(*text);
    const std::chrono::duration<double> since = now.time_since_epoch();
    return !asked || since.count() > *asked + static_cast<double>(grace_.count());
  } catch (const StoreError& failure) {
    log(LogLevel::Warning, std::string("the stop signal cannot be read: ") + failure.what());
    return !failure.retryable;
  } catch (const UsageError&) {
    return false;  // no file of a run is called so
  }
}

}  // namespace cupel::rules_detail
