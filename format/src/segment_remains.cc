// Sealing what was left open. The rows of the sealed index file are those that were read. The
// footer of an events file cannot be made of the file, which Arrow would have to read with all
// values; so the file's batches are described to a writer once more, which makes the same headers
// and then the footer.

#include "cupel/format/segment_remains.h"

#include <arrow/record_batch.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "chained_file.h"
#include "cupel/core/error.h"
#include "cupel/format/events_writer.h"

namespace cupel {
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

/// Describes batches to a writer as they were described when the file was written.
class EventsReplay {
 public:
  EventsReplay(std::string key, EventsReader::Read read)
      : key_(std::move(key)), read_(std::move(read)) {}

  void add(const SegmentIdentity& identity, std::span<const EventsEntry> batch) {
    if (!writer_) writer_.emplace(identity);
    std::vector<EventsValue> values;
    values.reserve(batch.size());
    for (const EventsEntry& entry : batch) values.push_back({entry.tensor, entry.length});
    const EventsWriter::Batch described = writer_->begin_batch(batch.front().step, values);
    std::vector<std::byte> there(described.before.size());
    there.resize(read_(end_, there));
    if (there != described.before)
      throw FormatError(key_, end_, "a batch is not as this version of cupel would write it");
    end_ = writer_->size();
  }

  std::uint64_t end() const noexcept { return end_; }
  std::vector<std::byte> footer() { return writer_ ? writer_->finish() : std::vector<std::byte>{}; }

 private:
  std::string key_;
  EventsReader::Read read_;
  std::optional<EventsWriter> writer_;
  std::uint64_t end_ = 0;
};

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

EventsRemains walk_events(const SegmentName& name, std::uint64_t size, EventsReader::Read read,
                          std::uint64_t values_end, std::uint64_t until) {
  EventsReplay replay(name.events_key(), read);
  EventsReader reader(name, size, std::move(read));
  EventsRemains remains;
  try {
    remains.end = reader.walk(
        [&](std::span<const EventsEntry> batch) {
          if (replay.end() < values_end) replay.add(*reader.identity(), batch);
        },
        until);
  } catch (const FormatError& error) {
    if (replay.end() < values_end || error.offset < replay.end()) throw;
  }
  if (replay.end() < values_end)
    throw FormatError(name.events_key(), reader.consumed(),
                      "the file lacks values that the index has in it" +
                          (reader.torn_reason().empty() ? "" : ": " + reader.torn_reason()));
  if (remains.end == SegmentEnd::Sealed) {
    remains.kept_bytes = size;
  } else {
    remains.kept_bytes = replay.end();
    remains.footer = replay.footer();
  }
  return remains;
}

}  // namespace

EventsRemains read_events_remains(const SegmentName& name, std::uint64_t size,
                                  EventsReader::Read read, std::uint64_t values_end) {
  return walk_events(name, size, std::move(read), values_end,
                     std::numeric_limits<std::uint64_t>::max());
}

EventsRemains read_committed_events(const SegmentName& name, std::uint64_t size,
                                    EventsReader::Read read, std::uint64_t values_end) {
  return walk_events(name, size, std::move(read), values_end, values_end);
}

}  // namespace cupel
