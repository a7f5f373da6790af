#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cupel/core/aligned_buffer.h"
#include "cupel/format/index_reader.h"
#include "cupel/format/index_writer.h"

namespace cupel {

/// A part of an index file that is damaged, or whose checksum cannot be checked.
struct IndexGap {
  std::uint64_t offset = 0;  ///< Place in the file at which it begins.
  std::optional<std::uint64_t> rows =
      {};  ///< By the messages' headers; nothing where these are damaged.
  std::optional<std::int64_t> after_step = {};   ///< The last whole step before it, if any.
  std::optional<std::int64_t> before_step = {};  ///< The first whole step behind it, likewise.
  std::string problem = {};
};

/// The whole batches of an index file that may be damaged anywhere.
///
/// Each batch is checked with the checksum of the batch before it, which is in that batch's
/// metadata. So the batches behind a damaged one can be checked, and a batch is whole also where
/// only its own checksum is damaged: the checksum of the batch behind it, or of the footer, proves
/// it. Beginnings of messages are searched for where lengths are damaged. Where magic, schema or
/// dictionaries are damaged, they are encoded again from the schema in the footer, if that is
/// whole.
struct SalvagedIndex {
  std::vector<IndexBatch> batches;  ///< In the order of the file; steps grow.
  std::vector<IndexGap> gaps;       ///< Likewise; without the end of a file that is Torn.
  SegmentEnd end = SegmentEnd::Torn;
  std::string torn_reason;                  ///< Why the end is Torn; "" otherwise.
  std::uint64_t whole_bytes = 0;            ///< The place at which the torn end begins.
  std::optional<SegmentIdentity> identity;  ///< Nothing where no batch is whole.
};

/// Reads the index file `key`, of which `file` are all bytes. No bytes make the function fail.
SalvagedIndex salvage_index(const std::string& key,
                            const std::shared_ptr<const AlignedBuffer>& file);

/// The first rows of a batch, which go into another file, and the places of their values there.
struct SalvagedRows {
  const IndexBatch* batch = nullptr;
  std::vector<std::optional<ValueLocation>> values;  ///< One for each row that goes there.
};

/// Encodes the sealed index file of such rows, which are of one file and not empty, as the
/// attempt's segment of this number. Columns that this version does not know are kept.
std::vector<std::byte> seal_salvaged(std::span<const SalvagedRows> parts, std::int64_t segment,
                                     std::optional<std::uint32_t> collections_crc32c);

}  // namespace cupel
