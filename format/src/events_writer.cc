#include "cupel/format/events_writer.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/buffer_builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "arrow_support.h"
#include "cupel/core/error.h"
#include "ipc_file.h"

namespace cupel {

using namespace format_detail;

namespace {

// Arrow is given the size of the values and no bytes; the caller writes them where they are.
std::shared_ptr<arrow::Buffer> values_elsewhere(std::int64_t size) {
  return std::make_shared<arrow::Buffer>(nullptr, size);
}

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
};

EventsWriter::EventsWriter(const SegmentIdentity& identity)
    : state_(std::make_unique<State>(identity)) {}
EventsWriter::~EventsWriter() = default;
EventsWriter::EventsWriter(EventsWriter&&) noexcept = default;
EventsWriter& EventsWriter::operator=(EventsWriter&&) noexcept = default;

EventsWriter::Batch EventsWriter::begin_batch(std::int64_t step,
                                              std::span<const EventsValue> values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  std::size_t name_bytes = 0;
  for (const EventsValue& value : values) name_bytes += value.tensor.size();
  arrow::TypedBufferBuilder<std::int64_t> steps;
  arrow::StringBuilder tensors;
  arrow::TypedBufferBuilder<std::int64_t> offsets;
  require(steps.Append(rows, step));
  require(tensors.Reserve(rows));
  require(tensors.ReserveData(static_cast<std::int64_t>(name_bytes)));
  require(offsets.Reserve(rows + 1));
  std::int64_t end = 0;
  offsets.UnsafeAppend(end);
  for (const EventsValue& value : values) {
    if (value.length > static_cast<std::uint64_t>(INT64_MAX - end))
      throw UsageError("values too large for a file");
    tensors.UnsafeAppend(value.tensor);
    end += static_cast<std::int64_t>(value.length);
    offsets.UnsafeAppend(end);
  }
  const auto batch =
      arrow::RecordBatch::Make(state_->schema, rows,
                               {std::make_shared<arrow::Int64Array>(rows, require(steps.Finish())),
                                require(tensors.Finish()),
                                std::make_shared<arrow::LargeBinaryArray>(
                                    rows, require(offsets.Finish()), values_elsewhere(end))});

  Batch result;
  const std::uint64_t begin = size();
  state_->file.add_without_last_buffer(*batch, result.before);
  result.data_offset = begin + result.before.size();
  result.padding =
      static_cast<std::size_t>(size() - result.data_offset - static_cast<std::uint64_t>(end));
  return result;
}

std::vector<std::byte> EventsWriter::finish() {
  if (size() == 0) throw UsageError("an events file without a batch");
  return state_->file.end();
}

std::uint64_t EventsWriter::size() const noexcept { return state_->file.size(); }

}  // namespace cupel
