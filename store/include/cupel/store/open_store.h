#pragma once

#include <memory>
#include <string_view>

#include "cupel/store/store.h"
#include "cupel/store/store_scheme.h"

namespace cupel {

/// Opens the store that a user's text names: a directory ("runs/mnist", "~/runs"), or a location of
/// one of `schemes` ("s3://bucket/prefix"). Empty `schemes` mean built_in_schemes(). Blanks around
/// the text are trimmed. Throws UsageError for an empty text, for a scheme that is not among
/// `schemes`, and for a text that is no location of its scheme.
std::unique_ptr<Store> open_store(std::string_view location, const StoreSchemes& schemes = {});

/// Returns what a location has before "://": "s3" of "s3://bucket/prefix", nothing of a path.
std::string_view location_scheme(std::string_view location) noexcept;

}  // namespace cupel
