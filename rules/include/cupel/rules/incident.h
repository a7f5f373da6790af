#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cupel/core/mode.h"

namespace cupel {

/// Findings of one rule at successive steps of a mode.
///
/// An incident belongs to a configured rule and a mode. It begins at a finding when none is open
/// there. It is over at the first step of that mode which the rule judges without a finding; steps
/// at which the rule could not judge anything do not count.
struct Incident {
  std::string rule = {};        ///< The name of the rule.
  std::string name = {};        ///< The name of the configured rule.
  Mode mode = Mode::Global;     ///< The mode of its steps.
  std::int64_t number = 0;      ///< The number, counted per configured rule from 1 on.
  std::int64_t first_step = 0;  ///< The global step of the first findings.
  std::int64_t last_step = 0;   ///< The global step of the newest findings.
  std::int64_t steps = 0;       ///< The number of steps with findings.
  std::int64_t findings = 0;    ///< The number of findings at all these steps.
  /// The global step at which the incident is over; unset while it is open.
  std::optional<std::int64_t> over_at = {};
};

}  // namespace cupel
