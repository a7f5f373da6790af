#pragma once

#include <string>
#include <string_view>

namespace cupel {

/// Returns a note of a hook (Note::text) as JSON that is safe to parse and to print. A note that is
/// JSON stays as it is. Any other text becomes a JSON string, and so does JSON of more than 32
/// levels or 1 MiB.
std::string note_json(std::string_view text);

}  // namespace cupel
