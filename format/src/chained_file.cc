#include "chained_file.h"

#include <arrow/array/concatenate.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>

#include <string>
#include <utility>

#include "arrow_support.h"
#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "ipc_message.h"
#include "schema_identity.h"

namespace cupel::format_detail {
namespace {

std::shared_ptr<const arrow::KeyValueMetadata> placeholder() {
  return arrow::key_value_metadata({std::string(kChecksumKey)},
                                   {std::string(kChecksumPlaceholder)});
}

// Returns the schema with the checksum of the collections file that the rows need.
std::shared_ptr<arrow::Schema> schema_that_needs(const arrow::Schema& schema,
                                                 std::uint32_t collections_crc32c) {
  auto metadata = schema.metadata()->Copy();
  metadata->Append(kCollectionsChecksumKey, std::to_string(collections_crc32c));
  return schema.WithMetadata(std::move(metadata));
}

// The digits are in the first bytes, the metadata: tensor names in the body may contain anything.
std::uint32_t fill_in_checksum(std::span<std::byte> message, std::size_t metadata_length,
                               std::uint32_t seed) {
  const auto digits = find_checksum_digits(message.first(metadata_length));
  if (!digits) throw Error("Arrow did not write the checksum's place");
  return patch_checksum(message, *digits, seed);
}

}  // namespace

void ChainedFile::add(const arrow::RecordBatch& batch, std::vector<std::byte>& bytes) {
  const std::size_t before = bytes.size();
  const IpcMessage message = file_.add(batch, placeholder(), bytes);
  const std::size_t begin = bytes.size() - static_cast<std::size_t>(message.size());
  chain_ = crc32c(std::span(bytes).subspan(before, begin - before), chain_);
  chain_ = fill_in_checksum(std::span(bytes).subspan(begin),
                            static_cast<std::size_t>(message.metadata_length), chain_);
}

void ChainedFile::finish(std::vector<std::byte>& bytes) {
  std::vector<std::byte> end = file_.end(placeholder());
  chain_ = fill_in_checksum(end, end.size(), chain_);
  bytes.insert(bytes.end(), end.begin(), end.end());
}

void ChainedFile::go_back_to(const Position& position) {
  file_.forget_messages_from(position.messages);
  chain_ = position.chain;
}

std::shared_ptr<arrow::RecordBatch> merged(
    std::span<const std::shared_ptr<arrow::RecordBatch>> batches) {
  std::int64_t rows = 0;
  for (const auto& batch : batches) rows += batch->num_rows();
  arrow::ArrayVector columns;
  for (int column = 0; column < batches.front()->num_columns(); ++column) {
    arrow::ArrayVector pieces;
    for (const auto& batch : batches) pieces.push_back(batch->column(column));
    columns.push_back(require(arrow::Concatenate(pieces)));
  }
  return arrow::RecordBatch::Make(batches.front()->schema(), rows, std::move(columns));
}

std::vector<std::byte> sealed_index(const std::shared_ptr<arrow::Schema>& schema,
                                    std::span<const std::shared_ptr<arrow::RecordBatch>> batches,
                                    std::optional<std::uint32_t> collections_crc32c) {
  ChainedFile file(collections_crc32c ? schema_that_needs(*schema, *collections_crc32c) : schema);
  std::vector<std::byte> bytes;
  for (std::size_t begin = 0; begin < batches.size();) {
    std::size_t end = begin;
    std::int64_t rows = 0, size = 0;
    do {
      size += arrow::util::TotalBufferSize(*batches[end]);
      rows += batches[end++]->num_rows();
    } while (end < batches.size() && rows + batches[end]->num_rows() <= kSealedBatchRows &&
             size + arrow::util::TotalBufferSize(*batches[end]) <= kSealedBatchBytes);
    file.add(*merged(batches.subspan(begin, end - begin)), bytes);
    begin = end;
  }
  file.finish(bytes);
  return bytes;
}

}  // namespace cupel::format_detail
