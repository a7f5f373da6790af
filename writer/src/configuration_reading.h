#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/pattern.h"

namespace cupel {

// Text as messages show it: control characters and stray bytes escaped, shortened when it is long.
std::string shown(std::string_view text);
// A JSON value likewise, as ASCII.
std::string shown(const nlohmann::json& value);

// One reading of a configuration: where it is from and all that is wrong with it, for one report.
class Reading {
 public:
  explicit Reading(std::string_view source);

  void error(std::string_view path, std::string_view what);
  void warning(std::string_view path, std::string_view what);
  // Warns of a key that is ignored, and tells what may have been meant.
  void unknown_key(std::string_view path, std::string_view key,
                   std::span<const std::string_view> known);
  // Whether the file may have one pattern more; each costs time and memory to compile.
  bool may_add_pattern() noexcept;

  // Logs the warnings, then throws the UsageError of all errors if there are any.
  void finish() const;

 private:
  std::string source_;
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
  std::size_t error_count_ = 0;
  std::size_t warning_count_ = 0;
  std::size_t patterns_ = 0;
};

// A value, and the keys that lead to it.
struct Value {
  const nlohmann::json& json;
  std::string path;
  Reading& reading;

  // "<path>: must be <legal>, not <given>"; what is given is the value where nothing is said.
  void refuse(std::string_view legal) const;
  void refuse(std::string_view legal, std::string_view given) const;
  Value member(std::string_view key, const nlohmann::json& of) const;
};

// Each reads one value. Nothing for null, which stands for the default, and for an illegal value,
// which is then an error of the reading. Numbers and booleans may be JSON's or text.
std::optional<bool> read_bool(const Value& value);
std::optional<std::int64_t> read_whole_number(const Value& value, std::int64_t least);
std::optional<std::vector<std::int64_t>> read_steps(const Value& value);
std::optional<std::string> read_text(const Value& value, std::string_view legal);
std::optional<std::string> read_path(const Value& value);
std::optional<PatternList> read_patterns(const Value& value);
// The text, which ReductionConfig::parse then accepts.
std::optional<std::string> read_reductions(const Value& value);

// An array or object; absent for null and, with an error, for anything else.
const nlohmann::json* read_array(const Value& value);
const nlohmann::json* read_object(const Value& value);

}  // namespace cupel
