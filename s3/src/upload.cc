// Puts an object: one PUT, or an upload in parts where it is larger than S3Options::largest_put.
//
// The caller's thread uploads, with helpers for the parts of one call. Each request is retried by
// Session. When a part fails in the end, the upload is aborted, so that the service keeps no parts,
// and the first failure is thrown. A failure of the last request may mean that only its answer was
// lost: the object is then compared with what was uploaded, by checksum and size. Readers see the
// old object or the whole new one.

#include "upload.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "cupel/core/crc32c.h"
#include "cupel/core/error.h"
#include "cupel/core/number_text.h"
#include "parallel.h"
#include "replies.h"

namespace cupel::s3_detail {
namespace {

constexpr std::uint64_t kMostParts = 10'000;
constexpr std::size_t kLongestId = 4096;
constexpr int kPatience = 10;  // completing an upload may take the service minutes

Call put_call(Session& session, std::string_view key, const char* action) {
  Call call;
  call.action = action;
  call.permission = "s3:PutObject";
  call.method = "PUT";
  call.key = key;
  call.object = session.location().object_name(key);
  return call;
}

void add_metadata(Call& call, const std::string& checksum, std::size_t size) {
  call.headers.emplace_back(kChecksumHeader, checksum);
  call.headers.emplace_back(kSizeHeader, std::to_string(size));
}

/// An upload in parts.
class Upload {
 public:
  Upload(Session& session, std::string_view key, std::span<const std::byte> bytes)
      : session_(session), key_(key), bytes_(bytes), checksum_(checksum_text(bytes)) {
    const std::uint64_t least = (bytes.size() + kMostParts - 1) / kMostParts;
    part_size_ = std::max(session.options().part_size, least);
    etags_.resize(static_cast<std::size_t>((bytes.size() + part_size_ - 1) / part_size_));
  }

  void run() {
    begin();
    try {
      run_parallel(etags_.size(), session_.options().parallel, [this](std::size_t i) { put(i); });
      complete();
    } catch (...) {
      abandon();
      throw;
    }
  }

 private:
  void begin() {
    Call call = put_call(session_, key_, "begin an upload");
    call.method = "POST";
    call.query = "uploads=";
    add_metadata(call, checksum_, bytes_.size());
    std::string id;
    call.flaw = [&](const HttpResponse& response) {
      id = read_element(response.text(), "InitiateMultipartUploadResult/UploadId").value_or("");
      return id.empty() || id.size() > kLongestId ? "the id of the upload is missing" : nullptr;
    };
    session_.call(call);
    id_ = "uploadId=" + percent_encode(id, Slashes::Encode);
  }

  void put(std::size_t part) {
    const std::uint64_t offset = part * part_size_;
    Call call = put_call(session_, key_, "upload a part of the object");
    call.query = "partNumber=" + std::to_string(part + 1) + "&" + id_;
    call.body = bytes_.subspan(static_cast<std::size_t>(offset));
    call.body = call.body.first(std::min<std::size_t>(call.body.size(), part_size_));
    call.flaw = [](const HttpResponse& response) {
      return response.header("etag").empty() ? "its ETag is missing" : nullptr;
    };
    etags_[part] = session_.call(call).header("etag");
  }

  std::string manifest() const {
    std::string text = "<CompleteMultipartUpload>";
    for (std::size_t i = 0; i < etags_.size(); ++i)
      text += "<Part><PartNumber>" + std::to_string(i + 1) + "</PartNumber><ETag>" +
              escaped(etags_[i]) + "</ETag></Part>";
    return text + "</CompleteMultipartUpload>";
  }

  static std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) switch (c) {
        case '&':
          result += "&amp;";
          break;
        case '<':
          result += "&lt;";
          break;
        case '>':
          result += "&gt;";
          break;
        default:
          result += c;
      }
    return result;
  }

  void complete() {
    const std::string text = manifest();
    Call call = put_call(session_, key_, "complete an upload");
    call.method = "POST";
    call.query = id_;
    call.body = std::as_bytes(std::span(text));
    call.patience = kPatience;
    // An error may follow a 200 that the service sent to keep the connection alive.
    call.flaw = [](const HttpResponse& response) {
      const bool done = read_element(response.text(), "CompleteMultipartUploadResult").has_value();
      return done ? nullptr : "the upload is not complete";
    };
    try {
      session_.call(call);
    } catch (const StoreError&) {
      // Where the answer was lost, a retry finds no upload, although the object is there.
      if (!is_there()) throw;
    }
  }

  bool is_there() {
    Call call = put_call(session_, key_, "check that an upload is complete");
    call.method = "HEAD";
    call.answers = {404};
    const HttpResponse response = session_.call(call);
    return response.ok() && response.header(kChecksumHeader) == checksum_ &&
           response.header("content-length") == std::to_string(bytes_.size());
  }

  void abandon() noexcept {
    try {
      Call call = put_call(session_, key_, "abandon an upload");
      call.method = "DELETE";
      call.query = id_;
      call.answers = {404};
      session_.call(call);
    } catch (const std::exception&) {  // the caller throws the first failure
    }
  }

  Session& session_;
  const std::string_view key_;
  const std::span<const std::byte> bytes_;
  const std::string checksum_;
  std::uint64_t part_size_ = 0;
  std::string id_;
  std::vector<std::string> etags_;
};

}  // namespace

std::string checksum_text(std::span<const std::byte> bytes) {
  return hexadecimal_text(crc32c(bytes), 8);
}

void upload(Session& session, std::string_view key, std::span<const std::byte> bytes) {
  if (bytes.size() > session.options().largest_put) {
    Upload(session, key, bytes).run();
    return;
  }
  Call call = put_call(session, key, "write the object");
  call.body = bytes;
  call.headers = {{"Content-Type", "application/octet-stream"}};
  add_metadata(call, checksum_text(bytes), bytes.size());
  session.call(call);
}

}  // namespace cupel::s3_detail
