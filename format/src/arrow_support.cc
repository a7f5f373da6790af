#include "arrow_support.h"

#include <arrow/util/key_value_metadata.h>

#include <string>

#include "cupel/core/error.h"

namespace cupel::format_detail {

void require(const arrow::Status& status) {
  if (!status.ok()) throw Error("Arrow could not encode: " + status.ToString());
}

std::shared_ptr<const arrow::KeyValueMetadata> identity_metadata(const SegmentIdentity& identity) {
  return arrow::key_value_metadata(
      {"cupel.format", "cupel.run", "cupel.worker", "cupel.attempt", "cupel.segment"},
      {identity.format, identity.run, identity.worker, std::to_string(identity.attempt),
       std::to_string(identity.segment)});
}

}  // namespace cupel::format_detail
