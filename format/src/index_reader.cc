// Reads index files message by message. A message's checksum is verified over its bytes as they are
// in the file before Arrow sees any of it; what Arrow then makes of it is validated again,
// structure first (Arrow), meaning second (ours), because a checksum proves nothing about who wrote
// the bytes.

#include "cupel/format/index_reader.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "index_columns.h"
#include "ipc_message.h"
#include "schema_identity.h"

namespace cupel {
namespace {

// A part of the bytes that read() was given; keeps them alive.
class TailBuffer final : public arrow::Buffer {
 public:
  TailBuffer(std::shared_ptr<const AlignedBuffer> tail, std::size_t begin, std::size_t length)
      : arrow::Buffer(reinterpret_cast<const std::uint8_t*>(tail->data()) + begin,
                      static_cast<std::int64_t>(length)),
        tail_(std::move(tail)) {}

 private:
  std::shared_ptr<const AlignedBuffer> tail_;
};

// Hands verified messages to Arrow's stream reader.
class VerifiedMessages final : public arrow::ipc::MessageReader {
 public:
  explicit VerifiedMessages(std::shared_ptr<std::deque<std::unique_ptr<arrow::ipc::Message>>> queue)
      : queue_(std::move(queue)) {}
  arrow::Result<std::unique_ptr<arrow::ipc::Message>> ReadNextMessage() override {
    if (queue_->empty()) return nullptr;
    auto message = std::move(queue_->front());
    queue_->pop_front();
    return message;
  }

 private:
  std::shared_ptr<std::deque<std::unique_ptr<arrow::ipc::Message>>> queue_;
};

bool ends_with_magic(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= kArrowMagic.size() &&
         std::memcmp(bytes.data() + bytes.size() - kArrowMagic.size(), kArrowMagic.data(),
                     kArrowMagic.size()) == 0;
}

// Whether two runs of rows have the same names, one by one.
bool same_names(const IndexBatch& batch, std::size_t first, std::size_t second, std::size_t rows) {
  const std::int32_t* const ends = batch.tensor_offsets.data();
  const auto bytes = static_cast<std::size_t>(ends[first + rows] - ends[first]);
  if (static_cast<std::size_t>(ends[second + rows] - ends[second]) != bytes) return false;
  if (std::memcmp(batch.tensor_bytes + ends[first], batch.tensor_bytes + ends[second], bytes) != 0)
    return false;
  const std::int32_t distance = ends[second] - ends[first];
  std::int32_t differences = 0;
  for (std::size_t i = 0; i < rows; ++i)
    differences |= (ends[second + i] - ends[first + i]) ^ distance;
  return differences == 0;
}

std::span<const std::int64_t> extents_of(const IndexBatch& batch, std::size_t row) {
  const std::int32_t begin = batch.shape_begin[row];
  return {batch.shape_extents + begin, static_cast<std::size_t>(batch.shape_end[row] - begin)};
}

bool same_shape(const IndexBatch& batch, std::size_t first, std::size_t second) {
  return batch.elements[first] == batch.elements[second] && batch.shape_begin.has(first) &&
         std::ranges::equal(extents_of(batch, first), extents_of(batch, second));
}

}  // namespace

struct IndexReader::State {
  State(std::string file_key, bool has_first)
      : key(std::move(file_key)), has_first_step(has_first) {
    const auto parsed = SegmentName::parse_index_key(key);
    if (!parsed) throw UsageError("not the name of an index file: \"" + key + '"');
    name = *parsed;
  }

  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const {
    throw FormatError(key, offset, what);
  }

  void check(const arrow::Status& status, std::uint64_t offset) const {
    if (!status.ok()) fail(offset, status.ToString());
  }
  template <class T>
  T check(arrow::Result<T> result, std::uint64_t offset) const {
    check(result.status(), offset);
    return std::move(result).ValueUnsafe();
  }

  SegmentEnd torn(const char* reason) {
    torn_reason = reason;
    return SegmentEnd::Torn;
  }
  SegmentEnd torn_or_fail(std::span<const std::byte> rest, const char* reason);
  SegmentEnd check_sealed_end(std::span<const std::byte> rest);
  void push(const std::shared_ptr<const AlignedBuffer>& tail, std::size_t begin,
            const MessageFrame& frame);
  void open_arrow();
  IndexBatch decode(const std::shared_ptr<arrow::RecordBatch>& batch);
  void check_meaning(const IndexBatch& batch);

