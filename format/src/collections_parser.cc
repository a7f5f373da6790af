// The JSON of a collections file becomes collections while it is parsed: there is no tree of it in
// between, which would take many times the file. The parser of the JSON library calls
// CollectionsParser for each value; a stack says in which object or array of the schema the value
// is. Everything is counted in a CollectionsBudget first, so that bytes from outside take no more
// memory than the limits allow. Errors are UsageErrors in here and FormatErrors outside.

#include "collections_parser.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "collections_budget.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "format_version.h"

namespace cupel::format_detail {
namespace {

using nlohmann::json;

// The schema has six levels.
constexpr std::size_t kMostLevels = 8;
// The most characters of a message that are quoted from the file.
constexpr std::size_t kMostShownText = 80;
constexpr std::size_t kMostReasonText = 300;

std::string in_quotes(std::string_view text) { return '"' + printable(text, kMostShownText) + '"'; }

// A value that is neither an object nor an array.
struct Scalar {
  enum class Kind { Null, Boolean, Integer, OtherNumber, Text };
  Kind kind = Kind::Null;
  bool boolean = false;
  std::int64_t integer = 0;
  std::string text = {};  // of a text, or of a number that is no integer of 64 bits

  std::string shown() const {
    switch (kind) {
      case Kind::Null:
        return "null";
      case Kind::Boolean:
        return boolean ? "true" : "false";
      case Kind::Integer:
        return std::to_string(integer);
      case Kind::OtherNumber:
        return text.substr(0, kMostShownText);
      case Kind::Text:
        break;
    }
    return in_quotes(text);
  }
};

std::int64_t integer(const Scalar& value, std::string_view what,
                     std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  if (value.kind != Scalar::Kind::Integer || value.integer < least || value.integer > most)
    throw UsageError(std::string(what) + " is not an integer in its range: " + value.shown());
  return value.integer;
}

std::string text_in(Scalar& value, std::string_view what) {
  if (value.kind != Scalar::Kind::Text)
    throw UsageError(std::string(what) + " is not a text: " + value.shown());
  return std::move(value.text);
}

bool boolean(const Scalar& value, std::string_view what) {
  if (value.kind != Scalar::Kind::Boolean)
    throw UsageError(std::string(what) + " is neither true nor false: " + value.shown());
  return value.boolean;
}

// Passes the events of the JSON library on as objects, arrays, keys and scalars to a `Reader`,
// which interprets them and may throw.
template <class Reader>
class Events {
 public:
  // Throws what the reader throws, and FormatError for a text that is not JSON.
  static void read(std::string_view key, std::string_view text, Reader& reader) {
    Events events(key, reader);
    json::sax_parse(text.begin(), text.end(), &events);
  }

  bool null() { return scalar({}); }
  bool boolean(bool value) { return scalar({.kind = Scalar::Kind::Boolean, .boolean = value}); }
  bool number_integer(std::int64_t value) {
    return scalar({.kind = Scalar::Kind::Integer, .integer = value});
  }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value <= kMost) return number_integer(static_cast<std::int64_t>(value));
    return scalar({.kind = Scalar::Kind::OtherNumber, .text = std::to_string(value)});
  }
  bool number_float(double /*value*/, const std::string& text) {
    return scalar({.kind = Scalar::Kind::OtherNumber, .text = text});
  }
  bool string(std::string& text) {
    return scalar({.kind = Scalar::Kind::Text, .text = std::move(text)});
  }
  bool binary(json::binary_t& /*bytes*/) { return false; }  // is not in a text
  bool start_object(std::size_t /*size*/) { return begin(true); }
  bool start_array(std::size_t /*size*/) { return begin(false); }
  bool key(std::string& name) {
    reader_.key(name);
    return true;
  }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const json::exception& error) {
    throw FormatError(key_, position, printable(error.what(), kMostReasonText));
  }

 private:
  Events(std::string_view key, Reader& reader) : key_(key), reader_(reader) {}

  bool scalar(Scalar value) {
    reader_.scalar(value);
    return true;
  }
  bool begin(bool is_object) {
    if (++level_ > kMostLevels) throw UsageError("nested too deeply");
    reader_.begin(is_object);
    return true;
  }
  bool end() {
    --level_;
    reader_.end();
    return true;
  }

  const std::string key_;
  Reader& reader_;
  std::size_t level_ = 0;
};

