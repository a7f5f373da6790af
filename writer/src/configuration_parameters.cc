#include "configuration_parameters.h"

#include <algorithm>
#include <array>
#include <utility>

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

template <class T>
void set_once(std::optional<T>& field, std::optional<T> value, const Value& from) {
  if (!value) return;
  if (field) from.reading.error(from.path, "is given twice: a mode's name is read in any case");
  field = std::move(value);
}

// "TRAIN.save_steps" is Train and "save_steps".
std::pair<std::optional<Mode>, std::string_view> split_key(std::string_view key) {
  const std::size_t point = key.find('.');
  if (point == std::string_view::npos) return {std::nullopt, key};
  const auto upper = [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  };
  for (const Mode mode : kAllModes) {
    if (std::ranges::equal(key.substr(0, point), to_string(mode), {}, upper))
      return {mode, key.substr(point + 1)};
  }
  return {std::nullopt, key};
}

bool read_save_key(std::string_view key, const Value& value, Parameters& into) {
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

bool Parameters::any_save_key() const noexcept {
  return every_mode.any() ||
         std::ranges::any_of(of_mode, [](const auto& each) { return each.second.any(); });
}

SaveConfig Parameters::save_config(const SaveConfig& below) const {
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

std::optional<ReductionConfig> Parameters::reduction_config() const {
  ReductionConfig config = ReductionConfig::parse(reductions.value_or(""));
  config.save_raw_tensor = save_raw_tensor.value_or(false);
  config.save_shape = save_shape.value_or(false);
  if (!save_raw_tensor && config == ReductionConfig{}) return std::nullopt;
  return config;
}

bool read_shared_key(std::string_view key, const Value& value, Parameters& into) {
  if (read_save_key(key, value, into)) return true;
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

}  // namespace cupel
