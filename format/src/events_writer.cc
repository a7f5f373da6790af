#include "cupel/format/events_writer.h"

#include <arrow/array/array_binary.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "arrow_support.h"
#include "cupel/core/error.h"

namespace cupel {
namespace {

// Arrow is given a data buffer at this address whose bytes it never looks at; the sink knows it by
// the address and leaves a gap, which the caller fills from where the values are.
constexpr std::byte kElsewhere{};

std::shared_ptr<arrow::Schema> events_schema(const SegmentIdentity& identity) {
  return arrow::schema(
      {arrow::field("step", arrow::int64(), false), arrow::field("tensor", arrow::utf8(), false),
       arrow::field("data", arrow::large_binary(), false)},
      identity_metadata(identity));
}

}  // namespace

struct EventsWriter::State {
  explicit State(const SegmentIdentity& identity)
      : schema(events_schema(identity)),
        writer(require(arrow::ipc::MakeFileWriter(&sink, schema))) {}
  DrainSink sink{&kElsewhere};
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer;
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
  const auto data =
      std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(&kElsewhere), end);
  const auto batch =
      arrow::RecordBatch::Make(state_->schema, rows,
                               {require(steps.Finish()), require(tensors.Finish()),
                                std::make_shared<arrow::LargeBinaryArray>(
                                    rows, require(offsets.Finish()), data, nullptr, 0)});
  require(state_->writer->WriteRecordBatch(*batch));

  Batch result;
  result.before = state_->sink.drain();
  result.data_offset = static_cast<std::uint64_t>(state_->sink.elsewhere_position());
  result.padding = result.before.size() - state_->sink.collected_before_elsewhere();
  result.before.resize(state_->sink.collected_before_elsewhere());
  return result;
}

std::vector<std::byte> EventsWriter::finish() {
  require(state_->writer->Close());
  return state_->sink.drain();
}

std::uint64_t EventsWriter::size() const noexcept {
  return static_cast<std::uint64_t>(state_->sink.position());
}

}  // namespace cupel
