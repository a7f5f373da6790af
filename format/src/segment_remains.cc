// Computes what seals the files of a writer that was killed. The index file is encoded anew from
// the rows that were read. The events file keeps its bytes, up to the batch with the last committed
// value, and gets a footer that lists these batches where they are: EventsReader found them by
// walking the file, so any encoder may have written them. Everything that is read is checked, and
// damage in the kept part is FormatError, as are more batches than a footer may list. The functions
// have no state; the caller's thread runs them.

#include "cupel/format/segment_remains.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <utility>

#include "chained_file.h"
#include "cupel/core/error.h"

namespace cupel {

using namespace format_detail;

namespace {

void count_steps(const IndexBatch& batch, IndexRemains& remains, std::int64_t& last_counted) {
  for (std::size_t row = 0; row < batch.rows; ++row) {
    if (batch.offset.has(row))
      remains.values_end =
          std::max(remains.values_end, static_cast<std::uint64_t>(batch.offset[row]) +
                                           static_cast<std::uint64_t>(batch.length[row]));
    if (batch.step[row] == last_counted || is_reserved_tensor(batch.tensor(row))) continue;
    last_counted = batch.step[row];
    ++remains.steps;
  }
}

}  // namespace

IndexRemains read_index_remains(const std::string& key,
                                const std::shared_ptr<const AlignedBuffer>& file,
                                std::optional<std::uint32_t> collections_crc32c) {
  IndexRemains remains;
  IndexReader reader(key);
  arrow::RecordBatchVector batches;
  std::int64_t last_counted = -1;
  remains.end = reader.read(file, [&](const IndexBatch& batch) {
    count_steps(batch, remains, last_counted);
    batches.push_back(std::const_pointer_cast<arrow::RecordBatch>(
        std::static_pointer_cast<const arrow::RecordBatch>(batch.memory)));
  });
  remains.torn_reason = reader.torn_reason();
  remains.whole_bytes = batches.empty() ? 0 : reader.consumed();
  remains.identity = reader.identity();
  if (remains.end != SegmentEnd::Sealed && !batches.empty())
    remains.sealed = sealed_index(batches.front()->schema(), batches, collections_crc32c);
  return remains;
}

namespace {

/// Walks to the end of the batch with the last committed value, and makes the footer for there.
EventsRemains committed_remains(const SegmentName& name, EventsReader& reader,
                                std::uint64_t values_end) {
  reader.walk([](const auto&) {}, values_end);
  if (reader.consumed() < values_end)
    throw FormatError(name.events_key(), reader.consumed(),
                      "the file lacks values that the index has in it" +
                          (reader.torn_reason().empty() ? "" : ": " + reader.torn_reason()));
  EventsRemains remains;
  remains.end = SegmentEnd::Open;
  remains.kept_bytes = reader.consumed();
  remains.footer = reader.file_end();
  return remains;
}

}  // namespace

EventsRemains read_events_remains(const SegmentName& name, std::uint64_t size,
                                  EventsReader::Read read, std::uint64_t values_end) {
  EventsReader reader(name, size, std::move(read));
  EventsRemains remains = committed_remains(name, reader, values_end);
  try {
    remains.end = reader.walk([](const auto&) {});
  } catch (const FormatError&) {  // Damage behind the committed values does not matter.
    remains.end = SegmentEnd::Torn;
  }
  if (remains.end == SegmentEnd::Sealed) {
    remains.kept_bytes = size;
    remains.footer.clear();
  }
  return remains;
}

EventsRemains read_committed_events(const SegmentName& name, std::uint64_t size,
                                    EventsReader::Read read, std::uint64_t values_end) {
  EventsReader reader(name, size, std::move(read));
  return committed_remains(name, reader, values_end);
}

}  // namespace cupel
