#include "cupel/rules/rule_spec.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "cupel/core/ascii.h"
#include "cupel/core/error.h"

namespace cupel {
namespace {

// Where the '=' of a piece is that begins with `identifier=`, blanks before it allowed.
std::optional<std::size_t> equals_sign(std::string_view piece) {
  const std::size_t begin = piece.find_first_not_of(' ');
  const std::size_t equals = piece.find('=');
  if (begin == std::string_view::npos || equals == std::string_view::npos || equals < begin)
    return std::nullopt;
  const std::string_view name = piece.substr(begin, equals - begin);
  return is_identifier(name) ? std::optional(equals) : std::nullopt;
}

// Where the name of a file ends at the beginning of the text; 0 if there is none.
std::size_t end_of_file(std::string_view text, std::string_view ending) {
  if (text.ends_with(ending)) return text.size();
  const std::size_t colon = text.rfind(std::string(ending) + ':');
  return colon == std::string::npos ? 0 : colon + ending.size();
}

// Moves the file out of what was read as the name of the rule, if it is one.
void take_file(RuleSpec& spec, std::span<const std::string> endings) {
  const std::string text = spec.rule;
  std::size_t end = 0;
  for (const std::string& ending : endings) end = std::max(end, end_of_file(text, ending));
  if (end == 0) return;
  spec.file = text.substr(0, end);
  spec.rule = end < text.size() ? text.substr(end + 1) : "";
}

}  // namespace

RuleSpec parse_rule_spec(std::string_view text, std::span<const std::string> endings) {
  const auto fail = [text](const std::string& what) {
    throw UsageError("rule \"" + std::string(text) + "\": " + what);
  };
  RuleSpec spec;
  std::string* value = nullptr;
  std::string_view rest = text;
  for (bool first = true; first || !rest.empty(); first = false) {
    const std::size_t comma = rest.find(',');
    const std::string_view piece = rest.substr(0, comma);
    const bool more = comma != std::string_view::npos;
    rest = more ? rest.substr(comma + 1) : std::string_view();
    const auto equals = equals_sign(piece);
    if (first) {
      spec.rule = piece;
      if (piece.empty()) fail("it has no name; write NAME,param=value");
      if (equals) fail("it begins with a parameter; write NAME,param=value");
    } else if (equals) {
      const std::size_t begin = piece.find_first_not_of(' ');
      const std::string name(piece.substr(begin, *equals - begin));
      const auto [entry, is_new] =
          spec.parameters.emplace(name, std::string(piece.substr(*equals + 1)));
      if (!is_new) fail("parameter " + name + " is given twice");
      value = &entry->second;
    } else if (value != nullptr) {
      *value += "," + std::string(piece);
    } else {
      fail("\"" + std::string(piece) + "\" is not param=value");
    }
    if (more && rest.empty() && value != nullptr) *value += ",";
  }
  take_file(spec, endings);
  return spec;
}

RuleSpec parse_rule_spec(std::string_view text) {
  static const std::array<std::string, 1> kLua = {".lua"};
  return parse_rule_spec(text, kLua);
}

}  // namespace cupel
