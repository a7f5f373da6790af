#include "cupel/core/save_config.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "cupel/core/error.h"

namespace cupel {
namespace {

bool saves(std::int64_t interval, std::int64_t start, const std::optional<std::int64_t>& end,
           const std::vector<std::int64_t>& listed, std::int64_t step) noexcept {
  if (std::ranges::find(listed, step) != listed.end()) return true;
  return interval > 0 && start <= step && (!end || step < *end) && step % interval == 0;
}

void refuse(std::string_view mode, std::string_view rule, std::int64_t value) {
  std::string message(rule);
  if (!mode.empty()) message.append(" (mode ").append(mode).append(")");
  throw UsageError(message + ": " + std::to_string(value));
}

void validate(const SaveConfigMode& config, std::string_view mode) {
  if (config.save_interval < 1)
    refuse(mode, "save_interval must be at least 1", config.save_interval);
  if (config.start_step < 0) refuse(mode, "start_step must not be negative", config.start_step);
  if (config.end_step.value_or(0) < 0)
    refuse(mode, "end_step must not be negative", *config.end_step);
  for (const std::int64_t step : config.save_steps)
    if (step < 0) refuse(mode, "save_steps must not be negative", step);
}

}  // namespace

bool SaveConfigMode::should_save(std::int64_t mode_step) const noexcept {
  return saves(save_interval, start_step, end_step, save_steps, mode_step);
}

void SaveConfigMode::validate() const { cupel::validate(*this, {}); }

SaveConfig SaveConfig::of(SaveConfigMode every_mode) {
  return {.save_interval = every_mode.save_interval,
          .start_step = every_mode.start_step,
          .end_step = every_mode.end_step,
          .save_steps = std::move(every_mode.save_steps),
          .mode_save_configs = {}};
}

SaveConfigMode SaveConfig::mode_less() const {
  return {save_interval, start_step, end_step, save_steps};
}

SaveConfigMode SaveConfig::mode(Mode mode) const {
  const auto given = mode_save_configs.find(mode);
  return given != mode_save_configs.end() ? given->second : mode_less();
}

SaveConfig SaveConfig::resolved(const SaveConfig& hook) const {
  const bool inherits = mode_less() == SaveConfigMode{};
  const SaveConfig& fallback = inherits ? hook : *this;
  SaveConfig result = fallback;
  for (const Mode each : kAllModes) result.mode_save_configs[each] = fallback.mode(each);
  for (const auto& [each, config] : mode_save_configs) result.mode_save_configs[each] = config;
  return result;
}

bool SaveConfig::should_save(Mode mode, std::int64_t mode_step) const noexcept {
  const auto given = mode_save_configs.find(mode);
  if (given != mode_save_configs.end()) return given->second.should_save(mode_step);
  return saves(save_interval, start_step, end_step, save_steps, mode_step);
}

void SaveConfig::set_end_step(std::int64_t end) {
  if (end < 0) refuse({}, "end_step must not be negative", end);
  end_step = end;
  for (auto& [each, config] : mode_save_configs) config.end_step = end;
}

void SaveConfig::validate() const {
  cupel::validate(mode_less(), {});
  for (const auto& [each, config] : mode_save_configs) {
    if (!is_valid(each))
      refuse({}, "mode_save_configs names no mode", static_cast<std::int64_t>(each));
    cupel::validate(config, to_string(each));
  }
}

}  // namespace cupel
