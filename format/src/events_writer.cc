#include "cupel/format/events_writer.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "arrow_support.h"
#include "cupel/core/error.h"
#include "ipc_file.h"

namespace cupel {
namespace {

std::shared_ptr<arrow::Schema> events_schema(const SegmentIdentity& identity) {
  return arrow::schema(
      {arrow::field("step", arrow::int64(), false), arrow::field("tensor", arrow::utf8(), false),
       arrow::field("data", arrow::large_binary(), false)},
      identity_metadata(identity));
}

}  // namespace

struct EventsWriter::State {
  explicit State(const SegmentIdentity& identity) : schema(events_schema(identity)), file(schema) {}
  std::shared_ptr<arrow::Schema> schema;
  IpcFile file;
  std::uint64_t size = 0;
};

EventsWriter::EventsWriter(const SegmentIdentity& identity)
    : state_(std::make_unique<State>(identity)) {}
EventsWriter::~EventsWriter() = default;
EventsWriter::EventsWriter(EventsWriter&&) noexcept = default;
EventsWriter& EventsWriter::operator=(EventsWriter&&) noexcept = default;

EventsWriter::Batch EventsWriter::begin_batch(std::int64_t step,
                                              std::span<const EventsValue> values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  arrow::Int64Builder steps;
  arrow::StringBuilder tensors;
  arrow::TypedBufferBuilder<std::int64_t> offsets;
  require(steps.Reserve(rows));
  require(tensors.Reserve(rows));
  require(offsets.Reserve(rows + 1));
  std::int64_t end = 0;
  offsets.UnsafeAppend(end);
  for (const EventsValue& value : values) {
    if (value.length > static_cast<std::uint64_t>(INT64_MAX - end))
      throw UsageError("values too large for a file");
    steps.UnsafeAppend(step);
    require(tensors.Append(value.tensor));
    end += static_cast<std::int64_t>(value.length);
    offsets.UnsafeAppend(end);
  }
  const auto values_elsewhere = std::make_shared<arrow::Buffer>(nullptr, end);
  const auto batch =
      arrow::RecordBatch::Make(state_->schema, rows,
                               {require(steps.Finish()), require(tensors.Finish()),
                                std::make_shared<arrow::LargeBinaryArray>(
                                    rows, require(offsets.Finish()), values_elsewhere)});

  Batch result;
  if (state_->file.messages().empty()) state_->file.begin(*batch, result.before);
  const std::size_t message_begin = result.before.size();
  const IpcMessage message = state_->file.add_without_last_buffer(*batch, result.before);
  const std::uint64_t message_end = state_->size + message_begin +
                                    static_cast<std::uint64_t>(message.metadata_length) +
                                    static_cast<std::uint64_t>(message.body_length);
  result.data_offset = state_->size + result.before.size();
  result.padding =
      static_cast<std::size_t>(message_end - result.data_offset - static_cast<std::uint64_t>(end));
  state_->size = message_end;
  return result;
}

std::vector<std::byte> EventsWriter::finish() {
  if (state_->file.messages().empty()) throw UsageError("an events file without a batch");
  return state_->file.end();
}

std::uint64_t EventsWriter::size() const noexcept { return state_->size; }

}  // namespace cupel
