// Encodes the rows of index files; chained_file.h makes the file of them.

#include "cupel/format/index_writer.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <array>

#include "arrow_support.h"
#include "chained_file.h"
#include "cupel/format/layout.h"
#include "index_columns.h"
#include "index_dictionaries.h"

namespace cupel {
namespace {

// A batch in memory weighs as much as some hundred rows: small ones are merged when so many of them
// have gathered.
constexpr std::size_t kGatheredBatches = 128;

std::shared_ptr<arrow::Schema> index_schema(const SegmentIdentity& identity,
                                            ReductionSet reductions) {
  const auto required = [](const char* name, std::shared_ptr<arrow::DataType> type) {
    return arrow::field(name, std::move(type), false);
  };
  arrow::FieldVector fields = {
      required(column::kStep, arrow::int64()),
      required(column::kMode, code_type()),
      required(column::kModeStep, arrow::int64()),
      required(column::kWorker, code_type()),
      required(column::kTensor, arrow::utf8()),
      required(column::kDType, code_type()),
      arrow::field(column::kShape, arrow::list(arrow::int64())),
      required(column::kElements, arrow::int64()),
      arrow::field(column::kOffset, arrow::int64()),
      arrow::field(column::kLength, arrow::int64()),
      arrow::field(column::kCrc32c, arrow::uint32()),
      arrow::field(column::kInline, arrow::binary()),
      required(column::kTime, arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")),
      arrow::field(column::kNan, arrow::int64()),
      arrow::field(column::kPosInf, arrow::int64()),
      arrow::field(column::kNegInf, arrow::int64()),
      arrow::field(column::kZero, arrow::int64()),
      arrow::field(column::kCollections, arrow::list(arrow::utf8())),
  };
  reductions.for_each([&](Reduction reduction) {
    fields.push_back(arrow::field(std::string(to_string(reduction)), arrow::float64()));
  });
  return arrow::schema(std::move(fields), identity_metadata(identity));
}

// Builders for the columns of one batch.
struct Columns {
  arrow::Int64Builder step, mode_step, elements, offset, length, nan, pos_inf, neg_inf, zero;
  arrow::TimestampBuilder time{arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"),
                               arrow::default_memory_pool()};
  arrow::Int8Builder mode, worker, dtype;
  arrow::StringBuilder tensor;
  arrow::ListBuilder shape{arrow::default_memory_pool(), std::make_shared<arrow::Int64Builder>()};
  arrow::Int64Builder& extents = static_cast<arrow::Int64Builder&>(*shape.value_builder());
  arrow::UInt32Builder crc32c;
  arrow::BinaryBuilder inline_value;
  arrow::ListBuilder collections{arrow::default_memory_pool(),
                                 std::make_shared<arrow::StringBuilder>()};
  arrow::StringBuilder& joined = static_cast<arrow::StringBuilder&>(*collections.value_builder());
  std::vector<arrow::DoubleBuilder> reductions;
};

template <class Builder, class Value>
void append(Builder& builder, const std::optional<Value>& value) {
  require(value ? builder.Append(*value) : builder.AppendNull());
}

}  // namespace

struct IndexWriter::State {
  State(const SegmentIdentity& identity, ReductionSet reduction_columns)
      : columns(reduction_columns),
        schema(index_schema(identity, reduction_columns)),
        modes(mode_dictionary()),
        dtypes(dtype_dictionary()),
        workers(dictionary_of(std::array{identity.worker})),
        file(schema) {}

  std::shared_ptr<arrow::RecordBatch> batch_of(const StepHeader& header,
                                               std::span<const IndexRow> rows) const;

  void merge_gathered();

  ReductionSet columns;
  std::shared_ptr<arrow::Schema> schema;
  std::shared_ptr<arrow::Array> modes, dtypes, workers;
  ChainedFile file;
  arrow::RecordBatchVector batches;
  std::size_t merged_until = 0;  // those behind were not looked at for merging yet

