#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/parameters.h"

namespace cupel {

/// A rule as the command line names it.
struct RuleSpec {
  std::string rule;
  RuleParameters parameters;
};

/// Reads `NAME[,param=value…]`. Text is split at commas; a piece that does not begin with
/// `identifier=` continues the value before it, so that "tensor_regex=a,b" is one parameter. Throws
/// UsageError.
RuleSpec parse_rule_spec(std::string_view text);

}  // namespace cupel
