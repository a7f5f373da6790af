#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cupel::scripting_detail {

/// The most fields, indices and methods that may follow each other in one expression.
inline constexpr int kLongestChain = 50;

/// The line of a script where more than that follow each other, as in `a.b[c].d:e`; nothing if
/// there is none. For its messages Lua goes back through such a chain by recursion, as deep as it
/// is long, and looks through the function anew for each of its parts: the chain that a script of
/// 200 KB has room for is more than a thread's stack has.
std::optional<std::int64_t> line_of_long_chain(std::string_view text);

}  // namespace cupel::scripting_detail