  // At the last mark.
  ChainedFile::Position marked;
  std::size_t marked_batches = 0;
};

void IndexWriter::State::merge_gathered() {
  const auto gathered = std::span(batches).subspan(merged_until);
  if (gathered.size() < kGatheredBatches) return;
  std::int64_t rows = 0, bytes = 0;
  for (const auto& batch : gathered) {
    rows += batch->num_rows();
    bytes += arrow::util::TotalBufferSize(*batch);
  }
  if (rows <= kSealedBatchRows && bytes <= kSealedBatchBytes) {
    auto one = merged(gathered);
    batches.resize(merged_until);
    batches.push_back(std::move(one));
  }
  merged_until = batches.size();
}

std::shared_ptr<arrow::RecordBatch> IndexWriter::State::batch_of(
    const StepHeader& header, std::span<const IndexRow> index_rows) const {
  Columns c;
  for (std::size_t i = 0; i < columns.size(); ++i) c.reductions.emplace_back();
  const bool any_joined =
      std::ranges::any_of(index_rows, [](const IndexRow& row) { return !row.collections.empty(); });
  if (!any_joined) require(c.collections.AppendNulls(static_cast<std::int64_t>(index_rows.size())));
  const auto mode_code =
      static_cast<std::int8_t>(static_cast<int>(header.mode) - static_cast<int>(Mode::Train));
  for (const IndexRow& row : index_rows) {
    require(c.step.Append(header.step));
    require(c.mode.Append(mode_code));
    require(c.mode_step.Append(header.mode_step));
    require(c.worker.Append(0));
    require(c.tensor.Append(row.tensor));
    require(c.dtype.Append(static_cast<std::int8_t>(row.dtype)));
    if (row.shape != nullptr) {
      require(c.shape.Append());
      require(
          c.extents.AppendValues(row.shape->begin(), static_cast<std::int64_t>(row.shape->rank())));
    } else {
      require(c.shape.AppendNull());
    }
    require(c.elements.Append(row.elements));
    std::optional<std::int64_t> offset, length, nan, pos_inf, neg_inf, zero;
    std::optional<std::uint32_t> crc;
    if (row.location) {
      offset = static_cast<std::int64_t>(row.location->offset);
      length = static_cast<std::int64_t>(row.location->length);
      crc = row.location->crc32c;
    }
    if (row.counts) {
      nan = row.counts->nan, pos_inf = row.counts->pos_inf;
      neg_inf = row.counts->neg_inf, zero = row.counts->zero;
    }
    append(c.offset, offset);
    append(c.length, length);
    append(c.crc32c, crc);
    if (row.inline_value) {
      require(c.inline_value.Append(reinterpret_cast<const std::uint8_t*>(row.inline_value->data()),
                                    static_cast<std::int32_t>(row.inline_value->size())));
    } else {
      require(c.inline_value.AppendNull());
    }
    require(c.time.Append(header.time_us));
    append(c.nan, nan);
    append(c.pos_inf, pos_inf);
    append(c.neg_inf, neg_inf);
    append(c.zero, zero);
    if (!row.collections.empty()) {
      require(c.collections.Append());
      for (const std::string& name : row.collections) require(c.joined.Append(name));
    } else if (any_joined) {
      require(c.collections.AppendNull());
    }
    std::size_t next = 0;
    columns.for_each(
        [&](Reduction reduction) { append(c.reductions[next++], row.reductions.get(reduction)); });
  }
  const auto coded = [](arrow::Int8Builder& codes,
                        const std::shared_ptr<arrow::Array>& dictionary) {
    return std::make_shared<arrow::DictionaryArray>(code_type(), require(codes.Finish()),
                                                    dictionary);
  };
  arrow::ArrayVector arrays = {
      require(c.step.Finish()),    coded(c.mode, modes),         require(c.mode_step.Finish()),
      coded(c.worker, workers),    require(c.tensor.Finish()),   coded(c.dtype, dtypes),
      require(c.shape.Finish()),   require(c.elements.Finish()), require(c.offset.Finish()),
      require(c.length.Finish()),  require(c.crc32c.Finish()),   require(c.inline_value.Finish()),
      require(c.time.Finish()),    require(c.nan.Finish()),      require(c.pos_inf.Finish()),
      require(c.neg_inf.Finish()), require(c.zero.Finish()),     require(c.collections.Finish()),
  };
  for (arrow::DoubleBuilder& reduction : c.reductions)
    arrays.push_back(require(reduction.Finish()));
  return arrow::RecordBatch::Make(schema, static_cast<std::int64_t>(index_rows.size()),
                                  std::move(arrays));
}

IndexWriter::IndexWriter(const SegmentIdentity& identity, ReductionSet columns)
    : state_(std::make_unique<State>(identity, columns)) {}
IndexWriter::~IndexWriter() = default;
IndexWriter::IndexWriter(IndexWriter&&) noexcept = default;
IndexWriter& IndexWriter::operator=(IndexWriter&&) noexcept = default;

// Columns of fixed width, offsets and bits that say what is null; then what depends on the row.
std::uint64_t IndexWriter::most_bytes(ReductionSet columns,
                                      std::span<const IndexRow> rows) noexcept {
  constexpr std::uint64_t kBesideRows = std::uint64_t{64} << 10U;  // headers, schema, padding
  constexpr std::uint64_t kOfEachRow = 128;
  std::uint64_t bytes =
      kBesideRows + rows.size() * (kOfEachRow + 9 * std::uint64_t{columns.size()});
  for (const IndexRow& row : rows) {
    bytes += row.tensor.size();
    if (row.shape != nullptr) bytes += row.shape->rank() * sizeof(std::int64_t);
    if (row.inline_value) bytes += row.inline_value->size();
    for (const std::string& name : row.collections) bytes += name.size() + sizeof(std::int32_t);
  }
  return bytes;
}

std::vector<std::byte> IndexWriter::encode_step(const StepHeader& header,
                                                std::span<const IndexRow> rows) {
  auto batch = state_->batch_of(header, rows);
  std::vector<std::byte> bytes;
  state_->file.add(*batch, bytes);
  state_->batches.push_back(std::move(batch));
  return bytes;
}

void IndexWriter::mark() noexcept {
  state_->marked = state_->file.position();
  try {
    state_->merge_gathered();
  } catch (const std::exception&) {  // then they stay as they are
  }
  state_->marked_batches = state_->batches.size();
}

void IndexWriter::take_back() {
  state_->file.go_back_to(state_->marked);
  state_->batches.resize(state_->marked_batches);
}

std::vector<std::byte> IndexWriter::seal(std::optional<std::uint32_t> collections_crc32c) const {
  return sealed_index(state_->schema, state_->batches, collections_crc32c);
}

}  // namespace cupel
