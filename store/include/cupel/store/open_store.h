#pragma once

#include <memory>
#include <string_view>

#include "cupel/store/store.h"

namespace cupel {

/// Opens the store that a user's text names: a directory ("runs/mnist", "~/runs") or, in a program
/// that is linked with cupel::s3, "s3://bucket/prefix". Blanks around it are trimmed. Throws
/// UsageError for an empty text, for what is no place in a bucket, and for other schemes.
std::unique_ptr<Store> open_store(std::string_view location);

/// What such a text has before "://": "s3" of "s3://bucket/prefix", nothing of a path.
std::string_view location_scheme(std::string_view location) noexcept;

}  // namespace cupel
