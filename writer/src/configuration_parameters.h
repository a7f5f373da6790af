#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configuration_reading.h"
#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"

namespace cupel {

// What is said about the steps of one mode, or of all of them.
struct SaveFields {
  std::optional<std::int64_t> save_interval;
  std::optional<std::int64_t> start_step;
  std::optional<std::int64_t> end_step;
  std::optional<std::vector<std::int64_t>> save_steps;

  bool any() const noexcept;
  void apply_to(SaveConfigMode& config) const;
};

// What the parameters of a hook or a collection say in the keys that both have.
struct Parameters {
  SaveFields every_mode;
  std::map<Mode, SaveFields> of_mode;
  std::optional<PatternList> include_regex;
  std::optional<std::string> reductions;
  std::optional<bool> save_raw_tensor;
  std::optional<bool> save_shape;

  bool any_save_key() const noexcept;
  // Complete: every mode given. Prefixed keys win over plain ones, these over what is `below`.
  SaveConfig save_config(const SaveConfig& below) const;
  // Nothing where no key asks for or against anything, so that what is below holds.
  std::optional<ReductionConfig> reduction_config() const;
};

// Whether the key is one that both have; its value is then read.
bool read_shared_key(std::string_view key, const Value& value, Parameters& into);

// These keys, and `own`.
std::vector<std::string_view> with_shared_keys(std::span<const std::string_view> own);

}  // namespace cupel
