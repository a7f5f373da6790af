// Encodes the rows of index files. A step becomes one batch of columns, which ChainedFile makes a
// message of the file. The batches stay in memory until the segment is sealed; when many small ones
// have gathered, they are merged. mark() and take_back() follow the file: the steps behind the last
// mark are forgotten when their bytes did not get into it. The background thread of a hook uses a
// writer; a failure of Arrow is an Error or std::bad_alloc and leaves the marked steps as they are.

#include "cupel/format/index_writer.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>

#include <algorithm>
#include <array>
#include <climits>

#include "arrow_support.h"
#include "chained_file.h"
#include "cupel/core/error.h"
#include "cupel/format/layout.h"
#include "index_columns.h"
#include "index_dictionaries.h"

namespace cupel {

using namespace format_detail;

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

// Makes the columns of one batch. Columns of numbers are filled in one loop each, without the
// checks that Arrow's builders make at every value.
class ColumnEncoder {
 public:
  explicit ColumnEncoder(std::span<const IndexRow> rows)
      : rows_(rows), count_(static_cast<std::int64_t>(rows.size())) {}

  /// The column whose value is value_of(row), which is a T.
  template <class T, class ValueOf>
  std::shared_ptr<arrow::ArrayData> required(const std::shared_ptr<arrow::DataType>& type,
                                             ValueOf&& value_of) const {
    std::shared_ptr<arrow::Buffer> values = buffer_of<T>(rows_.size());
    std::ranges::transform(rows_, values->mutable_data_as<T>(), value_of);
    return arrow::ArrayData::Make(type, count_, {nullptr, std::move(values)}, 0);
  }

  /// The column whose value is value_of(row), which is an optional T; null where it is empty.
  template <class T, class ValueOf>
  std::shared_ptr<arrow::ArrayData> nullable(const std::shared_ptr<arrow::DataType>& type,
                                             ValueOf&& value_of) const {
    std::shared_ptr<arrow::Buffer> values = buffer_of<T>(rows_.size());
    T* const to = values->mutable_data_as<T>();
    Validity validity(count_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::optional<T> value = value_of(rows_[i]);
      to[i] = value.value_or(T{});
      validity.set(i, value.has_value());
    }
    return arrow::ArrayData::Make(type, count_, {validity.bits(), std::move(values)},
                                  validity.nulls());
  }

  std::shared_ptr<arrow::ArrayData> tensors() const {
    arrow::StringBuilder builder;
    std::size_t bytes = 0;
    for (const IndexRow& row : rows_) bytes += row.tensor.size();
    require(builder.Reserve(count_));
    require(builder.ReserveData(static_cast<std::int64_t>(bytes)));
    for (const IndexRow& row : rows_) builder.UnsafeAppend(row.tensor);
    return require(builder.Finish())->data();
  }

  std::shared_ptr<arrow::ArrayData> shapes() const {
    std::size_t extents = 0;
    for (const IndexRow& row : rows_) extents += row.shape == nullptr ? 0 : row.shape->rank();
    if (extents > std::size_t{INT32_MAX}) throw UsageError("too many extents for a batch");
    std::shared_ptr<arrow::Buffer> values = buffer_of<std::int64_t>(extents);
    std::shared_ptr<arrow::Buffer> offsets = buffer_of<std::int32_t>(rows_.size() + 1);
    Validity validity(count_);
    std::int64_t* const begin = values->mutable_data_as<std::int64_t>();
    std::int64_t* to = begin;
    std::int32_t* const ends = offsets->mutable_data_as<std::int32_t>();
    ends[0] = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Shape* const shape = rows_[i].shape;
      if (shape != nullptr) to = std::ranges::copy(*shape, to).out;
      ends[i + 1] = static_cast<std::int32_t>(to - begin);
      validity.set(i, shape != nullptr);
    }
    auto child = arrow::ArrayData::Make(arrow::int64(), static_cast<std::int64_t>(extents),
                                        {nullptr, std::move(values)}, 0);
    return arrow::ArrayData::Make(arrow::list(arrow::int64()), count_,
                                  {validity.bits(), std::move(offsets)}, {std::move(child)},
                                  validity.nulls());
  }

  std::shared_ptr<arrow::ArrayData> inline_values() const {
    arrow::BinaryBuilder builder;
    require(builder.Reserve(count_));
    for (const IndexRow& row : rows_) {
      require(row.inline_value ? builder.Append(std::string_view(
                                     reinterpret_cast<const char*>(row.inline_value->data()),
                                     row.inline_value->size()))
                               : builder.AppendNull());
    }
    return require(builder.Finish())->data();
  }

