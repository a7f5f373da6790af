// Walks an events file message by message. Arrow verifies the metadata of each message and decodes
// the schema; it cannot describe a batch without its body, which holds the values. So the places of
// a batch's buffers are read from its metadata here; all bytes that belong to no buffer are padding
// and must be zero. Every length is checked against the file's size, and every read is bounded.
// Damage is a FormatError with its place; a last message that was not written to its end makes the
// file Torn. The lengths of the messages are kept for the footer. One thread uses a reader.

#include "cupel/format/events_reader.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/format/format_limits.h"
#include "flat_table.h"
#include "ipc_file.h"
#include "ipc_message.h"
#include "schema_identity.h"

namespace cupel {

using namespace format_detail;

namespace {

// A batch's metadata do not depend on how much it holds.
constexpr std::uint64_t kMaxMetadata = std::uint64_t{1} << 20U;

constexpr std::size_t kFront = 4096;  // holds the metadata of nearly every message
constexpr std::uint64_t kMostPadding = 63;
constexpr std::size_t kEndOfStream = 8;
constexpr std::size_t kLengthAndMagic = 4 + kArrowMagic.size();

// Field numbers of Arrow's Message.fbs and File.fbs.
constexpr std::size_t kMessageHeader = 2;
namespace record_batch {
constexpr std::size_t kLength = 0;
constexpr std::size_t kNodes = 1;
constexpr std::size_t kBuffers = 2;
}  // namespace record_batch
constexpr std::size_t kFooterBatches = 3;

struct Node {
  std::int64_t length, nulls;
};
struct Place {
  std::int64_t offset, length;
};
struct Block {
  std::int64_t offset;
  std::int32_t metadata_length;
  std::int32_t padding;
  std::int64_t body_length;
};

// The buffers of the columns, which come first and in this order.
enum BufferOf : std::size_t {
  kStepValidity,
  kSteps,
  kTensorValidity,
  kTensorOffsets,
  kTensorBytes,
  kDataValidity,
  kDataOffsets,
  kData,
  kBuffersOfColumns
};
constexpr std::size_t kColumns = 3;

template <class T>
std::vector<T> copied(std::span<const std::byte> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

bool are_zeros(std::span<const std::byte> bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

std::shared_ptr<arrow::Buffer> borrowed(std::span<const std::byte> bytes) {
  return std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                         static_cast<std::int64_t>(bytes.size()));
}

}  // namespace

struct EventsReader::State {
  using OnBatch = std::function<void(std::span<const EventsEntry>)>;

  State(SegmentName segment, std::uint64_t file_size, Read read_bytes)
      : name(std::move(segment)),
        key(name.events_key()),
        size(file_size),
        read(std::move(read_bytes)) {}

  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const {
    throw FormatError(key, offset, what);
  }
  template <class T>
  T check(arrow::Result<T> result, std::uint64_t offset) const {
    if (!result.ok()) fail(offset, result.status().ToString());
    return std::move(result).ValueUnsafe();
  }
  SegmentEnd torn(const char* reason) {
    torn_reason = reason;
    return SegmentEnd::Torn;
  }

  AlignedBuffer fetch(std::uint64_t offset, std::uint64_t length) const;
  void check_padding(std::uint64_t offset, std::uint64_t length) const;
  bool only_zeros_from(std::uint64_t offset) const;
  bool ends_with_magic() const;
  SegmentEnd torn_or_fail(const FrameResult& result);
  const char* read_magic();
  std::unique_ptr<arrow::ipc::Message> message_of(std::span<const std::byte> metadata) const;
  void read_schema(std::span<const std::byte> metadata);
  std::vector<Place> places_of(std::span<const std::byte> metadata, const MessageFrame& frame,
                               std::int64_t& rows) const;
  void read_batch(std::span<const std::byte> front, const MessageFrame& frame,
                  const OnBatch& on_batch);
  bool lists_batches(std::span<const Block> listed) const;
  void check_sealed_end() const;

