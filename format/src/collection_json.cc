// JSON of single collections and of their configurations. They are written as collections files
// have them, and read by the parser of such a file: the text becomes the part of a file that has
// one collection. Any thread; each mistake in a text is a UsageError.

#include "cupel/format/collection_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "collections_parser.h"
#include "cupel/core/error.h"
#include "json_text.h"

namespace cupel {

using namespace format_detail;

namespace {

using Json = nlohmann::json;

constexpr const char* kName = "collection";
constexpr int kMostLevels = 8;  // the schema has fewer

Json parsed(std::string_view text, const std::string& what) {
  bool too_deep = false;
  const auto limit_depth = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kMostLevels;
    return !too_deep;
  };
  const Json json = Json::parse(text, limit_depth, false);
  if (too_deep) throw UsageError(what + " is nested too deeply");
  if (json.is_discarded()) throw UsageError(what + " is no JSON");
  if (!json.is_object()) throw UsageError(what + " is no JSON object");
  return json;
}

// Adds what `value` lacks of the defaults.
Json over(Json defaults, const Json& value) {
  if (value.is_object()) defaults.update(value);
  return value.is_object() ? defaults : value;
}

Json completed_save_config(const Json& config) {
  if (!config.is_object()) return config;
  const Json defaults = Json::parse(to_json(SaveConfigMode()));
  Json completed = Json::object();
  for (const Mode mode : kAllModes) completed[std::string(to_string(mode))] = nullptr;
  for (const auto& [mode, values] : config.items()) completed[mode] = over(defaults, values);
  return completed;
}

Json completed_reduction_config(const Json& config) {
  return over(Json::parse(to_json(ReductionConfig())), config);
}

// The collection of a file that has this one alone.
Collection read_collection(const std::string& name, const Json& values) {
  Json collection = over(Json::parse(to_json(Collection(name))), values);
  collection["save_config"] = completed_save_config(collection["save_config"]);
  collection["reduction_config"] = completed_reduction_config(collection["reduction_config"]);
  const Json file = {{"collections", {{name, std::move(collection)}}},
                     {"_meta", {{"num_workers", 1}}}};
  try {
    ParsedCollections read = parse_collections(name, file.dump());
    return std::move(read.file.collections.begin()->second);
  } catch (const FormatError& error) {
    throw UsageError(error.problem);
  }
}

Collection with(const char* key, const Json& value) {
  return read_collection(kName, {{key, value}});
}

}  // namespace

std::string format_detail::quoted_text(std::string_view text) {
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  if (is_plain) return std::string(1, '"').append(text).append(1, '"');
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string to_json(const SaveConfigMode& mode) {
  return ObjectText()
      .add("save_interval", text_of(mode.save_interval))
      .add("save_steps", list_of(mode.save_steps))
      .add("start_step", text_of(mode.start_step))
      .add("end_step", mode.end_step ? text_of(*mode.end_step) : "null")
      .text();
}

std::string to_json(const SaveConfig& config) {
  ObjectText json;
  for (const Mode mode : kAllModes) json.add(to_string(mode), to_json(config.mode(mode)));
  return json.text();
}

std::string to_json(const ReductionConfig& config) {
  return ObjectText()
      .add("save_raw_tensor", text_of(config.save_raw_tensor))
      .add("reductions", quoted_text(config.to_text()))
      .add("save_shape", text_of(config.save_shape))
      .text();
}

std::string to_json(const Collection& collection) {
  const auto& reductions = collection.reduction_config();
  const auto& save = collection.save_config();
  return ObjectText()
      .add("name", quoted_text(collection.name()))
      .add("include_regex", list_of(collection.include_regex().texts()))
      .add("tensor_names", list_of(collection.tensor_names()))
      .add("reduction_config", reductions ? to_json(*reductions) : "null")
      .add("save_config", save ? to_json(*save) : "null")
      .add("save_histogram", text_of(collection.save_histogram()))
      .text();
}

SaveConfigMode save_config_mode_from_json(std::string_view json) {
  return with("save_config", Json{{"GLOBAL", parsed(json, "save_config")}})
      .save_config()
      ->mode(Mode::Global);
}

SaveConfig save_config_from_json(std::string_view json) {
  return *with("save_config", parsed(json, "save_config")).save_config();
}

ReductionConfig reduction_config_from_json(std::string_view json) {
  return *with("reduction_config", parsed(json, "reduction_config")).reduction_config();
}

Collection collection_from_json(std::string_view json) {
  const Json collection = parsed(json, "the collection");
  const auto name = collection.find("name");
  if (name == collection.end() || !name->is_string())
    throw UsageError("the collection has no name");
  const std::string text = name->get<std::string>();
  if (text.empty()) throw UsageError("A collection must have a name");
  return read_collection(text, collection);
}

}  // namespace cupel
