#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// A note of a hook in words: "saving every 4th due step: 3.1 % of the time, the budget is 1 %".
///
/// What no hook of this version writes is given as it is. Control characters are escaped, and what
/// is long is cut at 300 bytes, so that any text can be printed in a line.
std::string note_in_words(std::string_view text);

}  // namespace cupel
