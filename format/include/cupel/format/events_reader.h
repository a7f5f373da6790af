#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cupel/format/index_reader.h"
#include "cupel/format/index_writer.h"

namespace cupel {

/// A value as its events file describes it.
struct EventsEntry {
  std::int64_t step = 0;
  std::string_view tensor;
  std::uint64_t offset = 0;  ///< Of the value's first byte in the file.
  std::uint64_t length = 0;
};

/// Walks the structure of one events file, without reading the values.
///
/// Readers of a run do not need this class, since index rows have the places of values. `verify`
/// compares the file with the index, and recovery seals a killed writer's file. Nothing read is
/// trusted: lengths are checked against the file's size and limits before memory is allocated.
class EventsReader {
 public:
  /// Reads the file's bytes from `offset` on; returns how many there were.
  using Read = std::function<std::size_t(std::uint64_t offset, std::span<std::byte> out)>;

  /// `name` is that of the file's segment: worker and attempt in the file must agree with it.
  /// `size` is how much of the file is looked at.
  EventsReader(SegmentName name, std::uint64_t size, Read read);
  ~EventsReader();
  EventsReader(EventsReader&&) noexcept;
  EventsReader& operator=(EventsReader&&) noexcept;

  /// Calls `on_batch` with the values of each whole batch, whose names live as long as the call.
  /// Throws FormatError with the place for damage: what is no message, padding that is not zero, a
  /// footer that does not list the batches. Torn is also a file whose last message was not written
  /// to its end. Where a message ends at `until` or behind it, the walk ends there, whatever
  /// follows, and the result is Open; a further call then goes on behind that message.
  SegmentEnd walk(const std::function<void(std::span<const EventsEntry>)>& on_batch,
                  std::uint64_t until = std::numeric_limits<std::uint64_t>::max());

  /// The bytes that seal the file behind the messages that were read: end-of-stream, and a footer
  /// that lists the batches at their places in the file, whichever encoder wrote them. The schema
  /// must have been read. Throws FormatError where readers would not take a footer so long.
  std::vector<std::byte> file_end() const;

  /// The place at which the last whole message ends.
  std::uint64_t consumed() const noexcept;
  /// Why the end is Torn; "" otherwise.
  const std::string& torn_reason() const noexcept;
  /// The identity that the file states; nothing before its schema was read.
  const std::optional<SegmentIdentity>& identity() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cupel
