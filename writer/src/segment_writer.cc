// The files of the open segment, and when they are sealed.
//
// Each write is in the order values, index entry, seal, so that a kill at any instant leaves
// committed steps whole. A segment is sealed by size (segment_bytes, and half of what readers
// take), by age (segment_age), early where a spool is short of room, and at close(); all of it is
// decided in due_for_sealing(), which the background writer asks after each flush and when
// sealing_time() has come. Where the run is delivered to a remote store, each event is reported to
// SegmentEvents, which also makes writes wait for room. Runs in the thread of the background writer
// only. An error of the store ends saving, but StoreFull of a spool: see give_up_gathered().

#include "segment_writer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/delivery/seal_segments.h"
#include "cupel/format/format_limits.h"
#include "value_bytes.h"

namespace cupel::writer_detail {
namespace {

// For padding (Arrow pads to 8 or 64 bytes), and for values that did not come.
constexpr std::array<std::byte, 64U << 10U> kZeros{};

// The shortest time between two tries to seal a cut-off segment: each try reads it.
constexpr std::chrono::milliseconds kLeastPause{100};

}  // namespace

SegmentWriter::Open& SegmentWriter::open(std::int64_t step) {
  if (!open_) {
    finish_cut_off();
    const SegmentIdentity identity{policy_.run, policy_.worker, policy_.attempt, next_segment_};
    open_.emplace(SegmentName{policy_.attempt, step, policy_.worker}, identity, policy_.columns);
    ++next_segment_;
    open_->number = ++files_begun_;
    if (policy_.events != nullptr) policy_.events->opened(open_->name);
  }
  return *open_;
}

template <class Write>
void SegmentWriter::write_with_room(std::uint64_t bytes, Write&& write) {
  if (policy_.events == nullptr) return write();
  const SegmentEvents::Room room = policy_.events->room_for(bytes, std::ref(write));
  is_short_of_room_ = room == SegmentEvents::Room::Short;
}

void SegmentWriter::flush_events() {
  if (gathered_events_.empty()) return;
  std::uint64_t bytes = 0;
  for (const auto& piece : gathered_events_) bytes += piece.size();
  write_with_room(bytes, [&] {
    store_.append(open_->name.events_key(), open_->events_size, gathered_events_);
  });
  open_->events_size += bytes;
  gathered_events_.clear();
  gathered_headers_.clear();
}

void SegmentWriter::flush() {
  gathered_bytes_ = 0;
  if (!open_) return;
  Open& segment = *open_;
  flush_events();
  if (segment.gathered_steps == 0) return;
  if (policy_.sync == Sync::Step && segment.events_size > 0) store_.sync(segment.name.events_key());
  write_with_room(segment.gathered_index.size(), [&] {
    store_.append(segment.name.index_key(), segment.index_size,
                  std::array{std::span<const std::byte>(segment.gathered_index)});
  });
  segment.index_size += segment.gathered_index.size();
  segment.steps += segment.gathered_steps;
  segment.index.mark();
  segment.gathered_index.clear();
  segment.gathered_steps = 0;
  segment.ahead = false;
  last_step_ = newest_step_;
  if (policy_.sync == Sync::Step) store_.sync(segment.name.index_key());
}

void SegmentWriter::gather_events(std::vector<std::byte> bytes) {
  gathered_headers_.push_back(std::move(bytes));
  gathered_events_.emplace_back(gathered_headers_.back());
}

void SegmentWriter::write_values(std::int64_t step, std::span<Record* const> values,
                                 std::span<const std::byte> data) {
  const std::uint64_t most = format_limits().events_columns;
  std::uint64_t columns = 0, bytes = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t more = events_column_bytes(values[i]->tensor->name);
    if (i > begin && columns + more > most) {
      write_batch(step, values.subspan(begin, i - begin), data.first(bytes));
      data = data.subspan(bytes);
      begin = i;
      columns = bytes = 0;
    }
    columns += more;
    bytes += values[i]->location->length;
  }
  write_batch(step, values.subspan(begin), data);
}

