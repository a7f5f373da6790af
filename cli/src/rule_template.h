#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// The text of a file with one rule in Lua, commented, that works as it is: the beginning of a rule
/// of somebody's own. Throws UsageError unless `name` is letters, digits and '_' and begins with a
/// letter; the rule is called so in CamelCase. `file` is where the text will stand; empty: a file
/// that is called after the rule.
std::string rule_template(std::string_view name, std::string_view file = {});

}  // namespace cupel
