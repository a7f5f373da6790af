#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cupel::scripting_detail {

/// A call of cupel.rule in the text of a script.
struct RuleCall {
  std::int64_t line = 0;    ///< The line of the call.
  std::size_t ordinal = 0;  ///< The number of the call among those of this line, from 0.
  auto operator<=>(const RuleCall&) const = default;
};

/// Lines by the paths of fields: "name", "params.threshold.at_least", "needs.2.steps".
using FieldLines = std::map<std::string, std::int64_t, std::less<>>;

/// Finds the lines in which fields of the tables are written that a script passes to cupel.rule.
///
/// Sets the lines of all fields. A field that is not written as a key in the call gets the line of
/// the innermost field around it that is; a field without such a one gets the line of the call.
void find_field_lines(std::string_view script, std::map<RuleCall, FieldLines>& calls);

}  // namespace cupel::scripting_detail
