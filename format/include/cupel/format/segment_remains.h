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

/// The index file of a writer that is gone, and the file that is to replace it.
struct IndexRemains {
  SegmentEnd end = SegmentEnd::Torn;
  std::string torn_reason;                       ///< Why the end is Torn; "" otherwise.
  std::uint64_t whole_bytes = 0;                 ///< The end of the last whole step.
  std::optional<SegmentIdentity> identity = {};  ///< Nothing where no step is whole.
  std::int64_t steps = 0;         ///< Committed ones, without those of the hook itself.
  std::uint64_t values_end = 0;   ///< Place in the events file where their last value ends.
  std::vector<std::byte> sealed;  ///< The same rows, sealed; empty if it is sealed or has none.
};

/// Reads the index file `key`, of which `file` are all bytes. A torn end is ignored; any other
/// damage is FormatError with its place. The sealed file has the checksum of the collections file
/// that its steps need.
IndexRemains read_index_remains(const std::string& key,
                                const std::shared_ptr<const AlignedBuffer>& file,
                                std::optional<std::uint32_t> collections_crc32c = std::nullopt);

/// The events file of the same segment and writer.
struct EventsRemains {
  SegmentEnd end = SegmentEnd::Torn;
  std::uint64_t kept_bytes = 0;   ///< The end of the last batch with values that are committed.
  std::vector<std::byte> footer;  ///< Seals the file behind these bytes; empty if it is sealed.
};

/// Walks an events file whose committed values end at `values_end`, which is not 0. Bytes behind
/// the last of their batches have no effect, damaged or not. Throws FormatError for damage before
/// them, and where values are missing. Any Arrow encoder may have written the file.
EventsRemains read_events_remains(const SegmentName& name, std::uint64_t size,
                                  EventsReader::Read read, std::uint64_t values_end);

/// Does the same without reading behind these batches, as if the file ended there, unsealed.
EventsRemains read_committed_events(const SegmentName& name, std::uint64_t size,
                                    EventsReader::Read read, std::uint64_t values_end);

}  // namespace cupel