void SegmentWriter::write_batch(std::int64_t step, std::span<Record* const> values,
                                std::span<const std::byte> data) {
  Open& segment = open(step);
  ++segment.events_batches;
  inside_step_ = true;
  std::vector<EventsValue> described;
  described.reserve(values.size());
  for (const Record* value : values)
    described.push_back({value->tensor->name, value->location->length});
  EventsWriter::Batch batch = segment.events.begin_batch(step, described);
  std::uint64_t offset = batch.data_offset;
  for (Record* value : values) {
    value->location->offset = offset;
    offset += value->location->length;
  }
  gather_events(std::move(batch.before));
  gathered_events_.push_back(data);
  gathered_events_.push_back(std::span(kZeros).first(batch.padding));
  gathered_bytes_ += data.size();
}

void SegmentWriter::begin_stream(std::int64_t step, Record& value) {
  const EventsValue described{value.tensor->name, value.location->length};
  Open& segment = open(step);
  ++segment.events_batches;
  inside_step_ = true;
  EventsWriter::Batch batch = segment.events.begin_batch(step, std::span(&described, 1));
  value.location->offset = batch.data_offset;
  stream_padding_ = batch.padding;
  gather_events(std::move(batch.before));
}

void SegmentWriter::stream(std::span<const std::byte> piece) {
  gathered_events_.push_back(piece);
  flush_events();
}

void SegmentWriter::end_stream(std::uint64_t missing) {
  for (std::uint64_t left = missing; left > 0;) {
    const std::size_t piece = std::min<std::uint64_t>(left, kZeros.size());
    stream(std::span(kZeros).first(piece));
    left -= piece;
  }
  if (stream_padding_ > 0) stream(std::span(kZeros).first(stream_padding_));
}

// Each file names all tags of its tensors, so that a reader needs no other file to understand it.
std::span<const std::string> SegmentWriter::unnamed_tags(const NamedTensor& tensor) const {
  const auto* const tags = tensor.tags.load(std::memory_order_acquire);
  if (tags == nullptr) return {};
  const bool is_in_file = open_ && tensor.named_in_file == open_->number;
  return std::span(*tags).subspan(is_in_file ? tensor.named_tags : 0);
}

std::optional<std::uint64_t> SegmentWriter::commit(const StepHeader& step,
                                                   std::span<const Record* const> records) {
  std::vector<IndexRow> rows;
  rows.reserve(records.size());
  for (const Record* record : records) {
    IndexRow& row = rows.emplace_back();
    row.tensor = record->tensor->name;
    row.dtype = record->dtype;
    row.elements = record->elements;
    row.shape = record->with_shape ? &record->shape : nullptr;
    row.location = record->location;
    if (record->inline_length) row.inline_value = record->value();
    row.counts = record->counts;
    row.reductions = record->reductions;
    row.collections = unnamed_tags(*record->tensor);
  }
  const std::uint64_t bytes = IndexWriter::most_bytes(policy_.columns, rows);
  if (bytes > format_limits().index_message) return bytes;
  gather_index(step, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].collections.empty()) continue;
    const NamedTensor& tensor = *records[i]->tensor;
    const bool is_in_file = std::exchange(tensor.named_in_file, open_->number) == open_->number;
    tensor.named_tags = (is_in_file ? tensor.named_tags : 0) + rows[i].collections.size();
  }
  return std::nullopt;
}

void SegmentWriter::abandon_step() {
  inside_step_ = false;
  if (!open_ || open_->steps + open_->gathered_steps > 0) return;
  forget_gathered();
  const std::string events_key = open_->name.events_key();
  const bool has_events = open_->events_size > 0;
  open_.reset();
  --next_segment_;
  if (has_events) store_.remove(events_key);
}

void SegmentWriter::give_up_gathered() {
  forget_gathered();
  inside_step_ = false;
  newest_step_ = last_step_;
  if (!open_) return;
  const SegmentName name = open_->name;
  const bool is_empty = open_->steps == 0;
  open_.reset();
  if (!is_empty) {
    cut_off_ = {name, Clock::now() + std::max(policy_.segment_age, kLeastPause)};
    return;
  }
  --next_segment_;  // first: the next segment has this number even if a removal fails
  store_.remove(name.index_key());
  store_.remove(name.events_key());
}

void SegmentWriter::finish_cut_off() {
  if (!cut_off_) return;
  // For the case that there is still no room.
  cut_off_->try_at = Clock::now() + std::max(policy_.segment_age, kLeastPause);
  SealReport report;
  seal_segment(*policy_.spool, cut_off_->name, report);
  policy_.events->sealed(cut_off_->name, report);
  cut_off_.reset();
}