  std::string key;
  SegmentName name;
  bool has_first_step;
  std::uint64_t consumed = 0;
  std::uint32_t chain = 0;
  std::string torn_reason;
  std::optional<SegmentIdentity> identity;
  std::optional<std::uint32_t> collections_crc32c;
  std::shared_ptr<std::deque<std::unique_ptr<arrow::ipc::Message>>> queue =
      std::make_shared<std::deque<std::unique_ptr<arrow::ipc::Message>>>();
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> arrow_reader;
  std::optional<std::int64_t> last_step;
  bool sealed = false;
};

// A writer that was killed leaves a prefix of its last message, or zeros where a power loss took
// the bytes. Both are the end of an open file; whatever has a checksum tag of a later message or
// footer behind it, or the magic of a sealed file at its end, is damage.
SegmentEnd IndexReader::State::torn_or_fail(std::span<const std::byte> rest, const char* reason) {
  if (ends_with_magic(rest) || count_checksum_tags(rest) > 1) fail(consumed, reason);
  return torn(reason);
}

SegmentEnd IndexReader::State::check_sealed_end(std::span<const std::byte> rest) {
  constexpr std::size_t kEndOfIndexStream = 8;
  constexpr std::size_t kIndexLengthAndMagic = 4 + kArrowMagic.size();
  if (rest.size() < kEndOfIndexStream + kIndexLengthAndMagic)
    fail(consumed, "the file ends inside its footer");
  if (!ends_with_magic(rest))
    fail(consumed + rest.size() - kArrowMagic.size(), "the closing magic is missing");
  std::uint32_t footer_length = 0;
  std::memcpy(&footer_length, rest.data() + rest.size() - kIndexLengthAndMagic,
              sizeof footer_length);
  if (footer_length != rest.size() - kEndOfIndexStream - kIndexLengthAndMagic) {
    fail(consumed + rest.size() - kIndexLengthAndMagic,
         "the footer's length does not reach from the end-of-stream to the end");
  }
  const auto digits = find_checksum_digits(rest);
  const auto crc = digits ? read_checksum(rest, *digits) : std::nullopt;
  if (!crc || *crc != checksum_with_blank_digits(rest, *digits, chain)) {
    fail(consumed, "the footer fails its checksum");
  }
  sealed = true;
  return SegmentEnd::Sealed;
}

void IndexReader::State::push(const std::shared_ptr<const AlignedBuffer>& tail, std::size_t begin,
                              const MessageFrame& frame) {
  auto metadata =
      std::make_shared<TailBuffer>(tail, begin + frame.metadata_begin, frame.metadata_length);
  auto body = std::make_shared<TailBuffer>(tail, begin + frame.body_begin, frame.body_length);
  queue->push_back(
      check(arrow::ipc::Message::Open(std::move(metadata), std::move(body)), consumed));
}

void IndexReader::State::open_arrow() {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  arrow_reader = check(
      arrow::ipc::RecordBatchStreamReader::Open(std::make_unique<VerifiedMessages>(queue), options),
      0);
  identity = schema_identity(*arrow_reader->schema(), key, name);
  collections_crc32c = collections_checksum(*arrow_reader->schema(), key);
}

namespace {

// Finds columns by name and turns them into spans, failing with the column's name.
class ColumnFinder {
 public:
  ColumnFinder(const arrow::RecordBatch& batch, const std::string& key, std::uint64_t offset)
      : batch_(batch), key_(key), offset_(offset) {}

  [[noreturn]] void fail(const char* column, const char* what) const {
    throw FormatError(key_, offset_, std::string("column ") + column + ": " + what);
  }

  // Null when the file has no such column.
  std::shared_ptr<arrow::Array> find(const char* column, const arrow::DataType& type) const {
    const int index = batch_.schema()->GetFieldIndex(column);
    if (index < 0) {
      if (!batch_.schema()->GetAllFieldIndices(column).empty()) fail(column, "occurs twice");
      return nullptr;
    }
    auto array = batch_.column(index);
    if (!array->type()->Equals(type)) fail(column, "has another type");
    return array;
  }

  std::shared_ptr<arrow::Array> require(const char* column, const arrow::DataType& type) const {
    auto array = find(column, type);
    if (array == nullptr) fail(column, "is missing");
    if (array->null_count() != 0) fail(column, "has nulls");
    return array;
  }

  template <class T>
  std::span<const T> values(const char* column, const arrow::DataType& type) const {
    const auto array = require(column, type);
    return {array->data()->GetValues<T>(1), static_cast<std::size_t>(array->length())};
  }

