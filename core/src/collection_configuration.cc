// The keys of a configuration that hooks and collections share, and the entries of
// CollectionConfigurations. A key that is absent leaves a value open, so that the value of the hook
// applies; merging two entries for one collection keeps what either of them saves. Mistakes are
// added to the report of the configuration and do not end the reading. One thread reads a
// configuration.

#include "cupel/core/collection_configuration.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "configuration_json.h"
#include "cupel/core/ascii.h"

namespace cupel {
namespace {

// The keys that hooks and collections share, those for saving steps first, then with their modes.
constexpr std::array<std::string_view, 24> kSharedKeys = {
    "save_interval",         "start_step",         "end_step",         "save_steps",
    "train.save_interval",   "train.start_step",   "train.end_step",   "train.save_steps",
    "eval.save_interval",    "eval.start_step",    "eval.end_step",    "eval.save_steps",
    "predict.save_interval", "predict.start_step", "predict.end_step", "predict.save_steps",
    "global.save_interval",  "global.start_step",  "global.end_step",  "global.save_steps",
    "include_regex",         "reductions",         "save_raw_tensor",  "save_shape"};

constexpr std::string_view kName = "CollectionName";
constexpr std::string_view kParameters = "CollectionParameters";
constexpr std::array<std::string_view, 2> kEntryKeys = {kName, kParameters};
constexpr std::array<std::string_view, 1> kCollectionKeys = {"save_histogram"};

template <class T>
void set_once(std::optional<T>& field, std::optional<T> value, const ConfigurationValue& from) {
  if (!value) return;
  if (field) from.report().error(from.path(), "is given twice: a mode's name is read in any case");
  field = std::move(value);
}

// Splits "TRAIN.save_steps" into Train and "save_steps".
std::pair<std::optional<Mode>, std::string_view> split_key(std::string_view key) {
  const std::size_t point = key.find('.');
  if (point == std::string_view::npos) return {std::nullopt, key};
  for (const Mode mode : kAllModes) {
    if (same_but_for_case(key.substr(0, point), to_string(mode)))
      return {mode, key.substr(point + 1)};
  }
  return {std::nullopt, key};
}

bool read_save_key(std::string_view key, const ConfigurationValue& value, SaveTimes& into) {
  const auto [mode, name] = split_key(key);
  const auto fields = [&, mode = mode]() -> SaveFields& {
    return mode ? into.of_mode[*mode] : into.every_mode;
  };
  if (name == "save_interval") {
    set_once(fields().save_interval, read_whole_number(value, 1), value);
  } else if (name == "start_step") {
    set_once(fields().start_step, read_whole_number(value, 0), value);
  } else if (name == "end_step") {
    set_once(fields().end_step, read_whole_number(value, 0), value);
  } else if (name == "save_steps") {
    set_once(fields().save_steps, read_steps(value), value);
  } else {
    return false;
  }
  return true;
}

// Returns the fields of `config` that differ from `below`. An end cannot be removed, only moved.
SaveFields difference(const SaveConfigMode& config, const SaveConfigMode& below) {
  SaveFields fields;
  if (config.save_interval != below.save_interval) fields.save_interval = config.save_interval;
  if (config.start_step != below.start_step) fields.start_step = config.start_step;
  if (config.end_step != below.end_step)
    fields.end_step = config.end_step.value_or(std::numeric_limits<std::int64_t>::max());
  if (config.save_steps != below.save_steps) fields.save_steps = config.save_steps;
  return fields;
}

SaveConfigMode merged(const SaveConfigMode& a, const SaveConfigMode& b) {
  // A configuration that saves nothing by its interval does not change the interval.
  const auto never = [](const SaveConfigMode& config) {
    return config.end_step && *config.end_step <= config.start_step;
  };
  SaveConfigMode both = never(a) ? b : a;
  if (!never(a) && !never(b)) {
    both.save_interval = std::min(a.save_interval, b.save_interval);
    both.start_step = std::min(a.start_step, b.start_step);
    both.end_step =
        a.end_step && b.end_step ? std::optional(std::max(*a.end_step, *b.end_step)) : std::nullopt;
  }
  std::set<std::int64_t> listed(a.save_steps.begin(), a.save_steps.end());
  listed.insert(b.save_steps.begin(), b.save_steps.end());
  both.save_steps.assign(listed.begin(), listed.end());
  return both;
}

std::string joined(const std::vector<std::int64_t>& steps) {
  std::string text;
  for (const std::int64_t step : steps) {
    if (!text.empty()) text += ',';
    text += std::to_string(step);
  }
  return text;
}

void put(nlohmann::ordered_json& into, const std::string& prefix, const SaveFields& fields) {
  if (fields.save_interval) into[prefix + "save_interval"] = std::to_string(*fields.save_interval);
  if (fields.start_step) into[prefix + "start_step"] = std::to_string(*fields.start_step);
  if (fields.end_step) into[prefix + "end_step"] = std::to_string(*fields.end_step);
  if (fields.save_steps && !fields.save_steps->empty())
    into[prefix + "save_steps"] = joined(*fields.save_steps);
}

void put(nlohmann::ordered_json& into, const PatternList& patterns) {
  const std::vector<std::string> texts = patterns.texts();
  const bool has_comma = std::any_of(texts.begin(), texts.end(), [](const std::string& text) {
    return text.find(',') != std::string::npos || text.front() == ' ' || text.back() == ' ';
  });
  if (has_comma) {
    into["include_regex"] = texts;
    return;
  }
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ",") + text;
  into["include_regex"] = list;
}

CollectionConfiguration read_entry(const ConfigurationValue& entry, std::set<std::string>& names) {
  // An entry without a name is read to its end, so that its other mistakes are reported.
  CollectionConfiguration result{.name = "nameless"};
  if (!entry.is_object()) {
    entry.refuse("an object");
    return result;
  }
  entry.for_each_member([&](const std::string& key, const ConfigurationValue&) {
    if (key != kName && key != kParameters)
      entry.report().unknown_key(entry.path(), key, kEntryKeys);
  });
  const ConfigurationValue name = entry.member(kName);
  if (!name.is_text() || name.text().empty())
    name.refuse("a name", name.is_null() ? "missing" : name.shown());
  else if (result.name = name.text(); !names.insert(result.name).second)
    name.refuse("a name that no other entry has");
  const ConfigurationValue parameters = entry.member(kParameters);
  if (!expect_object(parameters)) return result;
  parameters.for_each_member([&](const std::string& key, const ConfigurationValue& value) {
    if (read_shared_key(key, value, result.parameters)) return;
    if (key == kCollectionKeys.front())
      result.save_histogram = read_bool(value);
    else
      entry.report().unknown_key(parameters.path(), key, with_shared_keys(kCollectionKeys));
  });
  return result;
}

}  // namespace

