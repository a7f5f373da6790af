#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/parameters.h"

namespace cupel {

/// A rule as the command line names it.
struct RuleSpec {
  std::string file = {};  ///< Of a rule in Lua; empty: a built-in one.
  std::string rule = {};  ///< Empty: the only one in the file.
  RuleParameters parameters = {};
};

/// Reads `NAME[,param=value…]` or `FILE.lua[:NAME][,param=value…]`. Text is split at commas; a
/// piece that does not begin with `identifier=` continues the value before it, so that
/// "tensor_regex=a,b" is one parameter. Throws UsageError.
RuleSpec parse_rule_spec(std::string_view text);

}  // namespace cupel
