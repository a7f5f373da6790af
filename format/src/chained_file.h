#pragma once

#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "arrow_support.h"

namespace cupel {

// An index file as it is written: batches and footer carry the chain of checksums. Arrow writes
// into a sink in memory; after each batch the sink is drained, the batch's checksum is computed
// over its message and patched into its metadata, and the bytes are the caller's to append.
//
// Each checksum is seeded with the one before, the first with the CRC of all bytes before its
// message, and a sealed file's footer ends the chain, so that no byte of a file is outside it.
class ChainedFile {
 public:
  explicit ChainedFile(const std::shared_ptr<arrow::Schema>& schema);

  // The batch's message; the first one comes with magic, schema and dictionaries before it.
  std::vector<std::byte> add(const arrow::RecordBatch& batch);
  // End-of-stream and footer.
  std::vector<std::byte> finish();

  std::uint32_t chain() const noexcept { return chain_; }
  // Takes the place of a file whose last checksum this was.
  void go_on_behind(std::uint32_t chain) noexcept { chain_ = chain; }

 private:
  std::size_t begin_of_last_message(std::span<const std::byte> bytes);
  void patch(std::span<std::byte> bytes);

  DrainSink sink_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
  std::uint32_t chain_ = 0;
  bool first_ = true;
};

// Sealed batches hold whole steps up to this many rows, and bytes, which names of collections can
// make many; a larger step is a batch of its own.
inline constexpr std::int64_t kSealedBatchRows = 16384;
inline constexpr std::int64_t kSealedBatchBytes = std::int64_t{128} << 20U;

// One batch with the rows of all, which have the same schema and dictionaries.
std::shared_ptr<arrow::RecordBatch> merged(
    std::span<const std::shared_ptr<arrow::RecordBatch>> batches);

// The sealed file of batches that hold whole steps; not empty. It names the collections file that
// its steps need by its checksum, where there is one.
std::vector<std::byte> sealed_index(const std::shared_ptr<arrow::Schema>& schema,
                                    std::span<const std::shared_ptr<arrow::RecordBatch>> batches,
                                    std::optional<std::uint32_t> collections_crc32c);

}  // namespace cupel