// Looks only for the version of the format.
class VersionSearch {
 public:
  void key(const std::string& name) {
    if (level_ == 1) in_meta_ = name == "_meta";
    is_version_ = level_ == 2 && in_meta_ && name == "format";
  }
  void scalar(const Scalar& value) {
    if (level_ == 2 && is_version_ && value.kind == Scalar::Kind::Text) version_ = value.text;
  }
  void begin(bool /*is_object*/) { ++level_; }
  void end() { --level_; }

  const std::optional<std::string>& version() const noexcept { return version_; }

 private:
  int level_ = 0;
  bool in_meta_ = false;
  bool is_version_ = false;
  std::optional<std::string> version_;
};

class CollectionsParser {
 public:
  explicit CollectionsParser(std::size_t file_bytes) : budget_(file_bytes) {
    levels_.reserve(kMostLevels);
  }

  void key(std::string& name) { key_ = std::move(name); }
  void scalar(Scalar& value);
  void begin(bool is_object);
  void end();

  ParsedCollections finish();

 private:
  // Where in the schema an object or an array is.
  enum class Place {
    Document,
    Collections,
    Collection,
    Patterns,
    TensorNames,
    Reductions,
    SaveConfig,
    SaveMode,
    SaveSteps,
    Meta,
    Counters,
    Unknown,
  };
  struct Level {
    Place place;
    std::uint32_t keys = 0;  // that were there
  };
  using Keys = std::span<const std::string_view>;
  static Keys keys_of(Place place) noexcept;
  static std::uint32_t required_keys_of(Place place) noexcept;

  Level& level() { return levels_.back(); }
  Place place_of_child(bool is_object);
  void count_key();
  void begin_collection();
  void end_collection();
  void read_collection_value(Scalar& value);
  void read_reduction_value(Scalar& value);
  void read_save_mode_value(const Scalar& value);
  void read_meta_value(Scalar& value);
  void read_counter(const Scalar& value);
  [[noreturn]] void refuse(std::string_view expected) const;

  CollectionsBudget budget_;
  ParsedCollections result_;
  std::vector<Level> levels_;
  std::string key_;
  bool has_unknown_mode_ = false;
  std::optional<std::string> unknown_key_;  // of the document: the first

  // The collection, the list or the configuration that is being read.
  std::string name_;
  std::optional<Collection> collection_;
  PatternList patterns_;
  std::set<std::string, std::less<>> tensor_names_;
  ReductionConfig reductions_;
  std::string reductions_text_;
  SaveConfig save_config_;
  Mode mode_ = Mode::Global;
  SaveConfigMode save_mode_;
};

constexpr std::array<std::string_view, 2> kDocumentKeys = {"collections", "_meta"};
constexpr std::array<std::string_view, 6> kCollectionKeys = {
    "name", "include_regex", "tensor_names", "reduction_config", "save_config", "save_histogram"};
constexpr std::array<std::string_view, 3> kReductionKeys = {"reductions", "save_raw_tensor",
                                                            "save_shape"};
constexpr std::array<std::string_view, 4> kSaveModeKeys = {"save_interval", "save_steps",
                                                           "start_step", "end_step"};
constexpr std::array<std::string_view, 8> kMetaKeys = {
    "num_workers", "format", "run", "worker", "attempt", "steps", "crc32c", "joined_left_out"};
constexpr std::uint32_t kOnlyNumWorkers = 1;

std::span<const std::string_view> mode_names() {
  static const auto names = [] {
    std::array<std::string_view, kAllModes.size()> made;
    std::ranges::transform(kAllModes, made.begin(), [](Mode mode) { return to_string(mode); });
    return made;
  }();
  return names;
}