  template <class T>
  NullableColumn<T> nullable(const char* column, const arrow::DataType& type) const {
    const auto array = find(column, type);
    if (array == nullptr) return {};
    return {array->data()->GetValues<T>(1), array->null_bitmap_data(), array->offset()};
  }

  // The codes of a dictionary column; calls set(code, text) for each of its entries.
  template <class Set>
  std::span<const std::int8_t> codes(const char* column, Set&& set) const {
    const auto array = require(column, *arrow::dictionary(arrow::int8(), arrow::utf8()));
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*array);
    const auto& dictionary = static_cast<const arrow::StringArray&>(*coded.dictionary());
    if (dictionary.length() > 127) fail(column, "its dictionary is too long");
    for (std::int64_t i = 0; i < dictionary.length(); ++i) {
      if (dictionary.IsNull(i)) fail(column, "its dictionary has nulls");
      set(static_cast<std::size_t>(i), dictionary.GetView(i));
    }
    return {coded.data()->GetValues<std::int8_t>(1), static_cast<std::size_t>(coded.length())};
  }

 private:
  const arrow::RecordBatch& batch_;
  const std::string& key_;
  std::uint64_t offset_;
};

}  // namespace

IndexBatch IndexReader::State::decode(const std::shared_ptr<arrow::RecordBatch>& batch) {
  check(batch->ValidateFull(), consumed);
  const ColumnFinder find(*batch, key, consumed);
  IndexBatch out;
  out.memory = batch;
  out.rows = static_cast<std::size_t>(batch->num_rows());
  const std::shared_ptr<arrow::DataType>& int64 = arrow::int64();
  out.step = find.values<std::int64_t>(column::kStep, *int64);
  out.mode_step = find.values<std::int64_t>(column::kModeStep, *int64);
  out.elements = find.values<std::int64_t>(column::kElements, *int64);
  out.time_us =
      find.values<std::int64_t>(column::kTime, *arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"));
  out.mode_codes = find.codes(column::kMode, [&](std::size_t code, std::string_view text) {
    const auto mode = std::find_if(kAllModes.begin(), kAllModes.end(),
                                   [&](Mode m) { return to_string(m) == text; });
    if (mode == kAllModes.end()) find.fail(column::kMode, "names an unknown mode");
    out.mode_of_code[code] = *mode;
  });
  out.dtype_codes = find.codes(column::kDType, [&](std::size_t code, std::string_view text) {
    const auto dtype = parse_dtype(text);
    if (!dtype) find.fail(column::kDType, "names an unknown dtype");
    out.dtype_of_code[code] = *dtype;
  });
  find.codes(column::kWorker, [&](std::size_t, std::string_view text) {
    if (text != name.worker) find.fail(column::kWorker, "names another worker than the file");
  });

  const auto tensor = find.require(column::kTensor, *arrow::utf8());
  const auto& names = static_cast<const arrow::StringArray&>(*tensor);
  out.tensor_offsets = {names.raw_value_offsets(), out.rows + 1};
  out.tensor_bytes = reinterpret_cast<const char*>(names.raw_data());
  if (const auto shape = find.find(column::kShape, *arrow::list(arrow::int64()))) {
    const auto& lists = static_cast<const arrow::ListArray&>(*shape);
    const auto* offsets = lists.raw_value_offsets();
    if (lists.values()->null_count() != 0) find.fail(column::kShape, "has null extents");
    out.shape_begin = {offsets, lists.null_bitmap_data(), lists.offset()};
    out.shape_end = {offsets + 1, lists.null_bitmap_data(), lists.offset()};
    out.shape_extents = static_cast<const arrow::Int64Array&>(*lists.values()).raw_values();
  }
  if (const auto values = find.find(column::kInline, *arrow::binary())) {
    const auto& binary = static_cast<const arrow::BinaryArray&>(*values);
    const auto* offsets = binary.raw_value_offsets();
    out.inline_begin = {offsets, binary.null_bitmap_data(), binary.offset()};
    out.inline_end = {offsets + 1, binary.null_bitmap_data(), binary.offset()};
    out.inline_bytes = reinterpret_cast<const std::byte*>(binary.raw_data());
  }
  out.offset = find.nullable<std::int64_t>(column::kOffset, *int64);
  out.length = find.nullable<std::int64_t>(column::kLength, *int64);
  out.crc32c = find.nullable<std::uint32_t>(column::kCrc32c, *arrow::uint32());
  out.nan = find.nullable<std::int64_t>(column::kNan, *int64);
  out.pos_inf = find.nullable<std::int64_t>(column::kPosInf, *int64);
  out.neg_inf = find.nullable<std::int64_t>(column::kNegInf, *int64);
  out.zero = find.nullable<std::int64_t>(column::kZero, *int64);
  if (const auto joined = find.find(column::kCollections, *arrow::list(arrow::utf8()))) {
    const auto& lists = static_cast<const arrow::ListArray&>(*joined);
    const auto& texts = static_cast<const arrow::StringArray&>(*lists.values());
    if (texts.null_count() != 0) find.fail(column::kCollections, "has null names");
    const auto* offsets = lists.raw_value_offsets();
    out.joined_begin = {offsets, lists.null_bitmap_data(), lists.offset()};
    out.joined_end = {offsets + 1, lists.null_bitmap_data(), lists.offset()};
    out.joined_offsets = texts.raw_value_offsets();
    out.joined_bytes = reinterpret_cast<const char*>(texts.raw_data());
    out.any_joined = texts.length() > 0;
  }
  for (std::size_t i = 0; i < Reduction::kCount; ++i) {
    const std::string reduction(to_string(Reduction::at(i)));
    out.reductions[i] = find.nullable<double>(reduction.c_str(), *arrow::float64());
  }
  return out;
}

// What a writer of ours guarantees and readers build on.
void IndexReader::State::check_meaning(const IndexBatch& batch) {
  const auto demand = [&](bool holds, std::size_t row, const char* otherwise) {
    if (!holds) fail(consumed, "row " + std::to_string(row) + " of the batch: " + otherwise);
  };
  demand(batch.rows > 0, 0, "there is none");
  // Most steps repeat the names and shapes of the step before, which were checked.
  std::size_t rows_of_step = 0;
  bool repeats = false;  // the names, row by row
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const bool begins_step = row == 0 || batch.step[row] != batch.step[row - 1];
    const std::string_view tensor = batch.tensor(row);
    if (begins_step) {
      const std::size_t rows_before = rows_of_step;
      const auto rest = batch.step.subspan(row);
      const auto end =
          std::ranges::find_if(rest, [&](std::int64_t step) { return step != batch.step[row]; });
      rows_of_step = static_cast<std::size_t>(end - rest.begin());
      repeats = row > 0 && rows_of_step == rows_before &&
                same_names(batch, row - rows_before, row, rows_of_step);
      demand(batch.step[row] >= 0 && batch.mode_step[row] >= 0, row, "a negative step");
      demand(!last_step || batch.step[row] > *last_step, row, "steps do not grow");
      demand(last_step || !has_first_step || batch.step[row] == name.first_step, row,
             "the first step is not the one in the file's name");
      last_step = batch.step[row];
    } else {
      demand(batch.header(row) == batch.header(row - 1), row, "a step with two modes or times");
      demand(repeats || batch.tensor(row - 1) < tensor, row,
             "the tensors of a step are not sorted");
    }
    demand(repeats || (!tensor.empty() && tensor.size() <= kMaxTensorName), row,
           "a tensor's name is empty or too long");
    demand(batch.elements[row] >= 0, row, "a negative number of elements");
    if (batch.shape_begin.has(row) && !(repeats && same_shape(batch, row - rows_of_step, row)))
      demand(Shape(extents_of(batch, row)).elements() == batch.elements[row], row,
             "the shape does not make the number of elements");
    batch.for_each_joined(row, [&](std::string_view collection) {
      demand(!collection.empty() && collection.size() <= kMaxCollectionName, row,
             "the name of a collection is empty or too long");
    });
    const bool located = batch.offset.has(row);
    demand(located == batch.length.has(row) && located == batch.crc32c.has(row), row,
           "half a location");
    if (located)
      demand(batch.offset[row] >= 0 && batch.length[row] >= 0, row, "a negative location");
    if (batch.inline_begin.has(row)) {
      demand(!located, row, "a value in two places");
      demand(batch.inline_end[row] - batch.inline_begin[row] <=
                 static_cast<std::int32_t>(kMaxInlineBytes),
             row, "an inline value that is too long");
    }
  }
}

