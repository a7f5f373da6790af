#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/type_fwd.h>

#include <memory>
#include <utility>

#include "cupel/format/index_writer.h"

namespace cupel::format_detail {

// Helpers for Arrow that the sources of this room share: its errors become ours, and the metadata
// of a schema.

/// Throws Error with Arrow's text unless `status` is OK. For writing; readers throw FormatError
/// with the place.
void require(const arrow::Status& status);

template <class T>
T require(arrow::Result<T> result) {
  require(result.status());
  return std::move(result).ValueUnsafe();
}

/// The metadata that every file of a segment carries in its schema.
std::shared_ptr<const arrow::KeyValueMetadata> identity_metadata(const SegmentIdentity& identity);

}  // namespace cupel::format_detail