std::optional<Mode> mode_named(std::string_view name) {
  const auto found =
      std::ranges::find_if(kAllModes, [&](Mode mode) { return to_string(mode) == name; });
  return found == kAllModes.end() ? std::nullopt : std::optional(*found);
}

CollectionsParser::Keys CollectionsParser::keys_of(Place place) noexcept {
  switch (place) {
    case Place::Document:
      return kDocumentKeys;
    case Place::Collection:
      return kCollectionKeys;
    case Place::Reductions:
      return kReductionKeys;
    case Place::SaveConfig:
    case Place::Counters:
      return mode_names();
    case Place::SaveMode:
      return kSaveModeKeys;
    case Place::Meta:
      return kMetaKeys;
    default:
      return {};
  }
}

std::uint32_t CollectionsParser::required_keys_of(Place place) noexcept {
  if (place == Place::Counters) return 0;
  if (place == Place::Meta) return kOnlyNumWorkers;
  return (1U << keys_of(place).size()) - 1U;
}

void CollectionsParser::refuse(std::string_view expected) const {
  throw UsageError(in_quotes(key_) + " is not " + std::string(expected));
}

// Each key of the schema may be there once.
void CollectionsParser::count_key() {
  if (levels_.empty()) return;
  const Keys keys = keys_of(level().place);
  const auto found = std::ranges::find(keys, std::string_view(key_));
  if (found == keys.end()) return;
  const std::uint32_t bit = 1U << static_cast<unsigned>(found - keys.begin());
  if ((level().keys & bit) != 0) throw UsageError("the key " + in_quotes(key_) + " is there twice");
  level().keys |= bit;
}

CollectionsParser::Place CollectionsParser::place_of_child(bool is_object) {
  const auto expect = [&](bool expected_object, Place place) {
    if (is_object != expected_object) refuse(expected_object ? "an object" : "an array");
    return place;
  };
  if (levels_.empty()) {
    if (!is_object) throw UsageError("the file is not an object");
    return Place::Document;
  }
  switch (level().place) {
    case Place::Document:
      if (key_ == "collections") return expect(true, Place::Collections);
      if (key_ == "_meta") return expect(true, Place::Meta);
      if (!unknown_key_) unknown_key_ = key_;
      return Place::Unknown;
    case Place::Collections:
      return expect(true, Place::Collection);
    case Place::Collection:
      if (key_ == "include_regex") return expect(false, Place::Patterns);
      if (key_ == "tensor_names") return expect(false, Place::TensorNames);
      if (key_ == "reduction_config") return expect(true, Place::Reductions);
      if (key_ == "save_config") return expect(true, Place::SaveConfig);
      if (key_ == "name" || key_ == "save_histogram") refuse("what it must be");
      return Place::Unknown;
    case Place::SaveConfig:
      return mode_named(key_) ? expect(true, Place::SaveMode) : Place::Unknown;
    case Place::SaveMode:
      if (key_ == "save_steps") return expect(false, Place::SaveSteps);
      if (std::ranges::find(kSaveModeKeys, key_) != kSaveModeKeys.end()) refuse("an integer");
      return Place::Unknown;
    case Place::Reductions:
      if (std::ranges::find(kReductionKeys, key_) != kReductionKeys.end())
        refuse("what it must be");
      return Place::Unknown;
    case Place::Meta:
      if (key_ == "steps") return expect(true, Place::Counters);
      if (std::ranges::find(kMetaKeys, key_) != kMetaKeys.end()) refuse("what it must be");
      return Place::Unknown;
    case Place::Counters:
      if (mode_named(key_)) refuse("a step");
      has_unknown_mode_ = true;
      return Place::Unknown;
    case Place::Patterns:
    case Place::TensorNames:
      throw UsageError("an entry of a list of texts is not one");
    case Place::SaveSteps:
      throw UsageError("an entry of save_steps is not an integer");
    case Place::Unknown:
      break;
  }
  return Place::Unknown;
}