IndexReader::IndexReader(std::string key, bool has_first_step)
    : state_(std::make_unique<State>(std::move(key), has_first_step)) {}
IndexReader::~IndexReader() = default;
IndexReader::IndexReader(IndexReader&&) noexcept = default;
IndexReader& IndexReader::operator=(IndexReader&&) noexcept = default;

std::uint64_t IndexReader::consumed() const noexcept { return state_->consumed; }
const std::string& IndexReader::torn_reason() const noexcept { return state_->torn_reason; }
const std::optional<SegmentIdentity>& IndexReader::identity() const noexcept {
  return state_->identity;
}
const std::optional<std::uint32_t>& IndexReader::collections_crc32c() const noexcept {
  return state_->collections_crc32c;
}

SegmentEnd IndexReader::read(const std::shared_ptr<const AlignedBuffer>& tail,
                             const std::function<void(const IndexBatch&)>& on_batch) {
  State& s = *state_;
  s.torn_reason.clear();
  const std::span<const std::byte> bytes = tail->span();
  if (s.sealed) {
    if (!bytes.empty()) s.fail(s.consumed, "there are bytes behind the closing magic");
    return SegmentEnd::Sealed;
  }
  std::size_t position = 0;  // of the next message in `bytes`
  const std::uint64_t tail_begin = s.consumed;
  const bool at_file_begin = tail_begin == 0;
  std::vector<std::pair<std::size_t, MessageFrame>>
      preamble;  // schema and dictionaries, not yet verified
  if (at_file_begin) {
    static constexpr std::array<char, kArrowHeaderBytes> kBegin = {'A', 'R', 'R', 'O',
                                                                   'W', '1', 0,   0};
    const std::size_t there = std::min(bytes.size(), kBegin.size());
    if (there > 0 && std::memcmp(bytes.data(), kBegin.data(), there) != 0) {
      const bool zeros =
          std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
      if (zeros) return s.torn("the file holds only zeros");
      s.fail(0, "not an Arrow file");
    }
    if (there < kBegin.size()) return s.torn("the file's beginning is cut off");
    position = kBegin.size();
  }

  for (;;) {
    const std::span<const std::byte> rest = bytes.subspan(position);
    const bool preamble_done = s.arrow_reader != nullptr;
    if (rest.empty())
      return preamble_done ? SegmentEnd::Open : s.torn("the first step is not there");
    const FrameResult result = read_frame(rest);
    if (result.kind == FrameKind::Incomplete || result.kind == FrameKind::Malformed) {
      return s.torn_or_fail(bytes.subspan(static_cast<std::size_t>(s.consumed - tail_begin)),
                            result.problem);
    }
    if (result.kind == FrameKind::EndOfStream) {
      if (!preamble_done) s.fail(tail_begin + position, "the file holds no step");
      return s.check_sealed_end(rest);
    }
    const MessageFrame& frame = result.frame;
    if (frame.type != MessageType::RecordBatch) {
      if (preamble_done)
        s.fail(tail_begin + position, "a schema or dictionary behind the first step");
      preamble.emplace_back(position, frame);
      position += frame.size();
      continue;
    }

    const std::uint32_t seed = preamble_done ? s.chain : crc32c(bytes.first(position));
    const std::span<const std::byte> message = rest.first(frame.size());
    const auto digits = find_checksum_digits(message.first(frame.body_begin));
    const auto crc = digits ? read_checksum(message, *digits) : std::nullopt;
    if (!crc || *crc != checksum_with_blank_digits(message, *digits, seed)) {
      const auto from_consumed = bytes.subspan(static_cast<std::size_t>(s.consumed - tail_begin));
      if (frame.size() == rest.size())
        return s.torn_or_fail(from_consumed, "the last step fails its checksum");
      s.fail(tail_begin + position, "a step fails its checksum");
    }

    for (const auto& [begin, part] : preamble) {
      if (part.compressed) s.fail(begin, "a compressed dictionary");
      s.push(tail, begin, part);
    }
    preamble.clear();
    if (frame.compressed) s.fail(tail_begin + position, "a compressed batch");
    s.push(tail, position, frame);
    if (!preamble_done) s.open_arrow();
    std::shared_ptr<arrow::RecordBatch> batch;
    s.check(s.arrow_reader->ReadNext(&batch), tail_begin + position);
    if (batch == nullptr || !s.queue->empty())
      s.fail(tail_begin + position, "Arrow does not see the batch");
    s.consumed = tail_begin + position;  // so that complaints about the batch name its place
    IndexBatch decoded = s.decode(batch);
    decoded.message_offset = s.consumed;
    s.check_meaning(decoded);
    s.chain = *crc;
    position += frame.size();
    s.consumed = tail_begin + position;
    on_batch(decoded);
  }
}

}  // namespace cupel
