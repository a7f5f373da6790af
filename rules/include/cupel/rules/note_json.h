#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// A note of a hook (Note::text), which anybody may have written, as JSON that is safe to parse and
/// to print: itself where it is JSON, else the text as a JSON string, as it also is where it is
/// nested deeper than 32 levels or longer than 1 MiB.
std::string note_json(std::string_view text);

}  // namespace cupel
