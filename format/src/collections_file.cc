#include "cupel/format/collections_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "cupel/core/crc32c.h"
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
constexpr std::string_view kChecksum = "crc32c";
constexpr std::string_view kJoinedLeftOut = "joined_left_out";
constexpr std::string_view kNoChecksum = "00000000";

// The text is put together by hand: destroying an array or object of the JSON library's allocates,
// and where there is no memory that would end the process.
std::string json_text(std::string_view text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}
std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(std::int64_t value) { return std::to_string(value); }
std::string text_of(std::string_view value) { return json_text(value); }

template <class Range>
std::string list_of(const Range& values) {
  std::string text = "[";
  for (const auto& value : values) {
    if (text.size() > 1) text += ',';
    text += text_of(value);
  }
  return text + ']';
}

class ObjectText {
 public:
  ObjectText& add(std::string_view key, std::string_view value) {
    if (text_.size() > 1) text_ += ',';
    text_ += json_text(key);
    text_ += ':';
    text_ += value;
    return *this;
  }
  std::string text() const { return text_ + '}'; }

 private:
  std::string text_ = "{";
};

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
      .add("reductions", json_text(config.to_text()))
      .add("save_shape", text_of(config.save_shape))
      .text();
}

std::string to_json(const Collection& collection) {
  const auto& reductions = collection.reduction_config();
  const auto& save = collection.save_config();
  return ObjectText()
      .add("name", json_text(collection.name()))
      .add("include_regex", list_of(collection.include_regex().texts()))
      .add("tensor_names", list_of(collection.tensor_names()))
      .add("reduction_config", reductions ? to_json(*reductions) : "null")
      .add("save_config", save ? to_json(*save) : "null")
      .add("save_histogram", text_of(collection.save_histogram()))
      .text();
}

// What the JSON library would convert silently is refused: fractions, booleans, and numbers that
// do not fit.
std::int64_t integer(const Json& json, std::string_view what,
                     std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const bool fits = json.is_number_unsigned()
                        ? json.get<std::uint64_t>() <=
                              static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                        : json.is_number_integer();
  const std::int64_t number = fits ? json.get<std::int64_t>() : 0;
  if (!fits || number < least || number > most)
    throw UsageError(std::string(what) + " is not an integer in its range: " +
                     json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 32));
  return number;
}

SaveConfigMode save_config_mode(const Json& json) {
  SaveConfigMode mode;
  mode.save_interval = integer(json.at("save_interval"), "save_interval");
  mode.start_step = integer(json.at("start_step"), "start_step");
  const Json& steps = json.at("save_steps");
  if (!steps.is_array()) throw UsageError("save_steps is not an array");
  for (const Json& step : steps) mode.save_steps.push_back(integer(step, "an entry of save_steps"));
  if (const Json& end = json.at("end_step"); !end.is_null())
    mode.end_step = integer(end, "end_step");
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

std::map<Mode, std::int64_t> steps(const Json& json, bool from_newer_minor) {
  if (!json.is_object()) throw UsageError("steps is not an object");
  std::map<Mode, std::int64_t> result;
  for (const auto& [key, step] : json.items()) {
    const auto* const mode = std::ranges::find_if(
        kAllModes, [&name = key](Mode each) { return to_string(each) == name; });
    if (mode != kAllModes.end()) {
      result[*mode] =
          integer(step, "a mode's step", 0, std::numeric_limits<std::int64_t>::max() - 1);
    } else if (!from_newer_minor) {
      throw UsageError("steps names an unknown mode");
    }
  }
  return result;
}

CollectionsFile decode(const Json& json) {
  const Json& meta = json.at(kMeta);
  bool from_newer_minor = false;
  if (const auto version = meta.find("format"); version != meta.end()) {
    const auto text = version->get<std::string>();
    if (const auto problem = format_version_problem(text)) throw UsageError(*problem);
    from_newer_minor = is_newer_minor_version(text);
  }
  for (const auto& [key, value] : json.items()) {
    if (key != kCollections && key != kMeta && !from_newer_minor)
      throw UsageError("unknown key \"" + key + "\"");
  }
  CollectionsFile file;
  file.num_workers =
      integer(meta.at("num_workers"), "num_workers", 1, std::numeric_limits<std::int64_t>::max());
  file.run = meta.value("run", std::string());
  file.worker = meta.value("worker", std::string());
  if (const auto attempt = meta.find("attempt"); attempt != meta.end()) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1;
    file.attempt = static_cast<std::int32_t>(integer(*attempt, "attempt", 0, kMost));
  }
  if (const auto counters = meta.find("steps"); counters != meta.end())
    file.steps = steps(*counters, from_newer_minor);
  if (const auto left_out = meta.find(kJoinedLeftOut); left_out != meta.end())
    file.joined_left_out = integer(*left_out, kJoinedLeftOut, 0);
  for (const auto& [key, value] : json.at(kCollections).items()) {
    file.collections.emplace(key, collection(key, value));
  }
  return file;
}

std::string checksum_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  std::string digits(kNoChecksum);
  for (std::size_t i = digits.size(); i-- > 0; crc >>= 4U) digits[i] = kDigits[crc & 15U];
  return digits;
}

// The file's own checksum is that of its bytes with its digits as zeros. Files without one are not
// checked.
void check(std::string_view text, const Json& json) {
  const Json& meta = json.at(kMeta);
  const auto said = meta.find(kChecksum);
  if (said == meta.end()) return;
  const auto digits = said->get<std::string>();
  const std::size_t at = text.rfind('"' + digits + '"');
  if (digits.size() != kNoChecksum.size() || at == std::string_view::npos)
    throw UsageError("crc32c is not eight hexadecimal digits");
  std::string zeroed(text);
  zeroed.replace(at + 1, digits.size(), kNoChecksum);
  if (checksum_of(zeroed) != digits) throw UsageError("the checksum is wrong");
}

}  // namespace

std::vector<std::byte> encode_collections_file(const CollectionsFile& file) {
  ObjectText collections;
  for (const auto& [name, of_name] : file.collections) collections.add(name, to_json(of_name));
  ObjectText meta;
  meta.add("num_workers", text_of(file.num_workers))
      .add("format", json_text(kFormatVersion))
      .add("run", json_text(file.run))
      .add("worker", json_text(file.worker))
      .add("attempt", text_of(std::int64_t{file.attempt}));
  if (!file.steps.empty()) {
    ObjectText steps;
    for (const auto& [mode, step] : file.steps) steps.add(to_string(mode), text_of(step));
    meta.add("steps", steps.text());
  }
  if (file.joined_left_out > 0) meta.add(kJoinedLeftOut, text_of(file.joined_left_out));
  meta.add(kChecksum, json_text(kNoChecksum));
  std::string text =
      ObjectText().add(kCollections, collections.text()).add(kMeta, meta.text()).text() + '\n';
  text.replace(text.rfind(kNoChecksum), kNoChecksum.size(), checksum_of(text));
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
    CollectionsFile file = decode(json);
    check(text, json);
    return file;
  } catch (const Json::parse_error& error) {
    throw FormatError(std::string(key), error.byte, error.what());
  } catch (const Json::exception& error) {
    throw FormatError(std::string(key), 0, error.what());
  } catch (const UsageError& error) {
    throw FormatError(std::string(key), 0, error.what());
  }
}

}  // namespace cupel
