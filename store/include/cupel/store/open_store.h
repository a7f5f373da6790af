#pragma once

#include <memory>
#include <string_view>

#include "cupel/store/store.h"

namespace cupel {

/// Opens the store that a user's text names: a directory ("runs/mnist", "~/runs"). Blanks around it
/// are trimmed. Throws UsageError for an empty text and for a scheme this build cannot open
/// ("s3://…").
std::unique_ptr<Store> open_store(std::string_view location);

}  // namespace cupel
