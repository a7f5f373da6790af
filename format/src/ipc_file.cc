// Arrow encodes each message by itself (IpcPayload), so this room knows where a message's parts are
// without a search in what Arrow wrote. The footer is written by Arrow's own file writer, which is
// given the lengths of the messages and no bytes: so the footer of a file whose writer was killed
// is made in the same way as that of a file which is closed, and the encoder of the messages may
// have been another one. The sinks are memory; the only failure is a lack of memory.

#include "ipc_file.h"

#include <arrow/io/interfaces.h>

#include <algorithm>
#include <utility>

#include "arrow_support.h"

namespace cupel::format_detail {
namespace {

/// Appends what Arrow writes to a vector.
class VectorSink final : public arrow::io::OutputStream {
 public:
  explicit VectorSink(std::vector<std::byte>& bytes) : bytes_(bytes) {}

  arrow::Status Write(const void* data, std::int64_t size) override {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), begin, begin + size);
    return arrow::Status::OK();
  }
  using arrow::io::OutputStream::Write;
  arrow::Result<std::int64_t> Tell() const override {
    return static_cast<std::int64_t>(bytes_.size());
  }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

 private:
  std::vector<std::byte>& bytes_;
};

/// Counts the bytes that are written; keeps those behind a call of keep().
class EndSink final : public arrow::io::OutputStream {
 public:
  arrow::Status Write(const void* data, std::int64_t size) override {
    position_ += size;
    return keeps_ ? kept_.Write(data, size) : arrow::Status::OK();
  }
  using arrow::io::OutputStream::Write;
  arrow::Result<std::int64_t> Tell() const override { return position_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }

  void keep() noexcept { keeps_ = true; }
  std::vector<std::byte> take() noexcept { return std::move(bytes_); }

 private:
  std::int64_t position_ = 0;
  bool keeps_ = false;
  std::vector<std::byte> bytes_;
  VectorSink kept_{bytes_};
};

// The numbers of kinds are those of the format.
static_assert(static_cast<int>(arrow::ipc::MessageType::SCHEMA) ==
                  static_cast<int>(MessageType::Schema) &&
              static_cast<int>(arrow::ipc::MessageType::DICTIONARY_BATCH) ==
                  static_cast<int>(MessageType::DictionaryBatch) &&
              static_cast<int>(arrow::ipc::MessageType::RECORD_BATCH) ==
                  static_cast<int>(MessageType::RecordBatch));

arrow::ipc::IpcWriteOptions options() { return arrow::ipc::IpcWriteOptions::Defaults(); }

/// A message of which only the lengths matter.
arrow::ipc::IpcPayload payload_of(const IpcMessage& message) {
  const auto nothing = [](std::int64_t size) {
    return std::make_shared<arrow::Buffer>(nullptr, size);
  };
  arrow::ipc::IpcPayload payload;
  payload.type = static_cast<arrow::ipc::MessageType>(message.type);
  payload.metadata = nothing(message.metadata_length - std::int32_t{kFrameHeader});
  payload.body_buffers = {nothing(message.body_length)};
  payload.body_length = message.body_length;
  return payload;
}

}  // namespace

IpcFile::IpcFile(std::shared_ptr<arrow::Schema> schema)
    : schema_(std::move(schema)), mapper_(*schema_) {}

void IpcFile::begin(const arrow::RecordBatch& batch, std::vector<std::byte>& bytes) {
  bytes.resize(bytes.size() + kArrowHeaderBytes);
  std::ranges::copy(std::as_bytes(std::span(kArrowMagic)), bytes.end() - kArrowHeaderBytes);
  size_ = kArrowHeaderBytes;
  arrow::ipc::IpcPayload payload;
  require(arrow::ipc::GetSchemaPayload(*schema_, options(), mapper_, &payload));
  append(payload, bytes);
  for (const auto& [id, dictionary] : require(arrow::ipc::CollectDictionaries(batch, mapper_))) {
    payload = {};
    require(arrow::ipc::GetDictionaryPayload(id, dictionary, options(), &payload));
    append(payload, bytes);
  }
}

template <class Encode>
IpcMessage IpcFile::add_batch(const arrow::RecordBatch& batch, std::vector<std::byte>& bytes,
                              Encode&& encode) {
  const std::size_t count = messages_.size();
  try {
    if (count == 0) begin(batch, bytes);
    arrow::ipc::IpcPayload payload;
    encode(payload);
    return append(payload, bytes);
  } catch (...) {
    forget_messages_from(count);
    throw;
  }
}

IpcMessage IpcFile::add(const arrow::RecordBatch& batch,
                        const std::shared_ptr<const arrow::KeyValueMetadata>& metadata,
                        std::vector<std::byte>& bytes) {
  return add_batch(batch, bytes, [&](arrow::ipc::IpcPayload& payload) {
    require(arrow::ipc::GetRecordBatchPayload(batch, metadata, options(), &payload));
  });
}

IpcMessage IpcFile::add_without_last_buffer(const arrow::RecordBatch& batch,
                                            std::vector<std::byte>& bytes) {
  return add_batch(batch, bytes, [&](arrow::ipc::IpcPayload& payload) {
    require(arrow::ipc::GetRecordBatchPayload(batch, options(), &payload));
    payload.body_buffers.pop_back();
  });
}

IpcMessage IpcFile::append(const arrow::ipc::IpcPayload& payload, std::vector<std::byte>& bytes) {
  IpcMessage message{static_cast<MessageType>(payload.type), 0, payload.body_length};
  VectorSink sink(bytes);
  require(arrow::ipc::WriteIpcPayload(payload, options(), &sink, &message.metadata_length));
  messages_.push_back(message);
  size_ += message.size();
  return message;
}

void IpcFile::forget_messages_from(std::size_t count) {
  for (; messages_.size() > count; messages_.pop_back()) size_ -= messages_.back().size();
  if (messages_.empty()) size_ = 0;
}

std::vector<std::byte> IpcFile::end(
    const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) const {
  return ipc_file_end(schema_, messages_, metadata);
}

std::vector<std::byte> ipc_file_end(
    const std::shared_ptr<arrow::Schema>& schema, std::span<const IpcMessage> messages,
    const std::shared_ptr<const arrow::KeyValueMetadata>& metadata) {
  EndSink sink;
  const auto writer =
      require(arrow::ipc::internal::MakePayloadFileWriter(&sink, schema, options(), metadata));
  require(writer->Start());
  for (const IpcMessage& message : messages) require(writer->WritePayload(payload_of(message)));
  sink.keep();
  require(writer->Close());
  return sink.take();
}

}  // namespace cupel::format_detail
