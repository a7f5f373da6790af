#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/core/mode.h"
#include "cupel/core/pattern.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"

namespace cupel {

/// The values given for the steps of one mode, or of all modes.
struct SaveFields {
  std::optional<std::int64_t> save_interval = std::nullopt;
  std::optional<std::int64_t> start_step = std::nullopt;
  std::optional<std::int64_t> end_step = std::nullopt;
  std::optional<std::vector<std::int64_t>> save_steps = std::nullopt;

  bool any() const noexcept;
  void apply_to(SaveConfigMode& config) const;
};

/// When something is saved; a value that is not given is empty.
struct SaveTimes {
  SaveFields every_mode = {};
  std::map<Mode, SaveFields> of_mode = {};

  bool any() const noexcept;
  /// Returns a configuration with every mode given. A value of a mode replaces the value of all
  /// modes, and this one replaces the value in `below`.
  SaveConfig over(const SaveConfig& below) const;
  /// Returns the fewest values that give `config` over `below`.
  static SaveTimes between(const SaveConfig& config, const SaveConfig& below);
};

/// The values of the parameters that hooks and collections share
/// (docs/configuration.md).
struct SavingParameters {
  SaveTimes times = {};
  std::optional<PatternList> include_regex = std::nullopt;
  std::optional<std::string> reductions = std::nullopt;
  std::optional<bool> save_raw_tensor = std::nullopt;
  std::optional<bool> save_shape = std::nullopt;

  /// Empty where no key of this kind is given, so that the values below apply.
  std::optional<ReductionConfig> reduction_config() const;
};

/// Returns whether hooks and collections share the key; if so, its value is read.
bool read_shared_key(std::string_view key, const ConfigurationValue& value, SavingParameters& into);
/// The shared keys and those in `own`.
std::vector<std::string_view> with_shared_keys(std::span<const std::string_view> own);

/// An entry of CollectionConfigurations; values that it does not give are the hook's.
struct CollectionConfiguration {
  std::string name;
  SavingParameters parameters = {};
  std::optional<bool> save_histogram = std::nullopt;

  /// Returns `collection` with the changes of the entry: the patterns of both.
  Collection applied_to(Collection collection, const SaveConfig& hook) const;
  /// Merges an entry for the collection of the same name: the patterns of both; per mode the
  /// smaller interval and start, the larger end, the listed steps of both; the reductions of both,
  /// and raw values and shapes if either has them. `hook` gives the values that one leaves open.
  void merge(const CollectionConfiguration& other, const SaveConfig& hook);
  /// {"CollectionName":"losses","CollectionParameters":{"save_interval":"1"}}
  std::string to_json() const;
};

/// Reads an array of entries. An entry with mistakes is returned, too; the report lists them.
std::vector<CollectionConfiguration> read_collection_configurations(
    const ConfigurationValue& value);

}  // namespace cupel