  std::shared_ptr<arrow::ArrayData> collections() const {
    const auto names = std::make_shared<arrow::StringBuilder>();
    arrow::ListBuilder builder(arrow::default_memory_pool(), names);
    if (std::ranges::all_of(rows_, [](const IndexRow& row) { return row.collections.empty(); })) {
      require(builder.AppendNulls(count_));
    } else {
      for (const IndexRow& row : rows_) {
        require(row.collections.empty() ? builder.AppendNull() : builder.Append());
        for (const std::string& name : row.collections) require(names->Append(name));
      }
    }
    return require(builder.Finish())->data();
  }

 private:
  // A bit for each row that has a value.
  class Validity {
   public:
    explicit Validity(std::int64_t rows)
        : bits_(require(arrow::AllocateEmptyBitmap(rows))), nulls_(rows) {}
    void set(std::size_t row, bool has_value) noexcept {
      bits_->mutable_data()[row / 8] |= static_cast<std::uint8_t>(has_value << (row % 8));
      nulls_ -= has_value;
    }
    std::int64_t nulls() const noexcept { return nulls_; }
    std::shared_ptr<arrow::Buffer> bits() const { return nulls_ == 0 ? nullptr : bits_; }

   private:
    std::shared_ptr<arrow::Buffer> bits_;
    std::int64_t nulls_;
  };

  template <class T>
  static std::shared_ptr<arrow::Buffer> buffer_of(std::size_t count) {
    return require(arrow::AllocateBuffer(static_cast<std::int64_t>(count * sizeof(T))));
  }

  std::span<const IndexRow> rows_;
  std::int64_t count_;
};

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
  std::size_t merged_until = 0;  // batches behind this one were not merged yet

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
    const StepHeader& header, std::span<const IndexRow> rows) const {
  const ColumnEncoder encode(rows);
  const auto same = [&]<class T>(const std::shared_ptr<arrow::DataType>& type, T value) {
    return encode.required<T>(type, [value](const IndexRow&) { return value; });
  };
  const auto coded = [](std::shared_ptr<arrow::ArrayData> codes,
                        const std::shared_ptr<arrow::Array>& dictionary) {
    codes->type = code_type();
    codes->dictionary = dictionary->data();
    return codes;
  };
  const auto located = [&](auto field) {
    return encode.nullable<std::int64_t>(arrow::int64(), [field](const IndexRow& row) {
      return row.location ? std::optional(static_cast<std::int64_t>((*row.location).*field))
                          : std::nullopt;
    });
  };
  const auto counted = [&](auto field) {
    return encode.nullable<std::int64_t>(arrow::int64(), [field](const IndexRow& row) {
      return row.counts ? std::optional((*row.counts).*field) : std::nullopt;
    });
  };
  const auto mode_code =
      static_cast<std::int8_t>(static_cast<int>(header.mode) - static_cast<int>(Mode::Train));
  // In the order of the schema.
  arrow::ArrayDataVector arrays = {
      same(arrow::int64(), header.step),
      coded(same(arrow::int8(), mode_code), modes),
      same(arrow::int64(), header.mode_step),
      coded(same(arrow::int8(), std::int8_t{0}), workers),
      encode.tensors(),
      coded(encode.required<std::int8_t>(
                arrow::int8(),
                [](const IndexRow& row) { return static_cast<std::int8_t>(row.dtype); }),
            dtypes),
      encode.shapes(),
      encode.required<std::int64_t>(arrow::int64(), &IndexRow::elements),
      located(&ValueLocation::offset),
      located(&ValueLocation::length),
      encode.nullable<std::uint32_t>(arrow::uint32(),
                                     [](const IndexRow& row) {
                                       return row.location ? std::optional(row.location->crc32c)
                                                           : std::nullopt;
                                     }),
      encode.inline_values(),
      same(arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), header.time_us),
      counted(&ValueCounts::nan),
      counted(&ValueCounts::pos_inf),
      counted(&ValueCounts::neg_inf),
      counted(&ValueCounts::zero),
      encode.collections(),
  };
  columns.for_each([&](Reduction reduction) {
    arrays.push_back(encode.nullable<double>(arrow::float64(), [reduction](const IndexRow& row) {
      return row.reductions.get(reduction);
    }));
  });
  return arrow::RecordBatch::Make(schema, static_cast<std::int64_t>(rows.size()),
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
  } catch (const std::exception&) {  // the batches stay as they are
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
