#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/type_fwd.h>

#include <memory>
#include <utility>

#include "cupel/format/index_writer.h"

namespace cupel::format_detail {

// What the sources of this room share of Arrow: where its errors become ours, and the schema's
// metadata.

/// Throws Error with Arrow's text unless `status` is fine. For writing; readers say FormatError
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
