#pragma once

#include <arrow/record_batch.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ipc_file.h"

namespace cupel::format_detail {

// An index file as it is written: batches and footer carry the chain of checksums, in digits that
// are filled in when all other bytes of the message are there.
//
// Each checksum is seeded with the one before, the first with the CRC of all bytes before its
// message, and a sealed file's footer ends the chain, so that no byte of a file is outside it.
class ChainedFile {
 public:
  explicit ChainedFile(const std::shared_ptr<arrow::Schema>& schema) : file_(schema) {}

  // Appends the batch's message to `bytes`; before the first one, magic, schema and dictionaries.
  void add(const arrow::RecordBatch& batch, std::vector<std::byte>& bytes);
  // Appends end-of-stream and footer to `bytes`.
  void finish(std::vector<std::byte>& bytes);

  // The state of the file behind a message.
  struct Position {
    std::size_t messages = 0;
    std::uint32_t chain = 0;
  };
  Position position() const noexcept { return {file_.message_count(), chain_}; }
  // Forgets what was added behind `position`: the bytes did not get into the file.
  void go_back_to(const Position& position);

 private:
  IpcFile file_;
  std::uint32_t chain_ = 0;
};

// Sealed batches hold whole steps up to this many rows, and bytes, which names of collections can
// make many; a larger step is a batch of its own.
inline constexpr std::int64_t kSealedBatchRows = 16384;
inline constexpr std::int64_t kSealedBatchBytes = std::int64_t{128} << 20U;

// Returns one batch with the rows of all batches, which have the same schema and dictionaries.
std::shared_ptr<arrow::RecordBatch> merged(
    std::span<const std::shared_ptr<arrow::RecordBatch>> batches);

// Encodes the sealed file of batches that hold whole steps; there is at least one. The file has the
// checksum of the collections file that its steps need, where there is one.
std::vector<std::byte> sealed_index(const std::shared_ptr<arrow::Schema>& schema,
                                    std::span<const std::shared_ptr<arrow::RecordBatch>> batches,
                                    std::optional<std::uint32_t> collections_crc32c);

}  // namespace cupel::format_detail
