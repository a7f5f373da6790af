#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include <memory>
#include <string>
#include <utility>

#include "arrow_support.h"
#include "chained_file.h"
#include "cupel/format/index_salvage.h"
#include "index_columns.h"
#include "schema_identity.h"

namespace cupel {

using namespace format_detail;

std::vector<std::byte> seal_salvaged(std::span<const SalvagedRows> parts, std::int64_t segment,
                                     std::optional<std::uint32_t> collections_crc32c) {
  arrow::RecordBatchVector batches;
  std::shared_ptr<arrow::Schema> schema;
  for (const SalvagedRows& part : parts) {
    const auto whole = std::static_pointer_cast<const arrow::RecordBatch>(part.batch->memory);
    auto batch = whole->Slice(0, static_cast<std::int64_t>(part.values.size()));
    arrow::Int64Builder offsets, lengths;
    arrow::UInt32Builder checksums;
    for (const std::optional<ValueLocation>& value : part.values) {
      require(value ? offsets.Append(static_cast<std::int64_t>(value->offset))
                    : offsets.AppendNull());
      require(value ? lengths.Append(static_cast<std::int64_t>(value->length))
                    : lengths.AppendNull());
      require(value ? checksums.Append(value->crc32c) : checksums.AppendNull());
    }
    const auto set = [&](const char* column, const std::shared_ptr<arrow::Array>& values) {
      const int index = batch->schema()->GetFieldIndex(column);
      if (index >= 0)
        batch = require(batch->SetColumn(index, batch->schema()->field(index), values));
    };
    set(column::kOffset, require(offsets.Finish()));
    set(column::kLength, require(lengths.Finish()));
    set(column::kCrc32c, require(checksums.Finish()));
    if (!schema) {
      auto metadata = batch->schema()->metadata()->Copy();
      require(metadata->Set("cupel.segment", std::to_string(segment)));
      if (metadata->Contains(kCollectionsChecksumKey))
        require(metadata->Delete(kCollectionsChecksumKey));
      schema = batch->schema()->WithMetadata(std::move(metadata));
    }
    batches.push_back(std::move(batch));
  }
  return sealed_index(schema, batches, collections_crc32c);
}

}  // namespace cupel