bool SaveFields::any() const noexcept {
  return save_interval || start_step || end_step || save_steps;
}

void SaveFields::apply_to(SaveConfigMode& config) const {
  if (save_interval) config.save_interval = *save_interval;
  if (start_step) config.start_step = *start_step;
  if (end_step) config.end_step = end_step;
  if (save_steps) config.save_steps = *save_steps;
}

bool SaveTimes::any() const noexcept {
  return every_mode.any() ||
         std::ranges::any_of(of_mode, [](const auto& each) { return each.second.any(); });
}

SaveConfig SaveTimes::over(const SaveConfig& below) const {
  SaveConfigMode plain = below.mode_less();
  every_mode.apply_to(plain);
  SaveConfig result{plain.save_interval, plain.start_step, plain.end_step, plain.save_steps, {}};
  for (const Mode mode : kAllModes) {
    SaveConfigMode config = below.mode(mode);
    every_mode.apply_to(config);
    if (const auto own = of_mode.find(mode); own != of_mode.end()) own->second.apply_to(config);
    result.mode_save_configs.emplace(mode, std::move(config));
  }
  return result;
}

SaveTimes SaveTimes::between(const SaveConfig& config, const SaveConfig& below) {
  SaveTimes times;
  times.every_mode = difference(config.mode(Mode::Global), below.mode(Mode::Global));
  for (const Mode mode : kAllModes) {
    SaveConfigMode so_far = below.mode(mode);
    times.every_mode.apply_to(so_far);
    const SaveFields rest = difference(config.mode(mode), so_far);
    if (rest.any()) times.of_mode.emplace(mode, rest);
  }
  return times;
}

std::optional<ReductionConfig> SavingParameters::reduction_config() const {
  ReductionConfig config = ReductionConfig::parse(reductions.value_or(""));
  config.save_raw_tensor = save_raw_tensor.value_or(false);
  config.save_shape = save_shape.value_or(false);
  if (!save_raw_tensor && config == ReductionConfig{}) return std::nullopt;
  return config;
}