void CollectionsParser::begin(bool is_object) {
  count_key();
  const Place place = place_of_child(is_object);
  levels_.push_back({place});
  switch (place) {
    case Place::Collection:
      return begin_collection();
    case Place::Patterns:
      patterns_ = {};
      return;
    case Place::TensorNames:
      tensor_names_.clear();
      return;
    case Place::Reductions:
      reductions_ = {};
      return;
    case Place::SaveConfig:
      save_config_ = {};
      return;
    case Place::SaveMode:
      mode_ = mode_named(key_).value_or(Mode::Global);
      save_mode_ = {};
      return;
    default:
      return;
  }
}

void CollectionsParser::end() {
  const Level ended = level();
  levels_.pop_back();
  const std::uint32_t missing = required_keys_of(ended.place) & ~ended.keys;
  const Keys keys = keys_of(ended.place);
  for (std::size_t i = 0; i < keys.size(); ++i)
    if ((missing >> i & 1U) != 0) throw UsageError("there is no key " + in_quotes(keys[i]));
  switch (ended.place) {
    case Place::Collection:
      return end_collection();
    case Place::Patterns:
      if (!patterns_.empty()) collection_->set_include_regex(std::move(patterns_));
      return;
    case Place::TensorNames:
      if (!tensor_names_.empty()) collection_->set_tensor_names(std::move(tensor_names_));
      return;
    case Place::Reductions: {
      ReductionConfig config = ReductionConfig::parse(reductions_text_);
      config.save_raw_tensor = reductions_.save_raw_tensor;
      config.save_shape = reductions_.save_shape;
      collection_->set_reduction_config(std::move(config));
      return;
    }
    case Place::SaveMode:
      save_config_.mode_save_configs.emplace(mode_, std::move(save_mode_));
      return;
    case Place::SaveConfig:
      collection_->set_save_config(std::move(save_config_));
      return;
    default:
      return;
  }
}

void CollectionsParser::begin_collection() {
  if (result_.file.collections.contains(key_))
    throw UsageError("the collection " + in_quotes(key_) + " is there twice");
  budget_.add_collection(key_);
  budget_.add_contents();
  name_ = key_;
  collection_.emplace(key_);
}

void CollectionsParser::end_collection() {
  auto& collections = result_.file.collections;
  collections.emplace_hint(collections.end(), std::move(name_), *std::move(collection_));
}

void CollectionsParser::scalar(Scalar& value) {
  count_key();
  if (levels_.empty()) throw UsageError("the file is not an object");
  switch (level().place) {
    case Place::Document:
      if (key_ == "collections" || key_ == "_meta") refuse("an object");
      if (!unknown_key_) unknown_key_ = key_;
      return;
    case Place::Collections:
      return refuse("an object");
    case Place::Collection:
      return read_collection_value(value);
    case Place::Patterns:
      return patterns_.add_compiled(budget_.compile(text_in(value, "a pattern")));
    case Place::TensorNames: {
      std::string name = text_in(value, "a tensor's name");
      budget_.add_tensor_name(name);
      tensor_names_.emplace_hint(tensor_names_.end(), std::move(name));
      return;
    }
    case Place::Reductions:
      return read_reduction_value(value);
    case Place::SaveConfig:
      if (mode_named(key_) && value.kind != Scalar::Kind::Null) refuse("an object");
      return;
    case Place::SaveMode:
      return read_save_mode_value(value);
    case Place::SaveSteps:
      budget_.add_steps(1);
      save_mode_.save_steps.push_back(integer(value, "an entry of save_steps"));
      return;
    case Place::Meta:
      return read_meta_value(value);
    case Place::Counters:
      return read_counter(value);
    case Place::Unknown:
      return;
  }
}

