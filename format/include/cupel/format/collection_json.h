#pragma once

#include <string>
#include <string_view>

#include "cupel/core/collection.h"
#include "cupel/core/reduction.h"
#include "cupel/core/save_config.h"

namespace cupel {

/// A collection and its configurations as JSON, in the schema of collections files.

/// The four values; an end that is not set is null.
std::string to_json(const SaveConfigMode& mode);
/// The four modes by name, every mode given.
std::string to_json(const SaveConfig& config);
/// The reductions as a comma list, and the two flags.
std::string to_json(const ReductionConfig& config);
/// A configuration that the collection does not have is null.
std::string to_json(const Collection& collection);

/// Each reads what to_json writes; a key that is missing has its default. Throws UsageError for
/// other text: "save_config is no JSON", or the key and the value that is wrong.
SaveConfigMode save_config_mode_from_json(std::string_view json);
SaveConfig save_config_from_json(std::string_view json);
ReductionConfig reduction_config_from_json(std::string_view json);
Collection collection_from_json(std::string_view json);

}  // namespace cupel
