#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cupel/core/mode.h"

namespace cupel {

/// At which steps of one mode something is saved.
///
/// A step is saved if it is listed in save_steps, or if start_step <= step < end_step and the
/// interval divides it. The interval counts from 0, not from start_step; save_steps joins the
/// interval and ignores start and end. To save only listed steps, set end_step = 0.
struct SaveConfigMode {
  std::int64_t save_interval = 500;
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step = std::nullopt;  ///< Exclusive; unset: no end.
  std::vector<std::int64_t> save_steps = {};

  bool should_save(std::int64_t mode_step) const noexcept;
  /// Throws UsageError for an interval below 1 or a negative step.
  void validate() const;
  friend bool operator==(const SaveConfigMode&, const SaveConfigMode&) = default;
};

/// When something is saved in all modes: values for all modes, and configurations of single modes.
///
/// A mode in the map takes that SaveConfigMode entire; a mode absent from it takes the mode-less
/// values; when those are all at their defaults and the SaveConfig is a collection's, the hook's
/// for that mode.
struct SaveConfig {
  std::int64_t save_interval = 500;
  std::int64_t start_step = 0;
  std::optional<std::int64_t> end_step = std::nullopt;
  std::vector<std::int64_t> save_steps = {};
  std::map<Mode, SaveConfigMode> mode_save_configs = {};

  /// Makes one configuration for all modes.
  static SaveConfig of(SaveConfigMode every_mode);

  /// The mode-less values.
  SaveConfigMode mode_less() const;
  /// Returns the configuration of `mode` where there is nothing to fall back to.
  SaveConfigMode mode(Mode mode) const;
  /// Returns a collection's configuration completed by the hook's: every mode given.
  SaveConfig resolved(const SaveConfig& hook) const;
  bool should_save(Mode mode, std::int64_t mode_step) const noexcept;
  /// Sets the end for every mode, given or not; 0 stops all saving but save_steps.
  void set_end_step(std::int64_t end);
  /// Throws UsageError naming the mode and the value.
  void validate() const;
  friend bool operator==(const SaveConfig&, const SaveConfig&) = default;
};

}  // namespace cupel
