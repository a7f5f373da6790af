#pragma once

#include <string_view>

#include "cupel/format/stop_file.h"
#include "cupel/store/store_scheme.h"

namespace cupel {

/// Asks the training that writes the run at `location` to stop: its Hook::stop_requested() becomes
/// true at one of its next steps. Replaces an earlier request atomically. A training that starts
/// later does not see the request. open_store() opens the location. Throws StoreError when the
/// request cannot be written, and UsageError for a location that cannot be opened.
void request_stop(std::string_view location, const StopRequest& request,
                  const StoreSchemes& schemes = {});

}  // namespace cupel
