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

/// What is said about the steps of one mode, or of all of them.
struct SaveFields {
  std::optional<std::int64_t> save_interval = std::nullopt;
  std::optional<std::int64_t> start_step = std::nullopt;
  std::optional<std::int64_t> end_step = std::nullopt;
  std::optional<std::vector<std::int64_t>> save_steps = std::nullopt;

  bool any() const noexcept;
  void apply_to(SaveConfigMode& config) const;
};

/// When something is saved, as far as it is said.
struct SaveTimes {
  SaveFields every_mode = {};
  std::map<Mode, SaveFields> of_mode = {};

  bool any() const noexcept;
  /// Complete: every mode given. What is said of a mode wins over what is said of all, that over
  /// what is `below`.
  SaveConfig over(const SaveConfig& below) const;
  /// The least that has to be said to get `config`.
  static SaveTimes between(const SaveConfig& config, const SaveConfig& below);
};

/// What the parameters of a hook or a collection say in the keys that both have
/// (docs/configuration.md).
struct SavingParameters {
  SaveTimes times = {};
  std::optional<PatternList> include_regex = std::nullopt;
  std::optional<std::string> reductions = std::nullopt;
  std::optional<bool> save_raw_tensor = std::nullopt;
  std::optional<bool> save_shape = std::nullopt;

  /// Nothing where no key asks for or against anything, so that what is below holds.
  std::optional<ReductionConfig> reduction_config() const;
};

/// Whether the key is one that both have; its value is then read.
bool read_shared_key(std::string_view key, const ConfigurationValue& value, SavingParameters& into);
/// These keys, and `own`.
std::vector<std::string_view> with_shared_keys(std::span<const std::string_view> own);

/// An entry of CollectionConfigurations; what it does not say is the hook's.
struct CollectionConfiguration {
  std::string name;
  SavingParameters parameters = {};
  std::optional<bool> save_histogram = std::nullopt;

  /// `collection` as the entry changes it: its patterns and those of the entry.
  Collection applied_to(Collection collection, const SaveConfig& hook) const;
  /// Adds what `other` asks for the collection of the same name: the patterns of both; per mode the
  /// smaller interval and start, the larger end, the listed steps of both; the reductions of both,
  /// and raw values and shapes if either has them. `hook` holds for what one of them leaves open.
  void merge(const CollectionConfiguration& other, const SaveConfig& hook);
  /// {"CollectionName":"losses","CollectionParameters":{"save_interval":"1"}}
  std::string to_json() const;
};

/// Reads an array of entries. An entry with mistakes is among them; the report has its mistakes.
std::vector<CollectionConfiguration> read_collection_configurations(
    const ConfigurationValue& value);

}  // namespace cupel
