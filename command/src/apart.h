#pragma once

#include <string>

#include "cupel/store/store.h"

namespace cupel::command_detail {

/// Throws UsageError where two stores are the same, or one of them is inside the other.
/// `source_name` is the name of the source in the help of the command.
void check_apart(const Store& source, const Store& destination, const std::string& source_name);

}  // namespace cupel::command_detail