void SegmentWriter::forget_gathered() {
  gathered_events_.clear();
  gathered_headers_.clear();
  gathered_bytes_ = 0;
}

// Sets the state in memory back to that of the index file.
void SegmentWriter::go_on_after_error() {
  forget_gathered();
  if (!open_) return;
  const auto index = store_.stat(open_->name.index_key());
  const std::uint64_t size = index ? index->size : 0;
  const bool may_be_sealed = size == open_->sealed_size;
  if ((size == open_->index_size) == may_be_sealed)
    throw StoreError(open_->name.index_key(), false, "something lies behind the last step",
                     store_.location());
  if (may_be_sealed) {
    open_.reset();
  } else if (open_->steps == 0) {
    // A segment is named after its first step, which is another one now. None of its values was
    // committed.
    if (index) store_.remove(open_->name.index_key());
    store_.remove(open_->name.events_key());
    open_.reset();
    --next_segment_;
  } else if (open_->ahead) {
    open_->index.take_back();
    open_->gathered_index.clear();
    open_->gathered_steps = 0;
  }
}

void SegmentWriter::append_note(const StepHeader& step, std::string_view tensor,
                                const std::string& text) {
  go_on_after_error();
  const TensorView view(&text, {1});
  std::array<std::byte, kMaxInlineBytes> value{};
  const std::size_t length = std::min<std::uint64_t>(value_length(view), value.size());
  write_value(view, value.data());
  const Shape shape({1});
  IndexRow row;
  row.tensor = tensor;
  row.dtype = DType::Utf8;
  row.elements = 1;
  row.shape = &shape;
  row.inline_value = std::span(value).first(length);
  // The last step may be in the file although the append reported an error.
  StepHeader header = step;
  header.step = header.mode_step = std::max(step.step, last_step_ + 1);
  gather_index(header, std::span(&row, 1));
  flush();
}

void SegmentWriter::gather_index(const StepHeader& step, std::span<const IndexRow> rows) {
  Open& segment = open(step.step);
  segment.ahead = true;
  const std::vector<std::byte> batch = segment.index.encode_step(step, rows);
  segment.gathered_index.insert(segment.gathered_index.end(), batch.begin(), batch.end());
  ++segment.gathered_steps;
  gathered_bytes_ += batch.size();
  newest_step_ = step.step;
  inside_step_ = false;
}

void SegmentWriter::seal() {
  finish_cut_off();
  if (!open_ || open_->index_size == 0) return;
  const bool durable = policy_.sync != Sync::Off;
  if (open_->events_size > 0) {
    gather_events(open_->events.finish());
    flush_events();
    if (durable) store_.sync(open_->name.events_key());
  }
  const std::vector<std::byte> sealed = open_->index.seal(policy_.collections_crc32c);
  open_->sealed_size = sealed.size();
  write_with_room(sealed.size(), [&] {
    store_.put(open_->name.index_key(), sealed, durable ? Durability::Durable : Durability::Cached);
  });
  if (policy_.events != nullptr) policy_.events->sealed(open_->name, SealReport{.sealed = 1});
  open_.reset();
}

bool SegmentWriter::is_between_steps() const noexcept {
  return open_ && open_->steps + open_->gathered_steps > 0 && !inside_step_;
}

bool SegmentWriter::due_for_sealing(Clock::time_point now) const {
  if (cut_off_) return now >= cut_off_->try_at;
  if (!is_between_steps()) return false;
  const FormatLimits& limits = format_limits();
  return open_->index_size + open_->events_size + gathered_bytes_ >= policy_.segment_bytes ||
         open_->index_size + open_->gathered_index.size() >= limits.index_file / 2 ||
         open_->events_batches >= limits.events_footer / 2 / kEventsFooterBytes ||
         now - open_->since >= policy_.segment_age || is_short_of_room_;
}

std::optional<SegmentWriter::Clock::time_point> SegmentWriter::sealing_time() const {
  if (cut_off_) return cut_off_->try_at;
  if (!is_between_steps()) return std::nullopt;
  return open_->since + policy_.segment_age;
}

}  // namespace cupel::writer_detail