bool read_shared_key(std::string_view key, const ConfigurationValue& value,
                     SavingParameters& into) {
  if (read_save_key(key, value, into.times)) return true;
  if (key == "include_regex") {
    into.include_regex = read_patterns(value);
  } else if (key == "reductions") {
    into.reductions = read_reductions(value);
  } else if (key == "save_raw_tensor") {
    into.save_raw_tensor = read_bool(value);
  } else if (key == "save_shape") {
    into.save_shape = read_bool(value);
  } else {
    return false;
  }
  return true;
}

std::vector<std::string_view> with_shared_keys(std::span<const std::string_view> own) {
  std::vector<std::string_view> keys(kSharedKeys.begin(), kSharedKeys.end());
  keys.insert(keys.end(), own.begin(), own.end());
  return keys;
}

Collection CollectionConfiguration::applied_to(Collection collection,
                                               const SaveConfig& hook) const {
  if (save_histogram) collection.set_save_histogram(*save_histogram);
  if (parameters.include_regex) collection.include(*parameters.include_regex);
  if (auto config = parameters.reduction_config())
    collection.set_reduction_config(std::move(*config));
  if (parameters.times.any()) collection.set_save_config(parameters.times.over(hook));
  return collection;
}

void CollectionConfiguration::merge(const CollectionConfiguration& other, const SaveConfig& hook) {
  if (other.parameters.include_regex) {
    PatternList& patterns =
        parameters.include_regex ? *parameters.include_regex : parameters.include_regex.emplace();
    const std::vector<std::string> known = patterns.texts();
    for (const std::string& text : other.parameters.include_regex->texts())
      if (std::find(known.begin(), known.end(), text) == known.end()) patterns.add(text);
  }
  if (parameters.times.any() || other.parameters.times.any()) {
    const SaveConfig mine = parameters.times.over(hook);
    const SaveConfig theirs = other.parameters.times.over(hook);
    SaveConfig both = mine;
    for (const Mode mode : kAllModes)
      both.mode_save_configs[mode] = merged(mine.mode(mode), theirs.mode(mode));
    parameters.times = SaveTimes::between(both, hook);
  }
  const auto mine = parameters.reduction_config();
  const auto theirs = other.parameters.reduction_config();
  if (mine || theirs) {
    // A configuration without reductions has what a hook saves by default.
    const ReductionConfig kRaw{.save_raw_tensor = true};
    const ReductionConfig a = mine.value_or(kRaw);
    const ReductionConfig b = theirs.value_or(kRaw);
    parameters.reductions = ReductionConfig::parse(a.to_text() + "," + b.to_text()).to_text();
    if (parameters.reductions->empty()) parameters.reductions.reset();
    parameters.save_raw_tensor.reset();
    parameters.save_shape.reset();
    if (a.save_raw_tensor || b.save_raw_tensor) parameters.save_raw_tensor = true;
    if (a.save_shape || b.save_shape) parameters.save_shape = true;
  }
  if (other.save_histogram)
    save_histogram = save_histogram.value_or(false) || *other.save_histogram;
}

std::string CollectionConfiguration::to_json() const {
  using Json = nlohmann::ordered_json;
  Json keys = Json::object();
  const auto put_bool = [&](const char* key, std::optional<bool> value) {
    if (value) keys[key] = *value ? "true" : "false";
  };
  if (parameters.include_regex && !parameters.include_regex->empty())
    put(keys, *parameters.include_regex);
  put(keys, "", parameters.times.every_mode);
  for (const auto& [mode, fields] : parameters.times.of_mode) {
    put(keys, lower_case(to_string(mode)) + ".", fields);
  }
  if (parameters.reductions) keys["reductions"] = *parameters.reductions;
  put_bool("save_raw_tensor", parameters.save_raw_tensor);
  put_bool("save_shape", parameters.save_shape);
  put_bool("save_histogram", save_histogram);
  Json entry = {{kName, name}};
  if (!keys.empty()) entry[std::string(kParameters)] = std::move(keys);
  return entry.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::vector<CollectionConfiguration> read_collection_configurations(
    const ConfigurationValue& value) {
  std::vector<CollectionConfiguration> entries;
  if (!expect_array(value)) return entries;
  if (value.size() > kMostConfiguredCollections) {
    value.refuse("at most " + std::to_string(kMostConfiguredCollections) + " collections");
    return entries;
  }
  std::set<std::string> names;
  value.for_each_item(
      [&](const ConfigurationValue& entry) { entries.push_back(read_entry(entry, names)); });
  return entries;
}

}  // namespace cupel
