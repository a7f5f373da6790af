#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cupel {

/// The reason why training is to stop: the content of the object kStopFile of a run.
struct StopRequest {
  std::string rule;
  std::int64_t step = 0;
  std::string reason;
};

/// Encodes JSON {"rule","step","reason"} and a line end; bytes that are no UTF-8 become U+FFFD.
std::vector<std::byte> encode_stop_file(const StopRequest& request);

}  // namespace cupel