  SegmentName name;
  std::string key;
  std::uint64_t size;
  Read read;
  std::uint64_t consumed = 0;
  std::string torn_reason;
  std::shared_ptr<arrow::Schema> schema;
  std::optional<SegmentIdentity> identity;
  std::vector<IpcMessage> messages;  // that were read so far, without a gap between them
};

/// Reads bytes that are there by the file's size.
AlignedBuffer EventsReader::State::fetch(std::uint64_t offset, std::uint64_t length) const {
  AlignedBuffer buffer(static_cast<std::size_t>(length));
  const std::size_t got = length == 0 ? 0 : read(offset, buffer.span());
  if (got != length) fail(offset + got, "the file has become shorter");
  return buffer;
}

void EventsReader::State::check_padding(std::uint64_t offset, std::uint64_t length) const {
  if (length > kMostPadding) fail(offset, "a gap between the columns of a batch");
  const AlignedBuffer padding = fetch(offset, length);
  if (!are_zeros(padding.span())) fail(offset, "padding that is not zero");
}

// Looks at a bounded part: a sparse file may have a terabyte of zeros.
bool EventsReader::State::only_zeros_from(std::uint64_t offset) const {
  constexpr std::uint64_t kPiece = 64U << 10U, kMost = 1U << 20U;
  const std::uint64_t end = std::min(size, offset + kMost);
  for (std::uint64_t at = offset; at < end; at += kPiece)
    if (!are_zeros(fetch(at, std::min(kPiece, end - at)).span())) return false;
  return true;
}

bool EventsReader::State::ends_with_magic() const {
  if (size < kArrowMagic.size()) return false;
  const AlignedBuffer end = fetch(size - kArrowMagic.size(), kArrowMagic.size());
  return std::memcmp(end.data(), kArrowMagic.data(), kArrowMagic.size()) == 0;
}

// A writer that was killed leaves a prefix of its last message, or zeros where a power loss took
// the bytes.
SegmentEnd EventsReader::State::torn_or_fail(const FrameResult& result) {
  const bool may_be_torn = result.kind == FrameKind::Incomplete || only_zeros_from(consumed);
  if (!may_be_torn || ends_with_magic()) fail(consumed, result.problem);
  return torn(result.problem);
}

/// Returns why the file ends before its first message; null where the magic is there.
const char* EventsReader::State::read_magic() {
  static constexpr std::array<char, kArrowHeaderBytes> kBegin = {'A', 'R', 'R', 'O',
                                                                 'W', '1', 0,   0};
  const AlignedBuffer begin = fetch(0, std::min<std::uint64_t>(size, kBegin.size()));
  if (!begin.span().empty() && std::memcmp(begin.data(), kBegin.data(), begin.size()) != 0) {
    if (only_zeros_from(0)) return "the file holds only zeros";
    fail(0, "not an Arrow file");
  }
  if (begin.size() < kBegin.size()) return "the file's beginning is cut off";
  consumed = kBegin.size();
  return nullptr;
}

/// Returns a message without its body, after Arrow has verified the metadata.
std::unique_ptr<arrow::ipc::Message> EventsReader::State::message_of(
    std::span<const std::byte> metadata) const {
  return check(
      arrow::ipc::Message::Open(borrowed(metadata), std::make_shared<arrow::Buffer>(nullptr, 0)),
      consumed);
}

void EventsReader::State::read_schema(std::span<const std::byte> metadata) {
  const auto message = message_of(metadata);
  arrow::ipc::DictionaryMemo dictionaries;
  schema = check(arrow::ipc::ReadSchema(*message, &dictionaries), consumed);
  const auto is = [&](int column, const char* column_name, const arrow::DataType& type) {
    return schema->field(column)->name() == column_name &&
           schema->field(column)->type()->Equals(type);
  };
  if (schema->num_fields() < static_cast<int>(kColumns) || !is(0, "step", *arrow::int64()) ||
      !is(1, "tensor", *arrow::utf8()) || !is(2, "data", *arrow::large_binary()))
    fail(consumed, "the columns are not step, tensor and data");
  identity = schema_identity(*schema, key, name);
}

/// Returns the places of a batch's buffers in its body: one behind another, with nothing but
/// padding between them.
std::vector<Place> EventsReader::State::places_of(std::span<const std::byte> metadata,
                                                  const MessageFrame& frame,
                                                  std::int64_t& rows) const {
  const auto root = FlatTable::root(metadata);
  const auto batch = root ? root->table(kMessageHeader) : std::nullopt;
  const auto nodes = batch ? batch->structs(record_batch::kNodes, sizeof(Node)) : std::nullopt;
  const auto buffers = batch ? batch->structs(record_batch::kBuffers, sizeof(Place)) : std::nullopt;
  if (!nodes || !buffers || nodes->size() < kColumns * sizeof(Node) ||
      buffers->size() < kBuffersOfColumns * sizeof(Place))
    fail(consumed, "a batch that does not describe its columns");
  rows = batch->scalar<std::int64_t>(record_batch::kLength).value_or(0);
  for (const Node& node : copied<Node>(nodes->first(kColumns * sizeof(Node))))
    if (node.length != rows || node.nulls != 0)
      fail(consumed, "a batch with columns of different lengths, or with nulls");

  std::vector<Place> places = copied<Place>(*buffers);
  const std::uint64_t body = consumed + frame.body_begin;
  const auto body_length = static_cast<std::int64_t>(frame.body_length);
  std::int64_t end = 0;
  for (const Place& place : places) {
    if (place.offset < end || place.length < 0 || place.offset > body_length ||
        place.length > body_length - place.offset)
      fail(consumed, "a batch whose columns are not inside it, one behind another");
    check_padding(body + static_cast<std::uint64_t>(end),
                  static_cast<std::uint64_t>(place.offset - end));
    end = place.offset + place.length;
  }
  check_padding(body + static_cast<std::uint64_t>(end),
                static_cast<std::uint64_t>(body_length - end));
  for (const BufferOf validity : {kStepValidity, kTensorValidity, kDataValidity})
    if (places[validity].length != 0) fail(consumed, "a batch with nulls");
  return places;
}

void EventsReader::State::read_batch(std::span<const std::byte> front, const MessageFrame& frame,
                                     const OnBatch& on_batch) {
  const auto metadata = front.subspan(frame.metadata_begin, frame.metadata_length);
  static_cast<void>(message_of(metadata));
  std::int64_t rows = 0;
  const std::vector<Place> places = places_of(metadata, frame, rows);
  const auto before_data = static_cast<std::uint64_t>(places[kData].offset);
  if (before_data > format_limits().events_columns) fail(consumed, "a batch of too many values");
  const std::uint64_t body = consumed + frame.body_begin;
  const AlignedBuffer columns = fetch(body, before_data);
  const auto column = [&](BufferOf buffer, std::uint64_t count, std::size_t element) {
    const auto bytes = columns.span().subspan(static_cast<std::size_t>(places[buffer].offset),
                                              static_cast<std::size_t>(places[buffer].length));
    if (count > bytes.size() / element) fail(consumed, "a column of a batch is too short");
    const auto used = static_cast<std::size_t>(count) * element;
    if (!are_zeros(bytes.subspan(used)))
      fail(body + static_cast<std::uint64_t>(places[buffer].offset) + used,
           "padding that is not zero");
    return bytes.first(used);
  };
  if (rows <= 0) fail(consumed, "a batch without values");
  const auto count = static_cast<std::uint64_t>(rows);
  const auto steps = copied<std::int64_t>(column(kSteps, count, sizeof(std::int64_t)));
  const auto name_ends =
      copied<std::int32_t>(column(kTensorOffsets, count + 1, sizeof(std::int32_t)));
  const auto data_ends =
      copied<std::int64_t>(column(kDataOffsets, count + 1, sizeof(std::int64_t)));
  if (name_ends.front() != 0 || !std::is_sorted(name_ends.begin(), name_ends.end()))
    fail(consumed, "the offsets of the column tensor are not sorted");
  if (data_ends.front() != 0 || !std::is_sorted(data_ends.begin(), data_ends.end()) ||
      data_ends.back() != places[kData].length)
    fail(consumed, "the offsets of the column data do not reach from its begin to its end");
  const auto names = column(kTensorBytes, static_cast<std::uint64_t>(name_ends.back()), 1);

  std::vector<EventsEntry> entries;
  entries.reserve(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] != steps.front()) fail(consumed, "a batch with values of two steps");
    const std::string_view tensor(reinterpret_cast<const char*>(names.data()) + name_ends[i],
                                  static_cast<std::size_t>(name_ends[i + 1] - name_ends[i]));
    entries.push_back({steps[i], tensor,
                       body + before_data + static_cast<std::uint64_t>(data_ends[i]),
                       static_cast<std::uint64_t>(data_ends[i + 1] - data_ends[i])});
  }
  on_batch(entries);
}

