#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cupel/format/collections_file.h"

namespace cupel::format_detail {

// The content of a collections file, and its own version and checksum.
struct ParsedCollections {
  CollectionsFile file;
  std::optional<std::string> version;   // of the format; files of others have none
  std::optional<std::string> checksum;  // not checked yet
};

// Parses the text. Throws FormatError naming `key`. A file of a newer major version is reported as
// one, also where the text has other mistakes.
ParsedCollections parse_collections(std::string_view key, std::string_view text);

}  // namespace cupel::format_detail
