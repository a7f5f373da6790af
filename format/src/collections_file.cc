#include "cupel/format/collections_file.h"

#include <array>
#include <nlohmann/json.hpp>

#include "cupel/core/error.h"
#include "cupel/format/layout.h"
#include "format_version.h"

namespace cupel {
namespace {

using Json = nlohmann::ordered_json;

// Deeper nesting than the schema has is refused while parsing, before it can cost stack.
constexpr int kMaxDepth = 8;

constexpr std::string_view kCollections = "collections";
constexpr std::string_view kMeta = "_meta";

Json to_json(const SaveConfigMode& mode) {
  return {{"save_interval", mode.save_interval},
          {"save_steps", mode.save_steps},
          {"start_step", mode.start_step},
          {"end_step", mode.end_step ? Json(*mode.end_step) : Json(nullptr)}};
}

Json to_json(const SaveConfig& config) {
  Json json = Json::object();
  for (const Mode mode : kAllModes) json[std::string(to_string(mode))] = to_json(config.mode(mode));
  return json;
}

Json to_json(const ReductionConfig& config) {
  return {{"save_raw_tensor", config.save_raw_tensor},
          {"reductions", config.to_text()},
          {"save_shape", config.save_shape}};
}

Json to_json(const Collection& collection) {
  return {{"name", collection.name()},
          {"include_regex", collection.include_regex().texts()},
          {"tensor_names", collection.tensor_names()},
          {"reduction_config",
           collection.reduction_config() ? to_json(*collection.reduction_config()) : Json(nullptr)},
          {"save_config",
           collection.save_config() ? to_json(*collection.save_config()) : Json(nullptr)},
          {"save_histogram", collection.save_histogram()}};
}

SaveConfigMode save_config_mode(const Json& json) {
  SaveConfigMode mode;
  mode.save_interval = json.at("save_interval").get<std::int64_t>();
  mode.start_step = json.at("start_step").get<std::int64_t>();
  mode.save_steps = json.at("save_steps").get<std::vector<std::int64_t>>();
  if (const Json& end = json.at("end_step"); !end.is_null())
    mode.end_step = end.get<std::int64_t>();
  return mode;
}

Collection collection(const std::string& key, const Json& json) {
  Collection result(json.at("name").get<std::string>());
  if (result.name() != key)
    throw UsageError("the collection \"" + key + "\" calls itself otherwise");
  for (const Json& pattern : json.at("include_regex")) result.include(pattern.get<std::string>());
  for (const Json& tensor : json.at("tensor_names"))
    result.add_tensor_name(tensor.get<std::string>());
  if (const Json& config = json.at("reduction_config"); !config.is_null()) {
    ReductionConfig reductions = ReductionConfig::parse(config.at("reductions").get<std::string>());
    reductions.save_raw_tensor = config.at("save_raw_tensor").get<bool>();
    reductions.save_shape = config.at("save_shape").get<bool>();
    result.set_reduction_config(std::move(reductions));
  }
  if (const Json& config = json.at("save_config"); !config.is_null()) {
    SaveConfig save;
    for (const Mode mode : kAllModes) {
      const Json& of_mode = config.at(std::string(to_string(mode)));
      if (!of_mode.is_null()) save.mode_save_configs[mode] = save_config_mode(of_mode);
    }
    result.set_save_config(std::move(save));
  }
  result.set_save_histogram(json.at("save_histogram").get<bool>());
  return result;
}

CollectionsFile decode(const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (key != kCollections && key != kMeta) throw UsageError("unknown key \"" + key + "\"");
  }
  const Json& meta = json.at(kMeta);
  if (const auto version = meta.find("format"); version != meta.end()) {
    if (const auto problem = format_version_problem(version->get<std::string>()))
      throw UsageError(*problem);
  }
  CollectionsFile file;
  file.num_workers = meta.at("num_workers").get<std::int64_t>();
  if (file.num_workers < 1) throw UsageError("num_workers is not positive");
  file.run = meta.value("run", std::string());
  file.worker = meta.value("worker", std::string());
  file.attempt = meta.value("attempt", std::int32_t{0});
  if (file.attempt < 0) throw UsageError("attempt is negative");
  for (const auto& [key, value] : json.at(kCollections).items()) {
    file.collections.emplace(key, collection(key, value));
  }
  return file;
}

}  // namespace

std::vector<std::byte> encode_collections_file(const CollectionsFile& file) {
  Json collections = Json::object();
  for (const auto& [name, of_name] : file.collections) collections[name] = to_json(of_name);
  const Json json = {{kCollections, std::move(collections)},
                     {kMeta,
                      {{"num_workers", file.num_workers},
                       {"format", kFormatVersion},
                       {"run", file.run},
                       {"worker", file.worker},
                       {"attempt", file.attempt}}}};
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

CollectionsFile decode_collections_file(std::string_view key, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bool too_deep = false;
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kMaxDepth;
    return !too_deep;
  };
  try {
    Json json = Json::parse(text, limit_depth);
    if (too_deep) throw UsageError("nested too deeply");
    return decode(json);
  } catch (const Json::parse_error& error) {
    throw FormatError(std::string(key), error.byte, error.what());
  } catch (const Json::exception& error) {
    throw FormatError(std::string(key), 0, error.what());
  } catch (const UsageError& error) {
    throw FormatError(std::string(key), 0, error.what());
  }
}

}  // namespace cupel
