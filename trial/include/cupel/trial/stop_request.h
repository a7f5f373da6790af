#pragma once

#include <string_view>

#include "cupel/format/stop_file.h"

namespace cupel {

/// Asks the training that writes the run at `location` to stop: its Hook::stop_requested() becomes
/// true at one of its next steps. Replaces an earlier request atomically. A training that starts
/// later does not see the request. Throws StoreError when the request cannot be written, and
/// UsageError for a location that cannot be opened.
void request_stop(std::string_view location, const StopRequest& request);

}  // namespace cupel
