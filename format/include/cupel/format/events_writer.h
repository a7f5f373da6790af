#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cupel/format/index_writer.h"

namespace cupel {

/// A value that goes into an events file.
struct EventsValue {
  std::string_view tensor;
  std::uint64_t length = 0;
};

/// The most bytes that a value adds to the other columns of its batch (format_limits.h).
constexpr std::uint64_t events_column_bytes(std::string_view tensor) noexcept {
  return tensor.size() + 32;
}

/// Bytes of a footer for each batch that it lists.
inline constexpr std::uint64_t kEventsFooterBytes = 24;

/// Encodes the events file of one segment, without the bytes of the values, which are not copied.
///
/// A batch is the values of one chunk, one after another. For a batch the caller writes `before`,
/// then the values' bytes, then `padding` zero bytes. One thread at a time.
class EventsWriter {
 public:
  explicit EventsWriter(const SegmentIdentity& identity);
  ~EventsWriter();
  EventsWriter(EventsWriter&&) noexcept;
  EventsWriter& operator=(EventsWriter&&) noexcept;

  struct Batch {
    std::vector<std::byte> before;  ///< The first batch's begin with magic and schema.
    std::uint64_t data_offset = 0;  ///< Place in the file at which the first value begins.
    std::size_t padding = 0;
  };
  Batch begin_batch(std::int64_t step, std::span<const EventsValue> values);

  /// Returns the file's last bytes: end-of-stream, and a footer that lists the batches. There must
  /// be a batch, and no other may follow.
  std::vector<std::byte> finish();

  /// Bytes of the file so far, values and padding included.
  std::uint64_t size() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