bool EventsReader::State::lists_batches(std::span<const Block> listed) const {
  std::int64_t position = kArrowHeaderBytes;
  for (const IpcMessage& message : messages) {
    if (message.type == MessageType::RecordBatch) {
      if (listed.empty() || listed.front().offset != position ||
          listed.front().metadata_length != message.metadata_length ||
          listed.front().padding != 0 || listed.front().body_length != message.body_length)
        return false;
      listed = listed.subspan(1);
    }
    position += message.metadata_length + message.body_length;
  }
  return listed.empty();
}

void EventsReader::State::check_sealed_end() const {
  const std::uint64_t footer_begin = consumed + kEndOfStream;
  if (size - consumed < kEndOfStream + kLengthAndMagic)
    fail(consumed, "the file ends inside its footer");
  const std::uint64_t footer_length = size - footer_begin - kLengthAndMagic;
  if (footer_length > format_limits().events_footer)
    fail(footer_begin, "a footer that is too long");
  const AlignedBuffer rest = fetch(footer_begin, size - footer_begin);
  const std::uint64_t length_at = footer_begin + footer_length;
  std::uint32_t said_length = 0;
  const auto tail = rest.span().subspan(static_cast<std::size_t>(footer_length));
  std::memcpy(&said_length, tail.data(), sizeof said_length);
  if (std::memcmp(tail.data() + sizeof said_length, kArrowMagic.data(), kArrowMagic.size()) != 0)
    fail(length_at + sizeof said_length, "the closing magic is missing");
  if (said_length != footer_length)
    fail(length_at, "the footer's length does not reach from the end-of-stream to the end");

  // Arrow is given a file that has nothing but a footer.
  std::vector<std::byte> file(kArrowHeaderBytes);
  std::memcpy(file.data(), kArrowMagic.data(), kArrowMagic.size());
  file.insert(file.end(), rest.span().begin(), rest.span().end());
  const auto reader = check(arrow::ipc::RecordBatchFileReader::Open(
                                std::make_shared<arrow::io::BufferReader>(borrowed(file))),
                            footer_begin);
  if (!reader->schema()->Equals(*schema, true))
    fail(footer_begin, "the footer's schema is not the file's");
  const auto footer = FlatTable::root(rest.span().first(static_cast<std::size_t>(footer_length)));
  const auto listed = footer ? footer->structs(kFooterBatches, sizeof(Block)) : std::nullopt;
  const std::vector<Block> found = listed ? copied<Block>(*listed) : std::vector<Block>{};
  if (!lists_batches(found)) fail(footer_begin, "the footer does not list the file's batches");
}

