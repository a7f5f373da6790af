#pragma once

#include <string>

#include "file_handle.h"

namespace cupel::rules_detail {

/// Locks an open file for this process, until it is closed. Throws UsageError that names `what`
/// when another runner has it, StoreError.
void lock_for_runner(const FileHandle& file, const std::string& path, const std::string& what);

}  // namespace cupel::rules_detail
