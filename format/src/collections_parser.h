#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cupel/format/collections_file.h"

namespace cupel::format_detail {

// What a collections file says, and what about itself.
struct ParsedCollections {
  CollectionsFile file;
  std::optional<std::string> version;   // of the format; files of others have none
  std::optional<std::string> checksum;  // not checked yet
};

// Throws FormatError naming `key`. A file of a newer major version is reported as one, whatever
// else is wrong with it.
ParsedCollections parse_collections(std::string_view key, std::string_view text);

}  // namespace cupel::format_detail
