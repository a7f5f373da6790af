#pragma once

#include <string>
#include <string_view>

namespace cupel::scripting_detail {

/// A text as messages show it: not too much of it, in quotes.
std::string shown(std::string_view text);

/// Where a pattern has a class of Lua's, "%d", how PCRE2 spells it, as a message; else nothing.
std::string pattern_problem(std::string_view pattern);

}  // namespace cupel::scripting_detail
