#include "bare_s3_client.h"

#include <aws/auth/credentials.h>
#include <aws/common/uri.h>
#include <aws/http/request_response.h>
#include <aws/io/channel_bootstrap.h>
#include <aws/io/event_loop.h>
#include <aws/io/host_resolver.h>
#include <aws/io/stream.h>
#include <aws/s3/s3_client.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace cupel {
namespace {

using Clock = std::chrono::steady_clock;

/// One transfer. The library calls back on its own threads.
struct Transfer {
  std::span<std::byte> out;
  std::size_t received = 0;
  int error = 0;
  int status = 0;
  Clock::time_point finished;
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;  // guarded by mutex
};

extern "C" {

static int body_came(aws_s3_meta_request*, const aws_byte_cursor* body, std::uint64_t offset,
                     void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  if (offset + body->len > transfer.out.size()) return AWS_OP_ERR;
  std::memcpy(transfer.out.data() + offset, body->ptr, body->len);
  transfer.received += body->len;
  return AWS_OP_SUCCESS;
}

static void transfer_finished(aws_s3_meta_request*, const aws_s3_meta_request_result* result,
                              void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  transfer.error = result->error_code;
  transfer.status = result->response_status;
  transfer.finished = Clock::now();
}

static void transfer_gone(void* data) {
  auto& transfer = *static_cast<Transfer*>(data);
  const std::lock_guard lock(transfer.mutex);
  transfer.done = true;
  transfer.ended.notify_all();
}

}  // extern "C"

aws_byte_cursor cursor(const std::string& text) {
  return aws_byte_cursor_from_array(text.data(), text.size());
}

void add_header(aws_http_message* message, const char* name, aws_byte_cursor value) {
  aws_http_header header{};
  header.name = aws_byte_cursor_from_c_str(name);
  header.value = value;
  aws_http_message_add_header(message, header);
}

}  // namespace

struct BareS3Client::State {
  explicit State(const std::string& endpoint) {
    aws_s3_library_init(allocator);
    const aws_byte_cursor text = cursor(endpoint);
    aws_uri_init_parse(&uri, allocator, &text);
    loops = aws_event_loop_group_new_default(allocator, 0, nullptr);
    aws_host_resolver_default_options resolving{};
    resolving.max_entries = 8;
    resolving.el_group = loops;
    resolver = aws_host_resolver_new_default(allocator, &resolving);
    aws_client_bootstrap_options connecting{};
    connecting.event_loop_group = loops;
    connecting.host_resolver = resolver;
    bootstrap = aws_client_bootstrap_new(allocator, &connecting);
    const aws_credentials_provider_environment_options environment{};
    credentials = aws_credentials_provider_new_environment(allocator, &environment);
    const aws_byte_cursor region = aws_byte_cursor_from_c_str("us-east-1");
    aws_s3_init_default_signing_config(&signing, region, credentials);
    aws_s3_client_config config{};
    config.region = region;
    config.client_bootstrap = bootstrap;
    config.signing_config = &signing;
    config.tls_mode = endpoint.starts_with("https:") ? AWS_MR_TLS_ENABLED : AWS_MR_TLS_DISABLED;
    client = aws_s3_client_new(allocator, &config);
    if (client == nullptr) std::abort();
  }
  ~State() {
    aws_s3_client_release(client);
    aws_credentials_provider_release(credentials);
    aws_client_bootstrap_release(bootstrap);
    aws_host_resolver_release(resolver);
    aws_event_loop_group_release(loops);
    aws_uri_clean_up(&uri);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  double run(aws_s3_meta_request_type type, aws_http_message* message, Transfer& transfer) {
    aws_s3_meta_request_options options{};
    options.type = type;
    options.message = message;
    options.endpoint = &uri;
    options.user_data = &transfer;
    options.body_callback = body_came;
    options.finish_callback = transfer_finished;
    options.shutdown_callback = transfer_gone;
    const auto begin = Clock::now();
    aws_s3_meta_request* const request = aws_s3_client_make_meta_request(client, &options);
    aws_http_message_release(message);
    if (request == nullptr) std::abort();
    aws_s3_meta_request_release(request);
    {
      std::unique_lock lock(transfer.mutex);
      transfer.ended.wait(lock, [&] { return transfer.done; });
    }
    if (transfer.error != 0) {
      std::fprintf(stderr, "the bare client: %s, HTTP %d\n", aws_error_str(transfer.error),
                   transfer.status);
      std::exit(1);
    }
    return std::chrono::duration<double>(transfer.finished - begin).count();
  }

  aws_http_message* message(const char* method, const std::string& path) const {
    aws_http_message* const message = aws_http_message_new_request(allocator);
    aws_http_message_set_request_method(message, aws_byte_cursor_from_c_str(method));
    aws_http_message_set_request_path(message, cursor(path));
    add_header(message, "Host", *aws_uri_authority(&uri));
    return message;
  }

  aws_allocator* const allocator = aws_default_allocator();
  aws_uri uri{};
  aws_event_loop_group* loops = nullptr;
  aws_host_resolver* resolver = nullptr;
  aws_client_bootstrap* bootstrap = nullptr;
  aws_credentials_provider* credentials = nullptr;
  aws_signing_config_aws signing{};
  aws_s3_client* client = nullptr;
};

BareS3Client::BareS3Client(const std::string& endpoint)
    : state_(std::make_unique<State>(endpoint)) {}

BareS3Client::~BareS3Client() = default;

double BareS3Client::put(const std::string& path, std::span<const std::byte> bytes) {
  aws_http_message* const message = state_->message("PUT", path);
  add_header(message, "Content-Length", cursor(std::to_string(bytes.size())));
  const aws_byte_cursor body = aws_byte_cursor_from_array(bytes.data(), bytes.size());
  aws_input_stream* const stream = aws_input_stream_new_from_cursor(state_->allocator, &body);
  aws_http_message_set_body_stream(message, stream);
  aws_input_stream_release(stream);
  Transfer transfer;
  return state_->run(AWS_S3_META_REQUEST_TYPE_PUT_OBJECT, message, transfer);
}

double BareS3Client::get(const std::string& path, std::span<std::byte> out) {
  Transfer transfer;
  transfer.out = out;
  const double seconds =
      state_->run(AWS_S3_META_REQUEST_TYPE_GET_OBJECT, state_->message("GET", path), transfer);
  if (transfer.received != out.size()) std::abort();
  return seconds;
}

}  // namespace cupel
