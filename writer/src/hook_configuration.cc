#include "cupel/writer/hook_configuration.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "configuration_parameters.h"
#include "configuration_reading.h"
#include "configuration_text.h"
#include "cupel/core/pattern.h"
#include "save_plan.h"

namespace cupel {
namespace {

using Json = nlohmann::json;

constexpr const char* kDefaultDirectory = "/opt/ml/output/tensors";
constexpr std::string_view kWrapper = "DebugHookConfig";
constexpr std::string_view kLocalPath = "LocalPath";
constexpr std::string_view kHookParameters = "HookParameters";
constexpr std::string_view kCollections = "CollectionConfigurations";
constexpr std::string_view kCollectionName = "CollectionName";
constexpr std::string_view kCollectionParameters = "CollectionParameters";
constexpr std::array<std::string_view, 2> kEntryKeys = {kCollectionName, kCollectionParameters};
// Each has a SaveConfig of its own with lists of steps; nobody has a hundredth of it.
constexpr std::size_t kMostCollections = 1000;

constexpr std::array<std::string_view, 6> kHookKeys = {"save_all",        "include_workers",
                                                       "dry_run",         "export_tensorboard",
                                                       "tensorboard_dir", "include_collections"};
constexpr std::array<std::string_view, 1> kCollectionKeys = {"save_histogram"};

bool read_hook_key(std::string_view key, const Value& value, HookOptions& options) {
  const auto set = [](auto& field, auto read) {
    if (read) field = *std::move(read);
  };
  // In a managed job the platform says what goes to TensorBoard.
  const bool in_job = std::getenv("TRAINING_JOB_NAME") != nullptr;
  if (key == "save_all") {
    set(options.save_all, read_bool(value));
  } else if (key == "dry_run") {
    set(options.dry_run, read_bool(value));
  } else if (key == "include_workers") {
    constexpr std::string_view kLegal = "\"one\" or \"all\"";
    const auto which = read_text(value, kLegal);
    if (which && *which != "one" && *which != "all")
      value.refuse(kLegal);
    else
      set(options.include_workers, which);
  } else if (key == "export_tensorboard") {
    if (const auto on = read_bool(value); !in_job) set(options.export_tensorboard, on);
  } else if (key == "tensorboard_dir") {
    if (const auto directory = read_path(value); !in_job) set(options.tensorboard_dir, directory);
  } else {
    // An old sample has include_collections; the entries of CollectionConfigurations say it.
    return key == "include_collections";
  }
  return true;
}

void warn_of_saving_nothing(const std::optional<ReductionConfig>& config, const Value& parameters) {
  if (config != ReductionConfig{}) return;
  parameters.reading.warning(parameters.path,
                             "save_raw_tensor is false and neither reductions nor save_shape are "
                             "asked for: nothing is saved of these tensors");
}

void read_hook_parameters(const Value& value, HookOptions& options) {
  Parameters parameters;
  if (const Json* object = read_object(value)) {
    for (const auto& [key, json] : object->items()) {
      const Value parameter = value.member(key, json);
      if (!read_shared_key(key, parameter, parameters) && !read_hook_key(key, parameter, options))
        value.reading.unknown_key(value.path, key, with_shared_keys(kHookKeys));
    }
  }
  if (parameters.include_regex) options.include_regex = parameters.include_regex->texts();
  if (auto config = parameters.reduction_config()) {
    warn_of_saving_nothing(config, value);
    options.reduction_config = std::move(config);
    // Raw values and nothing else are what a hook saves by default.
    if (options.reduction_config == ReductionConfig{.save_raw_tensor = true})
      options.reduction_config.reset();
  }
  options.save_config = parameters.save_config(hook_save_config(options));
}

Collection read_collection(Collection collection, const Value& value, const SaveConfig& hook) {
  Parameters parameters;
  if (const Json* object = read_object(value)) {
    for (const auto& [key, json] : object->items()) {
      const Value parameter = value.member(key, json);
      if (read_shared_key(key, parameter, parameters)) continue;
      if (key == kCollectionKeys.front()) {
        if (const auto on = read_bool(parameter)) collection.set_save_histogram(*on);
      } else {
        value.reading.unknown_key(value.path, key, with_shared_keys(kCollectionKeys));
      }
    }
  }
  if (parameters.include_regex) collection.include(*parameters.include_regex);
  if (auto config = parameters.reduction_config()) {
    if (!is_scalar_collection(collection.name())) warn_of_saving_nothing(config, value);
    collection.set_reduction_config(std::move(*config));
  }
  if (parameters.any_save_key()) collection.set_save_config(parameters.save_config(hook));
  return collection;
}

void read_collections(const Value& value, HookConfiguration& result) {
  const Json* entries = read_array(value);
  if (entries == nullptr) return;
  if (entries->size() > kMostCollections) {
    value.refuse("at most 1000 collections");
    return;
  }
  // As the hook will have them: their patterns are kept, and those that the options add.
  const Collections initial = initial_collections(result.options);
  std::set<std::string, std::less<>> names;
  const auto read_entry = [&](const Value& entry) {
    if (!entry.json.is_object()) return entry.refuse("an object");
    Json name;
    Json parameters;
    for (const auto& [key, json] : entry.json.items()) {
      if (key == kCollectionName)
        name = json;
      else if (key == kCollectionParameters)
        parameters = json;
      else
        entry.reading.unknown_key(entry.path, key, kEntryKeys);
    }
    const Value name_value = entry.member(kCollectionName, name);
    // A nameless entry is read to its end for the sake of its other mistakes.
    std::string named = "nameless";
    if (!name.is_string() || name.get_ref<const std::string&>().empty())
      name_value.refuse("a name", name.is_null() ? "missing" : shown(name));
    else if (named = name.get<std::string>(); !names.insert(named).second)
      name_value.refuse("a name that no other entry has");
    const auto known = initial.find(named);
    result.collections.push_back(read_collection(
        known == initial.end() ? Collection(named) : known->second,
        entry.member(kCollectionParameters, parameters), result.options.save_config));
  };
  for (std::size_t i = 0; i < entries->size(); ++i) {
    read_entry({(*entries)[i], value.path + "[" + std::to_string(i) + "]", value.reading});
  }
  auto& included = result.options.include_collections;
  for (const Collection& collection : result.collections) {
    if (std::ranges::find(included, collection.name()) == included.end())
      included.push_back(collection.name());
  }
}

}  // namespace

HookConfiguration parse_hook_configuration(std::string_view json, std::string_view source,
                                           HookOptions base) {
  base.save_config.validate();
  if (base.reduction_config) static_cast<void>(base.reduction_config->set());
  for (const std::string& pattern : base.include_regex) static_cast<void>(Pattern(pattern));
  HookConfiguration result{std::move(base), {}};
  const Json document = parse_configuration_text(json, source);
  Reading reading(shown_path(source));

  const Json absent;
  const auto member = [&](const Value& of, std::string_view key) {
    const auto found = of.json.find(key);
    return of.member(key, found == of.json.end() ? absent : *found);
  };
  Value root{document, {}, reading};
  if (!document.is_object()) {
    reading.error({}, "a configuration must be an object, not " + shown(document));
    reading.finish();
  }
  const auto wrapped = document.find(kWrapper);
  const Value body = wrapped == document.end() ? root : root.member(kWrapper, *wrapped);
  if (!body.json.is_object()) {
    body.refuse("an object");
    reading.finish();
  }
  if (const auto directory = read_path(member(body, kLocalPath)))
    result.options.out_dir = *directory;
  else if (result.options.out_dir.empty())
    result.options.out_dir = kDefaultDirectory;
  read_hook_parameters(member(body, kHookParameters), result.options);
  read_collections(member(body, kCollections), result);
  reading.finish();
  return result;
}

HookConfiguration read_hook_configuration(const std::string& path, HookOptions base) {
  const std::string file = configuration_path(path);
  return parse_hook_configuration(read_configuration_text(file), file, std::move(base));
}

}  // namespace cupel
