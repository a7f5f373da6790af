// Parameters from text, by their schema.
//
// read_parameters() goes through the schema in its order, then through the names that a user gave
// and that the schema does not have. Nothing is thrown for a mistake of the user: each becomes a
// Mistake, and its parameter has no value. A default goes through the same conversion as the text
// of a user, so a default that is no legal text shows when its definition is added to a catalog.
// There is no state: any thread may call the functions.

#include "cupel/rules/rule_parameter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cupel/core/ascii.h"
#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "cupel/core/number_text.h"
#include "cupel/core/printable.h"

namespace cupel {
namespace {

bool means_not_given(std::string_view text) {
  text = trimmed(text);
  return text.empty() || text == "None";
}

// ---- from text to numbers

std::optional<double> finite_number(std::string_view text) {
  const auto number = parse_number(without_blanks_and_plus(text));
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> whole_number_of(std::string_view text) {
  if (const auto integer = parse_integer<std::int64_t>(without_blanks_and_plus(text)))
    return integer;
  const auto number = finite_number(text);
  constexpr double kExactUpTo = 9007199254740992.0;  // 2^53
  if (!number || *number != std::floor(*number) || std::abs(*number) > kExactUpTo)
    return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// ---- what is legal, in words

bool has_least(const NumberRange& range) {
  return range.least > std::numeric_limits<double>::lowest();
}
bool has_most(const NumberRange& range) { return range.most < std::numeric_limits<double>::max(); }

std::string least_text(const NumberRange& range) {
  return (range.open_below ? "> " : ">= ") + shortest_text(range.least);
}
std::string most_text(const NumberRange& range) {
  return (range.open_above ? "< " : "<= ") + shortest_text(range.most);
}

std::string legal_numbers(const NumberRange& range) {
  const bool from = has_least(range);
  const bool to = has_most(range);
  if (from && to && !range.open_below && !range.open_above)
    return "a number from " + shortest_text(range.least) + " to " + shortest_text(range.most);
  if (!from && !to) return "a finite number";
  return "a number " + (from ? least_text(range) : "") + (from && to ? " and " : "") +
         (to ? most_text(range) : "");
}

// Names the bound that the number exceeds; of what is no whole number, the lower bound.
std::string legal_integers(const NumberRange& range, std::optional<std::int64_t> number) {
  const bool too_large = number && static_cast<double>(*number) >= range.most;
  if (too_large || !has_least(range))
    return has_most(range) ? "a whole number " + most_text(range) : "a whole number";
  return "a whole number " + least_text(range);
}

std::string joined_texts(const std::vector<std::string>& texts, const char* separator = ", ") {
  std::string all;
  for (const std::string& text : texts) all.append(all.empty() ? "" : separator).append(text);
  return all;
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

// ---- a value, or what is legal

struct Conversion {
  std::optional<ParameterValue> value = std::nullopt;
  std::string legal = {};  // where there is no value
};

Conversion convert_number(std::string_view text, const NumberRange& range) {
  const auto number = finite_number(text);
  if (!number || !range.contains(*number)) return {.legal = legal_numbers(range)};
  return {.value = *number};
}

Conversion convert_integer(std::string_view text, const NumberRange& range) {
  const auto integer = whole_number_of(text);
  if (!integer || !range.contains(static_cast<double>(*integer)))
    return {.legal = legal_integers(range, integer)};
  return {.value = *integer};
}

Conversion convert_boolean(std::string_view text) {
  if (text == "True" || text == "true" || text == "1") return {.value = true};
  if (text == "False" || text == "false" || text == "0") return {.value = false};
  return {.legal = "True or False"};
}

Conversion convert_text(std::string_view text, const std::vector<std::string>& choices) {
  if (choices.empty()) return {.value = std::string(text)};
  for (const std::string& choice : choices)
    if (same_but_for_case(choice, text)) return {.value = choice};
  return {.legal = joined_texts(choices)};
}

Conversion convert_numbers(std::string_view text, const NumberRange& range) {
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  std::vector<double> numbers;
  for (const std::string& element : split_list(text)) {
    const auto number = finite_number(element);
    if (!number || !range.contains(*number))
      return {.legal = "a list of numbers, each " + legal_numbers(range)};
    numbers.push_back(*number);
  }
  return {.value = std::move(numbers)};
}

Conversion convert(const Parameter& parameter, std::string_view text) {
  switch (parameter.kind) {
    case ParameterKind::Float:
      return convert_number(text, parameter.range);
    case ParameterKind::Int:
      return convert_integer(text, parameter.range);
    case ParameterKind::Bool:
      return convert_boolean(text);
    case ParameterKind::Text:
      return convert_text(text, parameter.choices);
    case ParameterKind::List:
      return {.value = split_list(text)};
    case ParameterKind::Numbers:
      return convert_numbers(text, parameter.range);
  }
  return {};
}

// ---- mistakes

Mistake illegal_value(const Parameter& parameter, std::string_view text, const std::string& legal) {
  std::string message =
      "parameter " + parameter.name + " is \"" + std::string(text) + "\"; legal is " + legal;
  if (parameter.default_text && !parameter.default_text->empty())
    message += " (default " + *parameter.default_text + ")";
  return {.message = std::move(message), .parameter = parameter.name};
}

Mistake unknown_parameter(std::span<const Parameter> known, const std::string& name) {
  std::vector<std::string> names;
  for (const Parameter& parameter : known) names.push_back(parameter.name);
  Mistake mistake{.message = "unknown parameter \"" + name + "\"", .parameter = name};
  constexpr std::string_view kSeparator = "; ";
  if (std::string hint = did_you_mean(name, names); !hint.empty())
    mistake.hint = hint.substr(kSeparator.size());
  else
    mistake.message +=
        names.empty() ? "; the rule takes none" : "; the rule takes " + joined_texts(names);
  return mistake;
}

}  // namespace

bool NumberRange::has_number() const noexcept {
  return contains(open_below ? std::nextafter(least, std::numeric_limits<double>::infinity())
                             : least);
}

bool NumberRange::has_whole_number() const noexcept {
  constexpr double kLeast = -0x1p63;
  constexpr double kMost = 0x1p63;  // is one too many
  double first = std::ceil(std::max(least, kLeast));
  if (!contains(first)) first = std::max(std::nextafter(first, kMost), std::floor(first) + 1);
  return first < kMost && contains(first);
}

std::string_view to_string(ParameterKind kind) noexcept {
  switch (kind) {
    case ParameterKind::Float:
      return "float";
    case ParameterKind::Int:
      return "int";
    case ParameterKind::Bool:
      return "bool";
    case ParameterKind::Text:
      return "text";
    case ParameterKind::List:
    case ParameterKind::Numbers:
      break;
  }
  return "list";
}

std::vector<std::string> split_list(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return {};
  if (auto elements = parse_json_array(text)) return *std::move(elements);
  std::vector<std::string> elements;
  for (const std::string_view element : comma_list(text))
    if (!element.empty()) elements.emplace_back(element);
  return elements;
}

std::string join_list(const std::vector<std::string>& entries) {
  const auto is_plain = [](const std::string& entry) {
    return !entry.empty() && entry.front() != ' ' && entry.back() != ' ' &&
           std::ranges::none_of(entry, [](char c) {
             return c == ',' || c == '[' || static_cast<unsigned char>(c) < ' ';
           });
  };
  if (entries.empty() || !std::ranges::all_of(entries, is_plain))
    return json_text(nlohmann::ordered_json(entries));
  return joined_texts(entries, ",");
}

void ParameterMistakes::add_missing(std::string message, std::string parameter) {
  missing_ = message;
  add(std::move(message), std::move(parameter));
}

void ParameterMistakes::sort(std::span<const Parameter> schema) {
  std::ranges::stable_sort(all_, {}, [&](const Mistake& mistake) {
    const auto place = std::ranges::find(schema, mistake.parameter, &Parameter::name);
    const bool is_unknown = place == schema.end() && !mistake.parameter.empty();
    return std::pair(is_unknown, place - schema.begin());
  });
}

std::vector<Mistake> ParameterMistakes::of_rule(std::string_view rule) const {
  std::vector<Mistake> mistakes = all_;
  if (mistakes.size() == 1 && !missing_.empty()) {
    mistakes.front().message =
        InsufficientInformationForRuleInvocation(std::string(rule), missing_).what();
    return mistakes;
  }
  for (Mistake& mistake : mistakes) mistake.message.insert(0, std::string(rule) + ": ");
  return mistakes;
}

void ParameterMistakes::throw_if_any(std::string_view rule) const {
  if (all_.empty()) return;
  if (all_.size() == 1 && !missing_.empty())
    throw InsufficientInformationForRuleInvocation(std::string(rule), missing_);
  std::string text;
  for (const Mistake& mistake : of_rule(rule)) {
    text.append(text.empty() ? "" : "\n").append(mistake.message);
    if (!mistake.hint.empty()) text.append("; ").append(mistake.hint);
  }
  throw UsageError(text);
}

const ParameterValue* ParameterValues::find(std::string_view name) const noexcept {
  const auto entry = entries_.find(name);
  return entry == entries_.end() ? nullptr : entry->second.value.get();
}

bool ParameterValues::is_given(std::string_view name) const noexcept {
  const auto entry = entries_.find(name);
  return entry != entries_.end() && entry->second.given;
}

ParameterValues read_parameters(std::span<const Parameter> known, const RuleParameters& given,
                                ParameterMistakes& mistakes) {
  ParameterValues values;
  for (const Parameter& parameter : known) {
    const auto found = given.find(parameter.name);
    const bool is_given = found != given.end() && !means_not_given(found->second);
    if (!is_given && !parameter.default_text) {
      if (parameter.required)
        mistakes.add_missing(parameter.name + " is not given" +
                                 (parameter.help.empty() ? "" : ": " + parameter.help),
                             parameter.name);
      continue;
    }
    const std::string_view text =
        is_given ? trimmed(found->second) : std::string_view(*parameter.default_text);
    // An empty text may stand for none of the choices.
    const bool is_empty_text =
        !is_given && parameter.kind == ParameterKind::Text && parameter.default_text->empty();
    Conversion conversion =
        is_empty_text ? Conversion{.value = std::string()} : convert(parameter, text);
    ParameterValues::Entry& entry = values.entries_[parameter.name];
    entry.given = is_given;
    if (conversion.value)
      entry.value = std::make_shared<const ParameterValue>(*std::move(conversion.value));
    else
      mistakes.add(illegal_value(parameter, text, conversion.legal));
  }
  for (const auto& each : given) {
    const std::string& name = each.first;
    if (std::ranges::none_of(known, [&](const Parameter& one) { return one.name == name; }))
      mistakes.add(unknown_parameter(known, name));
  }
  return values;
}

}  // namespace cupel
