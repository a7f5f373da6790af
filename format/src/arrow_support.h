#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/type_fwd.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cupel/format/index_writer.h"

namespace cupel {

// What the sources of this room share of Arrow: where its errors become ours, the schema's
// metadata, and a sink that hands out what Arrow has written so far.

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

/// Collects what an Arrow writer writes; drain() takes it away while positions go on counting.
class DrainSink final : public arrow::io::OutputStream {
 public:
  /// Bytes written from this address are not collected but only counted: they are written by
  /// somebody else.
  explicit DrainSink(const void* elsewhere = nullptr) : elsewhere_(elsewhere) {}

  arrow::Status Write(const void* data, std::int64_t size) override;
  using arrow::io::OutputStream::Write;
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

  /// What was written since the last call, without the bytes from elsewhere.
  std::vector<std::byte> drain();
  std::int64_t position() const noexcept { return position_; }
  /// Where the last bytes from elsewhere began, and how much had been collected before them.
  std::int64_t elsewhere_position() const noexcept { return elsewhere_position_; }
  std::size_t collected_before_elsewhere() const noexcept { return collected_before_elsewhere_; }

 private:
  const void* elsewhere_;
  std::vector<std::byte> collected_;
  std::int64_t position_ = 0;
  std::int64_t elsewhere_position_ = 0;
  std::size_t collected_before_elsewhere_ = 0;
  bool closed_ = false;
};

}  // namespace cupel
