#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cupel/core/aligned_buffer.h"
#include "cupel/format/events_reader.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/layout.h"

namespace cupel {

/// What a writer that is gone has left of an index file, and the file that is to take its place.
struct IndexRemains {
  SegmentEnd end = SegmentEnd::Torn;
  std::string torn_reason;                       ///< Why the end is Torn; "" otherwise.
  std::uint64_t whole_bytes = 0;                 ///< The end of the last whole step.
  std::optional<SegmentIdentity> identity = {};  ///< Nothing where no step is whole.
  std::int64_t steps = 0;         ///< Committed ones, without those of the hook itself.
  std::uint64_t values_end = 0;   ///< Where in the events file their last value ends.
  std::vector<std::byte> sealed;  ///< The same rows, sealed. Empty: it is sealed, or has none.
};

/// Reads the index file `key`, of which `file` are all bytes. A torn end is passed over; any other
/// damage is FormatError with its place. What is sealed names the collections file that it needs by
/// its checksum.
IndexRemains read_index_remains(const std::string& key,
                                const std::shared_ptr<const AlignedBuffer>& file,
                                std::optional<std::uint32_t> collections_crc32c = std::nullopt);

/// What such a writer has left of the events file of the same segment.
struct EventsRemains {
  SegmentEnd end = SegmentEnd::Torn;
  std::uint64_t kept_bytes = 0;   ///< The end of the last batch with values that are committed.
  std::vector<std::byte> footer;  ///< What seals the file behind these. Empty: it is sealed.
};

/// Walks an events file whose committed values end at `values_end`, which is not 0. What lies
/// behind the last of their batches does not matter, damaged or not. Throws FormatError for damage
/// before it, and where the values are not there.
EventsRemains read_events_remains(const SegmentName& name, std::uint64_t size,
                                  EventsReader::Read read, std::uint64_t values_end);

/// The same without a look at what lies behind these batches: as if the file ended there, unsealed.
EventsRemains read_committed_events(const SegmentName& name, std::uint64_t size,
                                    EventsReader::Read read, std::uint64_t values_end);

}  // namespace cupel
