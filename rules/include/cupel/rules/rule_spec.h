#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cupel/rules/rule_parameter.h"

namespace cupel {

/// A rule as a user asks for it in one text.
struct RuleSpec {
  std::string file = {};           ///< The file of the rule. Empty: a rule of the catalog.
  std::string rule = {};           ///< The name of the rule. Empty: the only rule of the file.
  RuleParameters parameters = {};  ///< The text of its parameters.
};

/// Reads `NAME[,param=value…]` or `FILE[:NAME][,param=value…]`, where the name of FILE has one of
/// the endings (".lua"). Text is split at commas; a piece that does not begin with `identifier=`
/// continues the value before it, so that "tensor_regex=a,b" is one parameter. Throws UsageError.
RuleSpec parse_rule_spec(std::string_view text, std::span<const std::string> endings);
/// Does the same with the ending ".lua".
RuleSpec parse_rule_spec(std::string_view text);

}  // namespace cupel