void CollectionsParser::read_collection_value(Scalar& value) {
  if (key_ == "name") {
    if (const std::string name = text_in(value, "name"); name != name_)
      throw UsageError("the collection " + in_quotes(name_) + " calls itself otherwise");
  } else if (key_ == "save_histogram") {
    collection_->set_save_histogram(boolean(value, "save_histogram"));
  } else if (key_ == "include_regex" || key_ == "tensor_names") {
    refuse("an array");
  } else if (key_ == "reduction_config" || key_ == "save_config") {
    if (value.kind != Scalar::Kind::Null) refuse("an object");
  }
}

void CollectionsParser::read_reduction_value(Scalar& value) {
  if (key_ == "reductions") {
    reductions_text_ = text_in(value, "reductions");
  } else if (key_ == "save_raw_tensor") {
    reductions_.save_raw_tensor = boolean(value, "save_raw_tensor");
  } else if (key_ == "save_shape") {
    reductions_.save_shape = boolean(value, "save_shape");
  }
}

void CollectionsParser::read_save_mode_value(const Scalar& value) {
  if (key_ == "save_interval") {
    save_mode_.save_interval = integer(value, "save_interval");
  } else if (key_ == "start_step") {
    save_mode_.start_step = integer(value, "start_step");
  } else if (key_ == "end_step") {
    if (value.kind != Scalar::Kind::Null) save_mode_.end_step = integer(value, "end_step");
  } else if (key_ == "save_steps") {
    refuse("an array");
  }
}

void CollectionsParser::read_meta_value(Scalar& value) {
  CollectionsFile& file = result_.file;
  if (key_ == "num_workers") {
    file.num_workers = integer(value, "num_workers", 1);
  } else if (key_ == "format") {
    result_.version = text_in(value, "format");
  } else if (key_ == "run") {
    file.run = text_in(value, "run");
  } else if (key_ == "worker") {
    file.worker = text_in(value, "worker");
  } else if (key_ == "attempt") {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1;
    file.attempt = static_cast<std::int32_t>(integer(value, "attempt", 0, kMost));
  } else if (key_ == "steps") {
    refuse("an object");
  } else if (key_ == "joined_left_out") {
    file.joined_left_out = integer(value, "joined_left_out", 0);
  } else if (key_ == "crc32c") {
    result_.checksum = text_in(value, "crc32c");
  }
}

void CollectionsParser::read_counter(const Scalar& value) {
  const auto mode = mode_named(key_);
  if (!mode) {
    has_unknown_mode_ = true;
    return;
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() - 1;
  result_.file.steps[*mode] = integer(value, "a mode's step", 0, kMost);
}

ParsedCollections CollectionsParser::finish() {
  const bool is_newer = result_.version && is_newer_minor_version(*result_.version);
  if (unknown_key_ && !is_newer) throw UsageError("unknown key " + in_quotes(*unknown_key_));
  if (has_unknown_mode_ && !is_newer) throw UsageError("steps names an unknown mode");
  return std::move(result_);
}

// Mistakes do not count in a file that a newer major version wrote.
std::optional<std::string> version_problem(std::string_view key, std::string_view text) {
  VersionSearch search;
  try {
    Events<VersionSearch>::read(key, text, search);
  } catch (const Error&) {  // the version may stand before the mistake
  }
  return search.version() ? format_version_problem(*search.version()) : std::nullopt;
}

}  // namespace

ParsedCollections parse_collections(std::string_view key, std::string_view text) {
  try {
    CollectionsParser parser(text.size());
    Events<CollectionsParser>::read(key, text, parser);
    ParsedCollections parsed = parser.finish();
    if (parsed.version) {
      if (const auto problem = format_version_problem(*parsed.version)) throw UsageError(*problem);
    }
    return parsed;
  } catch (const UsageError& error) {
    throw FormatError(std::string(key), 0, version_problem(key, text).value_or(error.what()));
  } catch (const json::exception& error) {
    throw FormatError(std::string(key), 0, printable(error.what(), kMostReasonText));
  }
}

}  // namespace cupel::format_detail
