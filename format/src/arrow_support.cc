#include "arrow_support.h"

#include <arrow/util/key_value_metadata.h>

#include <string>
#include <utility>

#include "cupel/core/error.h"

namespace cupel {

void require(const arrow::Status& status) {
  if (!status.ok()) throw Error("Arrow could not encode: " + status.ToString());
}

std::shared_ptr<const arrow::KeyValueMetadata> identity_metadata(const SegmentIdentity& identity) {
  return arrow::key_value_metadata(
      {"cupel.format", "cupel.run", "cupel.worker", "cupel.attempt", "cupel.segment"},
      {identity.format, identity.run, identity.worker, std::to_string(identity.attempt),
       std::to_string(identity.segment)});
}

arrow::Status DrainSink::Write(const void* data, std::int64_t size) {
  if (size > 0 && data == elsewhere_) {
    elsewhere_position_ = position_;
    collected_before_elsewhere_ = collected_.size();
  } else {
    const auto* bytes = static_cast<const std::byte*>(data);
    collected_.insert(collected_.end(), bytes, bytes + size);
  }
  position_ += size;
  return arrow::Status::OK();
}

arrow::Status DrainSink::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

std::vector<std::byte> DrainSink::drain() { return std::exchange(collected_, {}); }

}  // namespace cupel
