#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cupel/format/index_writer.h"
#include "cupel/format/layout.h"

namespace cupel::format_detail {

/// Of a sealed index file: the CRC-32C of the collections file that its steps need, in decimal.
inline constexpr const char* kCollectionsChecksumKey = "cupel.collections";

/// Returns the identity that the schema of the file `key` has in its metadata. Throws FormatError
/// where it is missing, where a newer major version wrote it, and where worker or attempt differ
/// from `name`.
SegmentIdentity schema_identity(const arrow::Schema& schema, const std::string& key,
                                const SegmentName& name);

/// Returns that checksum; nothing where the metadata of the file `key` do not have it. Throws
/// FormatError for a text that is no checksum.
std::optional<std::uint32_t> collections_checksum(const arrow::Schema& schema,
                                                  const std::string& key);

}  // namespace cupel::format_detail
