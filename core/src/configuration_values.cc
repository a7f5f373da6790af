// Reads single values of configurations: numbers, booleans, lists, patterns. In the files of the
// SDK that users port from, each value is a text; JSON's numbers, booleans and arrays are accepted
// as well. An illegal value is added to the report with what would be legal, and the function
// returns nothing. One thread uses a report and its values.

#include <cmath>
#include <limits>

#include "configuration_json.h"
#include "cupel/core/comma_list.h"
#include "cupel/core/configuration_reading.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "cupel/core/reduction.h"

namespace cupel {
namespace {

using Json = nlohmann::json;

// Each mode of each collection has a list; more steps than this are to be given by an interval.
constexpr std::size_t kMostSteps = 10'000;
// Above this number not every whole number is a double, so that a value could change silently.
constexpr double kMostExact = 9007199254740992.0;

constexpr std::string_view kReductionsLegal =
    "a comma list of min, max, mean, std, variance, sum, prod, median, l1, l2, each also after "
    "\"abs_\"";
constexpr std::string_view kPatternsLegal =
    "a pattern, a comma list or an array of patterns, none of them empty";

std::optional<std::int64_t> whole_number(std::string_view text) noexcept {
  return parse_integer<std::int64_t>(without_blanks_and_plus(text));
}

std::optional<std::int64_t> whole_number(const Json& json) {
  if (json.is_string()) return whole_number(std::string_view(json.get_ref<const std::string&>()));
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (number > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number_float()) {
    const auto number = json.get<double>();
    if (std::abs(number) > kMostExact || std::trunc(number) != number) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

void refuse_item(const ConfigurationValue& value, std::string_view legal, const std::string& item) {
  const std::string whole = value.shown();
  value.refuse(legal, item == whole ? whole : item + " in " + whole);
}

bool add_pattern(const ConfigurationValue& value, std::string_view text, PatternList& patterns) {
  if (!value.report().may_add_pattern()) {
    value.report().error(value.path(), "a file has at most " +
                                           std::to_string(kMostConfiguredPatterns) + " patterns");
    return false;
  }
  if (text.empty()) {
    value.refuse(kPatternsLegal);
    return false;
  }
  try {
    patterns.add(PatternList(text));
    return true;
  } catch (const UsageError& error) {
    // The message has the whole pattern, however long, and after it the place and the reason.
    const std::string_view message = error.what();
    const std::size_t reason = message.rfind("', offset ");
    std::string given = shown_text(text);
    if (reason != std::string_view::npos)
      given.append(" (").append(message.substr(reason + 3)).append(")");
    value.refuse("a regular expression", given);
    return false;
  }
}

}  // namespace

std::optional<bool> read_bool(const ConfigurationValue& value) {
  const Json& json = ConfigurationJson::of(value);
  if (json.is_null()) return std::nullopt;
  if (json.is_boolean()) return json.get<bool>();
  if (json == Json(1)) return true;
  if (json == Json(0)) return false;
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text == "True" || text == "true" || text == "1") return true;
    if (text == "False" || text == "false" || text == "0") return false;
  }
  value.refuse("one of True, true, 1, False, false, 0");
  return std::nullopt;
}

std::optional<std::int64_t> read_whole_number(const ConfigurationValue& value, std::int64_t least,
                                              std::int64_t most) {
  if (ConfigurationJson::of(value).is_null()) return std::nullopt;
  auto number = whole_number(ConfigurationJson::of(value));
  if (number && *number >= least && *number <= most) return number;
  value.refuse("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> read_steps(const ConfigurationValue& value) {
  const Json& json = ConfigurationJson::of(value);
  constexpr std::string_view kLegal =
      "a comma list or an array of whole numbers from 0, at least one";
  if (json.is_null()) return std::nullopt;
  std::vector<std::int64_t> steps;
  const auto add = [&](std::optional<std::int64_t> step) {
    if (step && *step >= 0) steps.push_back(*step);
    return step && *step >= 0;
  };
  if (json.is_string()) {
    for (const std::string_view item : comma_list(json.get_ref<const std::string&>())) {
      if (add(whole_number(item))) continue;
      refuse_item(value, kLegal, shown_text(item));
      return std::nullopt;
    }
  } else if (json.is_array()) {
    for (const Json& item : json) {
      if (add(whole_number(item))) continue;
      refuse_item(value, kLegal, core_detail::shown_json(item));
      return std::nullopt;
    }
  } else {
    add(whole_number(json));
  }
  if (steps.size() > kMostSteps) {
    value.refuse("at most 10000 steps", std::to_string(steps.size()));
    return std::nullopt;
  }
  if (!steps.empty()) return steps;
  value.refuse(kLegal);
  return std::nullopt;
}

std::optional<std::string> read_text(const ConfigurationValue& value, std::string_view legal) {
  if (ConfigurationJson::of(value).is_null()) return std::nullopt;
  if (ConfigurationJson::of(value).is_string() &&
      !ConfigurationJson::of(value).get_ref<const std::string&>().empty())
    return ConfigurationJson::of(value).get<std::string>();
  value.refuse(legal);
  return std::nullopt;
}

std::optional<std::string> read_path(const ConfigurationValue& value) {
  constexpr std::string_view kLegal = "the path of a directory as text";
  auto path = read_text(value, kLegal);
  if (!path || path->find('\0') == std::string::npos) return path;
  value.refuse(kLegal);
  return std::nullopt;
}

std::optional<PatternList> read_patterns(const ConfigurationValue& value) {
  const Json& json = ConfigurationJson::of(value);
  if (json.is_null()) return std::nullopt;
  PatternList patterns;
  if (json.is_string()) {
    for (const std::string_view item : comma_list(json.get_ref<const std::string&>()))
      if (!add_pattern(value, item, patterns)) return std::nullopt;
    return patterns;
  }
  if (!json.is_array()) {
    value.refuse(kPatternsLegal);
    return std::nullopt;
  }
  for (const Json& item : json) {
    if (!item.is_string()) {
      refuse_item(value, kPatternsLegal, core_detail::shown_json(item));
      return std::nullopt;
    }
    if (!add_pattern(value, item.get_ref<const std::string&>(), patterns)) return std::nullopt;
  }
  return patterns;
}

std::optional<std::string> read_reductions(const ConfigurationValue& value) {
  if (ConfigurationJson::of(value).is_null()) return std::nullopt;
  if (!ConfigurationJson::of(value).is_string()) {
    value.refuse(kReductionsLegal);
    return std::nullopt;
  }
  const auto& text = ConfigurationJson::of(value).get_ref<const std::string&>();
  for (const std::string_view item : comma_list(text)) {
    if (item.empty() || parse_reduction(item)) continue;
    refuse_item(value, kReductionsLegal, shown_text(item));
    return std::nullopt;
  }
  return text;
}

std::optional<std::string> read_any_text(const ConfigurationValue& value) {
  const Json& json = ConfigurationJson::of(value);
  if (json.is_null()) return std::nullopt;
  if (json.is_string()) return json.get<std::string>();
  if (!json.is_object()) return value.json_text();
  value.refuse("text, a number, a boolean or an array");
  return std::nullopt;
}

bool expect_array(const ConfigurationValue& value) {
  if (!value.is_array() && !value.is_null()) value.refuse("an array or null");
  return value.is_array();
}

bool expect_object(const ConfigurationValue& value) {
  if (!value.is_object() && !value.is_null()) value.refuse("an object or null");
  return value.is_object();
}

}  // namespace cupel
