#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cupel/core/aligned_buffer.h"
#include "cupel/format/layout.h"
#include "cupel/store/store.h"

namespace cupel::trial_detail {

/// A segment to copy, as it was listed.
struct SegmentToCopy {
  SegmentName name;
  bool must_be_sealed = false;
  std::uint64_t index_size = 0;
  std::optional<std::uint64_t> events_size = {};  ///< Nothing if the events file was not listed.
};

/// Copies the values of a segment, and reads its index. One thread at a time.
class SegmentCopy {
 public:
  /// Borrows the stores and `segment`. `copied` is called with the number of bytes after each
  /// write.
  SegmentCopy(const Store& from, Store& to, const SegmentToCopy& segment, std::stop_token stop,
              std::function<void(std::uint64_t)> copied);

  /// Copies the values. Throws FormatError for damage, and for files that are gone, as they are
  /// when another run replaces this one.
  void run();

  /// Throws StoreError if the copied values are gone from the destination: before their index is
  /// there, other programs take them for remains of a killed writer.
  void require_events() const;

  /// Whether the segment has committed steps and all of them are ready to be put.
  bool is_ready() const noexcept { return is_ready_; }
  std::span<const std::byte> index() const noexcept { return index_.span(); }
  const std::vector<std::int64_t>& steps() const noexcept { return steps_; }
  bool has_events() const noexcept { return has_events_; }
  /// The checksum of the collections file that the steps need, if the index names it.
  const std::optional<std::uint32_t>& collections_crc32c() const noexcept { return collections_; }

 private:
  bool read_index();
  bool read_index_as_is(std::uint64_t size);
  bool copy_events();
  bool copy_committed_values(std::uint64_t size);
  void require_size_for_put(std::uint64_t size) const;
  bool stream(std::uint64_t size);

  const Store& from_;
  Store& to_;
  const SegmentToCopy& segment_;
  const std::stop_token stop_;
  const std::function<void(std::uint64_t)> copied_;
  const std::string index_key_, events_key_;

  AlignedBuffer index_;              // the committed part of the index file
  std::uint64_t needed_events_ = 0;  // the bytes of the events file up to the last committed value
  std::vector<std::int64_t> steps_;
  std::optional<std::uint32_t> collections_;
  bool is_sealed_ = false, has_events_ = false, is_ready_ = false;
};

}  // namespace cupel::trial_detail
