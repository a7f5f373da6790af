#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel {

/// Why training is asked to stop: what the object kStopFile of a run holds.
struct StopRequest {
  std::string rule;
  std::int64_t step = 0;
  std::string reason;
};

/// JSON {"rule","step","reason"} and a line break; bytes that are not UTF-8 become U+FFFD.
std::vector<std::byte> encode_stop_file(const StopRequest& request);

}  // namespace cupel
