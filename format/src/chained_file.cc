#include "chained_file.h"

#include <arrow/array/concatenate.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>
#include <arrow/util/key_value_metadata.h>

#include <string>
#include <utility>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "ipc_message.h"
#include "schema_identity.h"

namespace cupel {
namespace {

std::shared_ptr<const arrow::KeyValueMetadata> placeholder() {
  return arrow::key_value_metadata({std::string(kChecksumKey)},
                                   {std::string(kChecksumPlaceholder)});
}

// The same with the checksum of the collections file that the rows need.
std::shared_ptr<arrow::Schema> schema_that_needs(const arrow::Schema& schema,
                                                 std::uint32_t collections_crc32c) {
  auto metadata = schema.metadata()->Copy();
  metadata->Append(kCollectionsChecksumKey, std::to_string(collections_crc32c));
  return schema.WithMetadata(std::move(metadata));
}

}  // namespace

ChainedFile::ChainedFile(const std::shared_ptr<arrow::Schema>& schema)
    : writer_(require(arrow::ipc::MakeFileWriter(
          &sink_, schema, arrow::ipc::IpcWriteOptions::Defaults(), placeholder()))) {}

std::vector<std::byte> ChainedFile::add(const arrow::RecordBatch& batch) {
  require(writer_->WriteRecordBatch(batch, placeholder()));
  std::vector<std::byte> bytes = sink_.drain();
  const std::size_t message = begin_of_last_message(bytes);
  chain_ = crc32c(std::span(bytes).first(message), chain_);
  patch(std::span(bytes).subspan(message));
  return bytes;
}

std::vector<std::byte> ChainedFile::finish() {
  require(writer_->Close());
  std::vector<std::byte> bytes = sink_.drain();
  patch(bytes);
  return bytes;
}

std::size_t ChainedFile::begin_of_last_message(std::span<const std::byte> bytes) {
  std::size_t position = std::exchange(first_, false) ? kArrowHeaderBytes : 0;
  for (;;) {
    const FrameResult result = read_frame(bytes.subspan(position));
    if (result.kind != FrameKind::Message)
      throw Error("Arrow wrote a message that cannot be read back");
    if (position + result.frame.size() == bytes.size()) return position;
    position += result.frame.size();
  }
}

// The tag is looked for in the metadata only: tensor names in the body may contain anything.
void ChainedFile::patch(std::span<std::byte> bytes) {
  std::span<const std::byte> metadata = bytes;
  if (const FrameResult result = read_frame(bytes); result.kind == FrameKind::Message) {
    metadata = bytes.first(result.frame.body_begin);
  }
  const auto digits = find_checksum_digits(metadata);
  if (!digits) throw Error("Arrow did not write the checksum's place");
  chain_ = patch_checksum(bytes, *digits, chain_);
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
  const auto append_all = [&](const std::vector<std::byte>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  for (std::size_t begin = 0; begin < batches.size();) {
    std::size_t end = begin;
    std::int64_t rows = 0, size = 0;
    do {
      size += arrow::util::TotalBufferSize(*batches[end]);
      rows += batches[end++]->num_rows();
    } while (end < batches.size() && rows + batches[end]->num_rows() <= kSealedBatchRows &&
             size + arrow::util::TotalBufferSize(*batches[end]) <= kSealedBatchBytes);
    append_all(file.add(*merged(batches.subspan(begin, end - begin))));
    begin = end;
  }
  append_all(file.finish());
  return bytes;
}

}  // namespace cupel
