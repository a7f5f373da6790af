// One request and its answer on one connection of the AWS runtime.
//
// The runtime's threads call on_headers(), on_body() and on_complete(); the calling thread waits in
// await(), where it also ends a transfer that moves too few bytes, and one whose caller stops. A
// body goes straight into the caller's memory, and never beyond it: more bytes than the request
// allows end the exchange, as do headers of more than 64 KiB. Ending means closing the connection
// and waiting for on_complete(), so that no callback comes later. Each way to fail is a Trouble of
// its own.

#include "crt_exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "cupel/core/ascii.h"
#include "cupel/core/mutex.h"
#include "cupel/core/number_text.h"

namespace cupel::s3_detail {
namespace {

using Stream = Handle<aws_http_stream, aws_http_stream_release>;

constexpr std::size_t kMostHeaderBytes = std::size_t{64} << 10U;
constexpr std::size_t kLongestValue = 4096;
constexpr std::size_t kMostText = std::size_t{64} << 10U;        // of an error, kept
constexpr std::uint64_t kMostRefusal = std::uint64_t{1} << 20U;  // of an error, read
constexpr std::string_view kKept[] = {"content-length",
                                      "content-range",
                                      "etag",
                                      "last-modified",
                                      "retry-after",
                                      "content-type",
                                      "date",
                                      "location",
                                      "x-amz-bucket-region",
                                      "x-amz-request-id",
                                      "x-amz-meta-cupel-crc32c",
                                      "x-amz-meta-cupel-size"};

/// The body of a request, read from the caller's memory.
struct BodyStream {
  aws_input_stream base{};
  std::span<const std::byte> bytes;
  std::size_t position = 0;
  std::atomic<std::uint64_t>* moved = nullptr;
};

BodyStream& body_of(aws_input_stream* stream) { return *static_cast<BodyStream*>(stream->impl); }

// Static, because functions with C linkage have one name in the whole program, also those in an
// anonymous namespace.
extern "C" {

static int seek_body(aws_input_stream* stream, std::int64_t offset, aws_stream_seek_basis basis) {
  BodyStream& body = body_of(stream);
  const auto size = static_cast<std::int64_t>(body.bytes.size());
  const std::int64_t target = basis == AWS_SSB_BEGIN ? offset : size + offset;
  if (target < 0 || target > size) return aws_raise_error(AWS_IO_STREAM_INVALID_SEEK_POSITION);
  body.position = static_cast<std::size_t>(target);
  return AWS_OP_SUCCESS;
}

static int read_body(aws_input_stream* stream, aws_byte_buf* to) {
  BodyStream& body = body_of(stream);
  const auto rest = body.bytes.subspan(body.position);
  const std::size_t size = std::min(rest.size(), to->capacity - to->len);
  if (size > 0) std::memcpy(to->buffer + to->len, rest.data(), size);
  to->len += size;
  body.position += size;
  body.moved->fetch_add(size, std::memory_order_relaxed);
  return AWS_OP_SUCCESS;
}

static int body_status(aws_input_stream* stream, aws_stream_status* status) {
  const BodyStream& body = body_of(stream);
  status->is_end_of_stream = body.position == body.bytes.size();
  status->is_valid = true;
  return AWS_OP_SUCCESS;
}

static int body_length(aws_input_stream* stream, std::int64_t* length) {
  *length = static_cast<std::int64_t>(body_of(stream).bytes.size());
  return AWS_OP_SUCCESS;
}

static void free_body(void* body) { delete static_cast<BodyStream*>(body); }

static int headers_came(aws_http_stream* stream, aws_http_header_block block,
                        const aws_http_header* headers, std::size_t count, void* exchange) {
  return static_cast<Exchange*>(exchange)->on_headers(stream, block, headers, count);
}

static int headers_ended(aws_http_stream*, aws_http_header_block block, void* exchange) {
  return static_cast<Exchange*>(exchange)->on_headers_done(block);
}

static int body_came(aws_http_stream*, const aws_byte_cursor* data, void* exchange) {
  return static_cast<Exchange*>(exchange)->on_body(view(*data));
}

static void stream_completed(aws_http_stream*, int error, void* exchange) {
  static_cast<Exchange*>(exchange)->on_complete(error);
}

}  // extern "C"

const aws_input_stream_vtable kBodyTable = {seek_body,   read_body, body_status,
                                            body_length, nullptr,   nullptr};

using InputStream = Handle<aws_input_stream, aws_input_stream_release>;

InputStream make_body(std::span<const std::byte> bytes, std::atomic<std::uint64_t>& moved) {
  auto* const body = new BodyStream{{}, bytes, 0, &moved};
  body->base.impl = body;
  body->base.vtable = &kBodyTable;
  aws_ref_count_init(&body->base.ref_count, body, free_body);
  return InputStream(&body->base);
}

void add_header(aws_http_message* message, std::string_view name, std::string_view value) {
  aws_http_header header{};
  header.name = cursor(name);
  header.value = cursor(value);
  if (aws_http_message_add_header(message, header) != AWS_OP_SUCCESS) throw std::bad_alloc();
}

}  // namespace

Exchange::Exchange(const HttpRequest& request)
    : request_(request), message_(aws_http_message_new_request(aws_default_allocator())) {
  if (!message_) throw std::bad_alloc();
  aws_http_message_set_request_method(message_.get(), cursor(request.method));
  aws_http_message_set_request_path(message_.get(), cursor(request.target));
  add_header(message_.get(), "Host", request.origin.authority());
  add_header(message_.get(), "User-Agent", "cupel");
  for (const auto& [name, value] : request.headers) add_header(message_.get(), name, value);
  if (request.method == "PUT" || request.method == "POST")
    add_header(message_.get(), "Content-Length", std::to_string(request.body.size()));
  if (request.body.empty()) return;
  const InputStream body = make_body(request.body, moved_);
  aws_http_message_set_body_stream(message_.get(), body.get());  // which shares it
}

HttpResponse Exchange::run(aws_http_connection* connection, const std::stop_token& stop) {
  aws_http_make_request_options options{};
  options.self_size = sizeof options;
  options.request = message_.get();
  options.user_data = this;
  options.on_response_headers = headers_came;
  options.on_response_header_block_done = headers_ended;
  options.on_response_body = body_came;
  options.on_complete = stream_completed;
  const Stream stream(aws_http_connection_make_request(connection, &options));
  if (!stream || aws_http_stream_activate(stream.get()) != AWS_OP_SUCCESS)
    throw TransportError(Trouble::Broken, crt_text(aws_last_error()));
  if (const int error = await(connection, stop); error != 0) {
    aws_http_connection_close(connection);
    fail(error);
  }
  return std::move(response_);
}

/// Waits window by window: in each one enough has to move.
int Exchange::await(aws_http_connection* connection, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto is_done = [&]() CUPEL_REQUIRES(mutex_) { return done_; };
  std::uint64_t before = moved_;
  Trouble given_up = Trouble::Silent;
  while (!completed_.wait_for(lock, stop, request_.limits.silence, is_done)) {
    if (stop.stop_requested()) given_up = Trouble::Stopped;
    const std::uint64_t now = moved_;
    if (given_up != Trouble::Stopped && now - before >= request_.limits.least_bytes) {
      before = now;
      continue;
    }
    aws_http_connection_close(connection);
    completed_.wait(lock, {}, is_done);  // the library calls back for every stream
    if (error_ != 0) trouble_ = given_up;
    break;
  }
  return error_;
}

int Exchange::on_headers(aws_http_stream* stream, aws_http_header_block block,
                         const aws_http_header* headers, std::size_t count) {
  if (block == AWS_HTTP_HEADER_BLOCK_INFORMATIONAL) return AWS_OP_SUCCESS;
  try {
    aws_http_stream_get_incoming_response_status(stream, &response_.status);
    for (const aws_http_header& header : std::span(headers, count)) {
      header_bytes_ += header.name.len + header.value.len;
      moved_.fetch_add(header.name.len + header.value.len, std::memory_order_relaxed);
      if (header_bytes_ > kMostHeaderBytes) return refuse(Trouble::TooLong);
      keep(view(header.name), view(header.value));
    }
  } catch (const std::bad_alloc&) {
    return refuse(Trouble::Broken);
  }
  return AWS_OP_SUCCESS;
}

void Exchange::keep(std::string_view name, std::string_view value) {
  const std::string wanted = lower_case(name.substr(0, 64));
  if (std::ranges::find(kKept, wanted) != std::end(kKept) && value.size() <= kLongestValue)
    response_.headers[wanted] = value;
}

int Exchange::on_headers_done(aws_http_header_block block) {
  const bool keeps_body = response_.ok() && request_.into.empty() && request_.method != "HEAD";
  if (block != AWS_HTTP_HEADER_BLOCK_MAIN || !keeps_body) return AWS_OP_SUCCESS;
  const std::uint64_t length =
      parse_integer<std::uint64_t>(response_.header("content-length")).value_or(0);
  if (length > request_.at_most) return refuse(Trouble::TooLong);
  try {
    response_.body.reserve(static_cast<std::size_t>(length));
  } catch (const std::bad_alloc&) {
    return refuse(Trouble::Broken);
  }
  return AWS_OP_SUCCESS;
}

int Exchange::on_body(std::string_view data) {
  moved_.fetch_add(data.size(), std::memory_order_relaxed);
  const auto bytes = std::as_bytes(std::span(data));
  try {
    if (!response_.ok()) {
      text_bytes_ += data.size();
      const auto kept = bytes.first(std::min(bytes.size(), kMostText - response_.body.size()));
      response_.body.insert(response_.body.end(), kept.begin(), kept.end());
      return text_bytes_ > kMostRefusal ? refuse(Trouble::TooLong) : AWS_OP_SUCCESS;
    }
    if (!request_.into.empty()) return take(data);
    if (bytes.size() > request_.at_most - response_.body.size()) return refuse(Trouble::TooLong);
    response_.body.insert(response_.body.end(), bytes.begin(), bytes.end());
  } catch (const std::bad_alloc&) {
    return refuse(Trouble::Broken);
  }
  return AWS_OP_SUCCESS;
}

/// Copies received bytes into the pieces.
int Exchange::take(std::string_view data) {
  while (!data.empty()) {
    if (piece_ == request_.into.size()) return refuse(Trouble::TooLong);
    const Piece& piece = request_.into[piece_];
    const auto size =
        static_cast<std::size_t>(std::min<std::uint64_t>(data.size(), piece.size - piece_done_));
    if (piece.to != nullptr) std::memcpy(piece.to + piece_done_, data.data(), size);
    data.remove_prefix(size);
    response_.received += size;
    piece_done_ += size;
    if (piece_done_ < piece.size) continue;
    ++piece_;
    piece_done_ = 0;
  }
  return AWS_OP_SUCCESS;
}

int Exchange::refuse(Trouble trouble) {
  trouble_ = trouble;
  return aws_raise_error(AWS_ERROR_HTTP_CALLBACK_FAILURE);
}

void Exchange::on_complete(int error) {
  const MutexLock lock(mutex_);
  error_ = error;
  done_ = true;
  completed_.notify_all();
}

void Exchange::fail(int error) const {
  switch (trouble_) {
    case Trouble::Silent:
      throw TransportError(trouble_, "the server is silent or too slow");
    case Trouble::TooLong:
      throw TransportError(trouble_, "the answer is longer than the request allows");
    case Trouble::Stopped:
      throw TransportError(trouble_, "the call was stopped");
    default:
      throw TransportError(trouble_, crt_text(error));
  }
}

}  // namespace cupel::s3_detail
