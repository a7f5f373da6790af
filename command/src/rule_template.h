#pragma once

#include <string>
#include <string_view>

namespace cupel::command_detail {

/// Returns the text of a file with one rule in Lua, which is commented and works as it is: a
/// beginning for a rule of the user's own. The comments name the commands of `program`. `name` is
/// letters, digits and '_' and begins with a letter, else rule_template() throws UsageError; the
/// rule's name is `name` in CamelCase. `file` is the file that the text is for; where it is empty,
/// the comments name a file after the rule.
std::string rule_template(std::string_view program, std::string_view name,
                          std::string_view file = {});

}  // namespace cupel::command_detail
