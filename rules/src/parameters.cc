#include "cupel/rules/parameters.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "cupel/rules/number_text.h"

namespace cupel {
namespace {

bool means_not_given(std::string_view text) {
  text = trimmed(text);
  return text.empty() || text == "None";
}

std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text.front() == '+' && text[1] != '-' && text[1] != '+')
    text.remove_prefix(1);
  return text;
}

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  text = without_plus(trimmed(text));
  Number number{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<double> parse_number(std::string_view text) {
  const auto number = parse_all<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  if (const auto integer = parse_all<std::int64_t>(text)) return integer;
  const auto number = parse_number(text);
  constexpr double kExactUpTo = 9007199254740992.0;  // 2^53
  if (!number || *number != std::floor(*number) || std::abs(*number) > kExactUpTo)
    return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::string legal_numbers(const NumberRange& range) {
  const bool from = range.least > std::numeric_limits<double>::lowest();
  const bool to = range.most < std::numeric_limits<double>::max();
  if (from && to && !range.open_below && !range.open_above)
    return "a number from " + shortest_text(range.least) + " to " + shortest_text(range.most);
  std::string text;
  if (from) text += (range.open_below ? "> " : ">= ") + shortest_text(range.least);
  if (to)
    text += (from ? " and " : "") + std::string(range.open_above ? "< " : "<= ") +
            shortest_text(range.most);
  return text.empty() ? "a finite number" : "a number " + text;
}

bool same_letters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// The elements of a JSON array of strings; nothing for any other text, such as the pattern "[0-9]".
std::optional<std::vector<std::string>> parse_json_array(std::string_view text) {
  if (!text.starts_with('[')) return std::nullopt;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_array()) return std::nullopt;
  std::vector<std::string> elements;
  for (const auto& element : json) {
    if (!element.is_string()) return std::nullopt;
    elements.push_back(element.get<std::string>());
  }
  return elements;
}

// The elements of a JSON array, or of text split at commas.
std::vector<std::string> split(std::string_view text) {
  if (text.empty()) return {};
  if (auto elements = parse_json_array(text)) return *std::move(elements);
  std::vector<std::string> elements;
  for (const std::string_view element : comma_list(text))
    if (!element.empty()) elements.emplace_back(element);
  return elements;
}

}  // namespace

ParameterReader::ParameterReader(std::string_view rule, const RuleParameters& parameters,
                                 std::span<const ParameterInfo> known)
    : rule_(rule), parameters_(parameters), known_(known) {}

double ParameterReader::number(std::string_view name, double at_least, double at_most) {
  return number(name, {at_least, at_most});
}

double ParameterReader::number(std::string_view name, const NumberRange& range) {
  return optional_number(name, range).value_or(range.least);
}

std::optional<double> ParameterReader::optional_number(std::string_view name, double at_least,
                                                       double at_most) {
  return optional_number(name, {at_least, at_most});
}

std::optional<double> ParameterReader::optional_number(std::string_view name,
                                                       const NumberRange& range) {
  const std::string_view text = text_or_default(name);
  if (text.empty()) return std::nullopt;
  const auto number = parse_number(text);
  if (number && range.contains(*number)) return number;
  wrong_value(name, text, legal_numbers(range));
  return std::nullopt;
}

std::int64_t ParameterReader::integer(std::string_view name, std::int64_t at_least) {
  return optional_integer(name, at_least).value_or(at_least);
}

std::optional<std::int64_t> ParameterReader::optional_integer(std::string_view name,
                                                              std::int64_t at_least) {
  const std::string_view text = text_or_default(name);
  if (text.empty()) return std::nullopt;
  const auto integer = parse_integer(text);
  if (integer && *integer >= at_least) return integer;
  const bool is_any = at_least == std::numeric_limits<std::int64_t>::min();
  wrong_value(name, text,
              is_any ? "a whole number" : "a whole number >= " + std::to_string(at_least));
  return std::nullopt;
}

bool ParameterReader::boolean(std::string_view name) {
  const std::string_view text = text_or_default(name);
  if (text == "True" || text == "true" || text == "1") return true;
  if (!text.empty() && text != "False" && text != "false" && text != "0")
    wrong_value(name, text, "True or False");
  return false;
}

std::vector<std::string> ParameterReader::list(std::string_view name) {
  return split(text_or_default(name));
}

std::vector<double> ParameterReader::numbers(std::string_view name, const NumberRange& range) {
  const std::string_view text = text_or_default(name);
  std::string_view inner = text;
  if (inner.starts_with('(') && inner.ends_with(')')) inner = inner.substr(1, inner.size() - 2);
  std::vector<double> numbers;
  for (const std::string& element : split(inner)) {
    const auto number = parse_number(element);
    if (!number || !range.contains(*number)) {
      wrong_value(name, text, "a list of numbers, each " + legal_numbers(range));
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

std::string ParameterReader::text(std::string_view name) {
  return std::string(text_or_default(name));
}

std::string ParameterReader::choice(std::string_view name,
                                    std::span<const std::string_view> legal) {
  const std::string_view text = text_or_default(name);
  if (text.empty()) return {};
  std::string all;
  for (const std::string_view one : legal) {
    if (same_letters(one, text)) return std::string(one);
    all += (all.empty() ? "" : ", ") + std::string(one);
  }
  wrong_value(name, text, all);
  return {};
}

void ParameterReader::fail(std::string message) {
  mistakes_.push_back(rule_ + ": " + std::move(message));
}

void ParameterReader::lacks(std::string what) {
  lacking_ = what;
  fail(std::move(what));
}

void ParameterReader::finish() {
  std::vector<std::string> known_names;
  for (const ParameterInfo& info : known_) known_names.emplace_back(info.name);
  for (const auto& [name, value] : parameters_) {
    if (asked_.contains(name)) continue;
    std::string message = "unknown parameter \"" + name + "\"";
    const std::string question = did_you_mean(name, known_names);
    if (!question.empty()) {
      message += question;
    } else if (known_names.empty()) {
      message += "; the rule takes none";
    } else {
      message += "; the rule takes";
      for (std::size_t i = 0; i < known_names.size(); ++i)
        message += (i == 0 ? " " : ", ") + known_names[i];
    }
    fail(std::move(message));
  }
  if (mistakes_.empty()) return;
  if (mistakes_.size() == 1 && !lacking_.empty())
    throw InsufficientInformationForRuleInvocation(rule_, lacking_);
  std::string text;
  for (const std::string& mistake : mistakes_) text += (text.empty() ? "" : "\n") + mistake;
  throw UsageError(text);
}

const std::string* ParameterReader::given(std::string_view name) {
  asked_.emplace(name);
  const auto entry = parameters_.find(std::string(name));
  if (entry == parameters_.end() || means_not_given(entry->second)) return nullptr;
  return &entry->second;
}

std::string_view ParameterReader::text_or_default(std::string_view name) {
  const std::string* text = given(name);
  return trimmed(text != nullptr ? std::string_view(*text) : default_of(name));
}

std::string_view ParameterReader::default_of(std::string_view name) const {
  for (const ParameterInfo& info : known_)
    if (info.name == name) return info.default_value;
  return {};
}

void ParameterReader::wrong_value(std::string_view name, std::string_view text,
                                  std::string_view legal) {
  std::string message = "parameter " + std::string(name) + " is \"" + std::string(text) +
                        "\"; legal is " + std::string(legal);
  if (const auto value = default_of(name); !value.empty())
    message += " (default " + std::string(value) + ")";
  fail(std::move(message));
}

}  // namespace cupel
