#pragma once

#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ipc_message.h"

namespace cupel::format_detail {

/// A message of an Arrow file: its kind, and the lengths of its two parts.
struct IpcMessage {
  MessageType type = MessageType::Schema;
  std::int32_t metadata_length = 0;  ///< Includes the 8 bytes before the metadata, and padding.
  std::int64_t body_length = 0;
  std::uint64_t size() const noexcept {
    return static_cast<std::uint64_t>(metadata_length) + static_cast<std::uint64_t>(body_length);
  }
};

/// Encodes the messages of an Arrow file one after another, and the file's end.
///
/// Arrow makes every message. This class keeps the list of messages, which the footer needs. A call
/// that throws adds no message to the list.
class IpcFile {
 public:
  explicit IpcFile(std::shared_ptr<arrow::Schema> schema);

  /// Appends the message of `batch` to `bytes`; before the first one, what begin() appends.
  IpcMessage add(const arrow::RecordBatch& batch,
                 const std::shared_ptr<const arrow::KeyValueMetadata>& metadata,
                 std::vector<std::byte>& bytes);

  /// Does the same without the bytes of the last buffer and without the padding behind it. Arrow
  /// needs the size of this buffer only and never reads its bytes.
  IpcMessage add_without_last_buffer(const arrow::RecordBatch& batch,
                                     std::vector<std::byte>& bytes);

  /// Appends the first bytes of a file with such batches to `bytes`: magic, schema, dictionaries.
  void begin(const arrow::RecordBatch& batch, std::vector<std::byte>& bytes);

  /// The number of messages so far, schema and dictionaries included.
  std::size_t message_count() const noexcept { return messages_.size(); }
  /// Forgets all messages but the first `count`: their bytes did not get into the file.
  void forget_messages_from(std::size_t count);

  /// The number of the file's bytes so far.
  std::uint64_t size() const noexcept { return size_; }

  /// The file's last bytes: end-of-stream, and a footer that lists the messages.
  std::vector<std::byte> end(
      const std::shared_ptr<const arrow::KeyValueMetadata>& metadata = nullptr) const;

 private:
  template <class Encode>
  IpcMessage add_batch(const arrow::RecordBatch& batch, std::vector<std::byte>& bytes,
                       Encode&& encode);
  IpcMessage append(const arrow::ipc::IpcPayload& payload, std::vector<std::byte>& bytes);

  std::shared_ptr<arrow::Schema> schema_;
  arrow::ipc::DictionaryFieldMapper mapper_;
  std::vector<IpcMessage> messages_;
  std::uint64_t size_ = 0;
};

/// The last bytes of the Arrow file that has the magic, then `messages` one behind another, whoever
/// encoded them: end-of-stream, footer, the footer's length, and the magic.
std::vector<std::byte> ipc_file_end(
    const std::shared_ptr<arrow::Schema>& schema, std::span<const IpcMessage> messages,
    const std::shared_ptr<const arrow::KeyValueMetadata>& metadata = nullptr);

}  // namespace cupel::format_detail
