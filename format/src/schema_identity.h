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

/// What the metadata of a schema say the file `key` is. Throws FormatError where they are missing,
/// where a newer major version wrote them, and where worker or attempt differ from `name`.
SegmentIdentity schema_identity(const arrow::Schema& schema, const std::string& key,
                                const SegmentName& name);

/// That checksum; nothing where the metadata of the file `key` do not have it. Throws FormatError
/// for what is no checksum.
std::optional<std::uint32_t> collections_checksum(const arrow::Schema& schema,
                                                  const std::string& key);

}  // namespace cupel::format_detail
