// Reads a hook's configuration file. ConfigurationDocument (core)
// collects every mistake with its place, so that one UsageError names all of them. Keys follow the
// ported SDK; values of the file win over those of `base`. Runs in the constructor's thread, before
// anything is opened. Texts and lists have bounds, as the file may come from anywhere.

#include "cupel/writer/hook_configuration.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "cupel/core/collection_configuration.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/core/nearest_names.h"
#include "cupel/core/pattern.h"
#include "cupel/core/printable.h"
#include "option_limits.h"
#include "save_plan.h"

namespace cupel {

using namespace writer_detail;

namespace {

constexpr const char* kDefaultDirectory = "/opt/ml/output/tensors";
constexpr std::string_view kWrapper = "DebugHookConfig";
constexpr std::string_view kLocalPath = "LocalPath";
constexpr std::string_view kHookParameters = "HookParameters";
constexpr std::string_view kCollections = "CollectionConfigurations";
constexpr std::string_view kCollectionParameters = "CollectionParameters";
constexpr const char* kPathVariable = "SMDEBUG_CONFIG_FILE_PATH";
constexpr const char* kDefaultPath = "/opt/ml/input/config/debughookconfig.json";

constexpr std::array<std::string_view, 14> kHookKeys = {
    "save_all",        "include_workers",     "dry_run",   "export_tensorboard",
    "tensorboard_dir", "include_collections", "spool_dir", "spool_bytes",
    "when_full",       "upload_parallelism",  "s3_sync",   "close_timeout",
    "segment_bytes",   "segment_age"};

// Beside them what other parts of a managed job have.
constexpr std::array<std::string_view, 9> kOuterKeys = {kWrapper,
                                                        kLocalPath,
                                                        kHookParameters,
                                                        kCollections,
                                                        "S3OutputPath",
                                                        "DebugRuleConfigurations",
                                                        "ProfilerConfig",
                                                        "ProfilerRuleConfigurations",
                                                        "TensorBoardOutputConfig"};
constexpr std::size_t kMostOuterKeys = 1000;

constexpr std::int64_t kMostSeconds = 365 * 24 * 3600;

constexpr auto set = [](auto& field, auto read) {
  if (read) field = *std::move(read);
};

// One of two words; whether it is the first.
std::optional<bool> read_choice(const ConfigurationValue& value, std::string_view first,
                                std::string_view second) {
  const std::string legal = '"' + std::string(first) + "\" or \"" + std::string(second) + '"';
  const auto word = read_text(value, legal);
  if (!word) return std::nullopt;
  if (*word == first || *word == second) return *word == first;
  value.refuse(legal);
  return std::nullopt;
}

std::optional<std::chrono::seconds> read_seconds(const ConfigurationValue& value,
                                                 std::int64_t least) {
  const auto seconds = read_whole_number(value, least, kMostSeconds);
  return seconds ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

// How segments come to a store that cannot append (docs/s3.md), and when they are sealed.
bool read_delivery_key(std::string_view key, const ConfigurationValue& value,
                       HookOptions& options) {
  if (key == "spool_dir") {
    set(options.spool_dir, read_path(value));
  } else if (key == "spool_bytes") {
    if (const auto bytes = read_whole_number(value, kLeastSpoolBytes))
      options.spool_bytes = static_cast<std::uint64_t>(*bytes);
  } else if (key == "when_full") {
    if (const auto blocks = read_choice(value, "block", "drop_step"))
      options.when_full = *blocks ? WhenFull::Block : WhenFull::DropStep;
  } else if (key == "upload_parallelism") {
    set(options.upload_parallelism, read_whole_number(value, 1, kMostUploads));
  } else if (key == "s3_sync") {
    if (const auto on = read_choice(value, "on", "off"))
      options.s3_sync = *on ? S3Sync::On : S3Sync::Off;
  } else if (key == "close_timeout") {
    set(options.close_timeout, read_seconds(value, 0));
  } else if (key == "segment_bytes") {
    if (const auto bytes = read_whole_number(value, 1))
      options.segment_bytes = static_cast<std::uint64_t>(*bytes);
  } else if (key == "segment_age") {
    set(options.segment_age, read_seconds(value, 1));
  } else {
    return false;
  }
  return true;
}

bool read_hook_key(std::string_view key, const ConfigurationValue& value, HookOptions& options) {
  // In a managed job the platform says what goes to TensorBoard.
  const bool in_job = std::getenv("TRAINING_JOB_NAME") != nullptr;
  if (key == "save_all") {
    set(options.save_all, read_bool(value));
  } else if (key == "dry_run") {
    set(options.dry_run, read_bool(value));
  } else if (key == "include_workers") {
    if (const auto one = read_choice(value, "one", "all"))
      options.include_workers = *one ? "one" : "all";
  } else if (key == "export_tensorboard") {
    if (const auto on = read_bool(value); !in_job) set(options.export_tensorboard, on);
  } else if (key == "tensorboard_dir") {
    if (const auto directory = read_path(value); !in_job) set(options.tensorboard_dir, directory);
  } else {
    // An old sample has include_collections; the entries of CollectionConfigurations say it.
    return key == "include_collections" || read_delivery_key(key, value, options);
  }
  return true;
}

void warn_of_saving_nothing(const std::optional<ReductionConfig>& config,
                            const ConfigurationValue& parameters) {
  if (config != ReductionConfig{}) return;
  parameters.report().warning(parameters.path(),
                              "save_raw_tensor is false and neither reductions nor save_shape are "
                              "asked for: nothing is saved of these tensors");
}

// Tells of ranges of steps that are empty by mistake. An end of 0 says that nothing is to be saved.
void warn_of_empty_ranges(const SaveConfig& config, const ConfigurationValue& parameters) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Mode>> ranges;
  for (const Mode mode : kAllModes) {
    const SaveConfigMode steps = config.mode(mode);
    const std::int64_t end = steps.end_step.value_or(0);
    if (end > 0 && steps.start_step >= end) ranges[{steps.start_step, end}].push_back(mode);
  }
  for (const auto& [range, modes] : ranges) {
    std::string names;
    for (const Mode mode : modes) names.append(names.empty() ? "" : ", ").append(to_string(mode));
    parameters.report().warning(parameters.path(),
                                "start_step " + std::to_string(range.first) +
                                    " is not before end_step " + std::to_string(range.second) +
                                    ": the interval saves nothing" +
                                    (modes.size() < kAllModes.size() ? " (" + names + ")" : ""));
  }
}

// Of keys beside ours that are nearly one of these. Others belong to somebody else.
void warn_of_misspelt_keys(const ConfigurationValue& object) {
  if (object.size() > kMostOuterKeys) return;
  const std::vector<std::string> known(kOuterKeys.begin(), kOuterKeys.end());
  object.for_each_member([&](const std::string& key, const ConfigurationValue&) {
    if (std::ranges::find(known, key) == known.end() && !nearest_names(key, known).empty())
      object.report().unknown_key(object.path(), key, kOuterKeys);
  });
}

void read_hook_parameters(const ConfigurationValue& value, HookOptions& options) {
  SavingParameters parameters;
  if (expect_object(value)) {
    value.for_each_member([&](const std::string& key, const ConfigurationValue& parameter) {
      if (!read_shared_key(key, parameter, parameters) && !read_hook_key(key, parameter, options))
        value.report().unknown_key(value.path(), key, with_shared_keys(kHookKeys));
    });
  }
  if (parameters.include_regex) options.include_regex = parameters.include_regex->texts();
  if (auto config = parameters.reduction_config()) {
    warn_of_saving_nothing(config, value);
    options.reduction_config = std::move(config);
    // Raw values and nothing else are what a hook saves by default.
    if (options.reduction_config == ReductionConfig{.save_raw_tensor = true})
      options.reduction_config.reset();
  }
  options.save_config = parameters.times.over(hook_save_config(options));
  if (parameters.times.any()) warn_of_empty_ranges(options.save_config, value);
}

// The entries as the hook will have them: known collections keep their patterns.
void read_collections(const ConfigurationValue& value, HookConfiguration& result) {
  const Collections initial = initial_collections(result.options);
  std::size_t place = 0;
  for (const CollectionConfiguration& entry : read_collection_configurations(value)) {
    const ConfigurationValue parameters = value.item(place++).member(kCollectionParameters);
    if (!is_scalar_collection(entry.name))
      warn_of_saving_nothing(entry.parameters.reduction_config(), parameters);
    if (entry.parameters.times.any())
      warn_of_empty_ranges(entry.parameters.times.over(result.options.save_config), parameters);
    const auto known = initial.find(entry.name);
    result.collections.push_back(
        entry.applied_to(known == initial.end() ? Collection(entry.name) : known->second,
                         result.options.save_config));
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
  const ConfigurationDocument document(json, source);
  ConfigurationReport report(printable(source));
  const ConfigurationValue root = document.root(report);
  if (!root.is_object()) {
    report.error({}, "a configuration must be an object, not " + root.shown());
    report.finish();
  }
  warn_of_misspelt_keys(root);
  const ConfigurationValue body = root.has_member(kWrapper) ? root.member(kWrapper) : root;
  if (!body.is_object()) {
    body.refuse("an object");
    report.finish();
  }
  if (root.has_member(kWrapper)) warn_of_misspelt_keys(body);
  if (const auto directory = read_path(body.member(kLocalPath)))
    result.options.out_dir = *directory;
  else if (result.options.out_dir.empty())
    result.options.out_dir = kDefaultDirectory;
  read_hook_parameters(body.member(kHookParameters), result.options);
  read_collections(body.member(kCollections), result);
  report.finish();
  return result;
}

HookConfiguration read_hook_configuration(const std::string& path, HookOptions base) {
  std::string file = path;
  if (const char* named = std::getenv(kPathVariable); file.empty() && named != nullptr)
    file = named;
  if (file.empty()) file = kDefaultPath;
  const std::string hint =
      std::string(
          "Its place is the path that is given, else the one that the environment variable ") +
      kPathVariable + " names, else " + kDefaultPath;
  return parse_hook_configuration(read_configuration_text(file, hint), file, std::move(base));
}

}  // namespace cupel
