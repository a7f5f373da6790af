#pragma once

#include <string>

#include "cupel/store/store.h"

namespace cupel {

/// Throws UsageError where one of two stores is the other or inside it; `source_name` is what the
/// command calls the source.
void check_apart(const Store& source, const Store& destination, const std::string& source_name);

}  // namespace cupel
