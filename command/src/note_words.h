#pragma once

#include <string>
#include <string_view>

namespace cupel::command_detail {

/// Returns a note of a hook in words: "saving every 4th due step: 3.1 % of the time, the budget is
/// 1 %".
///
/// A note that no hook of this version writes is returned unchanged. Control characters are
/// escaped, and a long text is cut at 300 bytes, so that any note can be printed in a line.
std::string note_in_words(std::string_view text);

}  // namespace cupel::command_detail