EventsReader::EventsReader(SegmentName name, std::uint64_t size, Read read)
    : state_(std::make_unique<State>(std::move(name), size, std::move(read))) {}
EventsReader::~EventsReader() = default;
EventsReader::EventsReader(EventsReader&&) noexcept = default;
EventsReader& EventsReader::operator=(EventsReader&&) noexcept = default;

std::uint64_t EventsReader::consumed() const noexcept { return state_->consumed; }
const std::string& EventsReader::torn_reason() const noexcept { return state_->torn_reason; }
const std::optional<SegmentIdentity>& EventsReader::identity() const noexcept {
  return state_->identity;
}

SegmentEnd EventsReader::walk(const State::OnBatch& on_batch, std::uint64_t until) {
  State& s = *state_;
  if (s.consumed == 0)
    if (const char* const reason = s.read_magic()) return s.torn(reason);

  for (;;) {
    const std::uint64_t available = s.size - s.consumed;
    if (available == 0)
      return s.schema ? SegmentEnd::Open : s.torn("the file's beginning is cut off");
    AlignedBuffer front = s.fetch(s.consumed, std::min<std::uint64_t>(available, kFront));
    std::array<std::uint32_t, 2> header{};
    if (front.size() >= sizeof header) std::memcpy(header.data(), front.data(), sizeof header);
    const std::uint64_t with_metadata = kFrameHeader + std::uint64_t{header[1]};
    if (with_metadata > front.size() && front.size() < available) {
      if (with_metadata > kMaxMetadata) {
        if (available >= with_metadata || s.ends_with_magic())
          s.fail(s.consumed, "a message's metadata are too long");
        return s.torn("a message's metadata are too long");
      }
      front = s.fetch(s.consumed, std::min(available, with_metadata));
    }
    const FrameResult result = read_frame(front.span(), available);
    if (result.kind == FrameKind::Incomplete || result.kind == FrameKind::Malformed)
      return s.torn_or_fail(result);
    if (result.kind == FrameKind::EndOfStream) {
      if (!s.schema) s.fail(s.consumed, "the file has no schema");
      s.check_sealed_end();
      return SegmentEnd::Sealed;
    }
    const MessageFrame& frame = result.frame;
    if ((frame.type == MessageType::Schema) != (s.schema == nullptr) ||
        frame.type == MessageType::DictionaryBatch)
      s.fail(s.consumed, "a message that is not to be here");
    if (frame.compressed) s.fail(s.consumed, "a compressed batch");
    if (frame.type == MessageType::Schema) {
      s.read_schema(front.span().subspan(frame.metadata_begin, frame.metadata_length));
    } else {
      s.read_batch(front.span(), frame, on_batch);
    }
    s.messages.push_back({frame.type, static_cast<std::int32_t>(frame.body_begin),
                          static_cast<std::int64_t>(frame.body_length)});
    s.consumed += frame.size();
    if (s.consumed >= until) return SegmentEnd::Open;
  }
}

std::vector<std::byte> EventsReader::file_end() const {
  const State& s = *state_;
  std::vector<std::byte> end = ipc_file_end(s.schema, s.messages);
  if (end.size() > format_limits().events_footer + kEndOfStream + kLengthAndMagic)
    s.fail(s.consumed, "the batches need a footer that is too long");
  return end;
}

}  // namespace cupel
