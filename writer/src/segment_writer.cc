#include "segment_writer.h"

#include <array>
#include <numeric>

namespace cupel {
namespace {

constexpr std::array<std::byte, 64> kZeros{};  // Arrow pads to 8 or 64 bytes

}  // namespace

SegmentWriter::Open& SegmentWriter::open(std::int64_t step) {
  if (!open_) {
    const SegmentIdentity identity{policy_.run, policy_.worker, policy_.attempt, next_segment_++};
    open_.emplace(SegmentName{policy_.attempt, step, policy_.worker}, identity, policy_.columns);
  }
  return *open_;
}

void SegmentWriter::append_events(std::span<const std::span<const std::byte>> pieces) {
  store_.append(open_->name.events_key(), open_->events_size, pieces);
  for (const auto& piece : pieces) open_->events_size += piece.size();
}

void SegmentWriter::write_values(std::int64_t step, std::span<Record* const> values,
                                 std::span<const std::byte> data) {
  Open& segment = open(step);
  inside_step_ = true;
  std::vector<EventsValue> described;
  described.reserve(values.size());
  for (const Record* value : values)
    described.push_back({value->tensor->name, value->location->length});
  const EventsWriter::Batch batch = segment.events.begin_batch(step, described);
  std::uint64_t offset = batch.data_offset;
  for (Record* value : values) {
    value->location->offset = offset;
    offset += value->location->length;
  }
  append_events(std::array{std::span(batch.before), data, std::span(kZeros).first(batch.padding)});
}

void SegmentWriter::begin_stream(std::int64_t step, Record& value) {
  const EventsValue described{value.tensor->name, value.location->length};
  Open& segment = open(step);
  inside_step_ = true;
  const EventsWriter::Batch batch = segment.events.begin_batch(step, std::span(&described, 1));
  value.location->offset = batch.data_offset;
  stream_padding_ = batch.padding;
  append_events(std::array{std::span(batch.before)});
}

void SegmentWriter::stream(std::span<const std::byte> piece) { append_events(std::array{piece}); }

void SegmentWriter::end_stream() {
  if (stream_padding_ > 0) append_events(std::array{std::span(kZeros).first(stream_padding_)});
}

void SegmentWriter::commit(const Step& step, std::span<const Record* const> records) {
  Open& segment = open(step.header.step);
  std::vector<IndexRow> rows;
  rows.reserve(records.size());
  for (const Record* record : records) {
    IndexRow row;
    row.tensor = record->tensor->name;
    row.dtype = record->dtype;
    row.elements = record->elements;
    row.shape = record->with_shape ? &record->shape : nullptr;
    row.location = record->location;
    if (record->inline_length) row.inline_value = record->inline_value();
    row.counts = record->counts;
    row.reductions = record->reductions;
    rows.push_back(std::move(row));
  }
  const std::vector<std::byte> batch = segment.index.encode_step(step.header, rows);
  if (policy_.sync == Sync::Step && segment.events_size > 0) store_.sync(segment.name.events_key());
  store_.append(segment.name.index_key(), segment.index_size, std::array{std::span(batch)});
  segment.index_size += batch.size();
  if (policy_.sync == Sync::Step) store_.sync(segment.name.index_key());
  inside_step_ = false;
}

void SegmentWriter::seal() {
  if (!open_ || open_->index_size == 0) return;
  const bool durable = policy_.sync != Sync::Off;
  if (open_->events_size > 0) {
    const std::vector<std::byte> footer = open_->events.finish();
    append_events(std::array{std::span(footer)});
    if (durable) store_.sync(open_->name.events_key());
  }
  if (durable) store_.sync(policy_.collections_key);
  store_.put(open_->name.index_key(), open_->index.seal(),
             durable ? Durability::Durable : Durability::Cached);
  if (durable) store_.sync(open_->name.index_key());  // with the folders it lies in
  open_.reset();
}

bool SegmentWriter::due_for_sealing(Clock::time_point now) const {
  if (!open_ || open_->index_size == 0 || inside_step_) return false;
  return open_->index_size + open_->events_size >= policy_.segment_bytes ||
         now - open_->since >= policy_.segment_age;
}

std::optional<SegmentWriter::Clock::time_point> SegmentWriter::sealing_time() const {
  if (!open_ || open_->index_size == 0 || inside_step_) return std::nullopt;
  return open_->since + policy_.segment_age;
}

}  // namespace cupel
