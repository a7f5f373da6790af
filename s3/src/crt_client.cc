// The S3Client on AWS's Common Runtime. It uses the runtime's connections, TLS, credentials and
// signatures, and not its S3 meta requests: those keep the whole answer of a server in memory
// without a limit, hide status and message of a 500 or 503, and cannot end a request that hangs.
//
// The calling thread signs, and waits for its request; the runtime's threads send and receive. All
// stores of the process with the same settings share one client. A failure is a TransportError, and
// secrets are removed from what a server sends back. In a child after fork() every call fails,
// because the runtime's threads are not there.

#include "crt_client.h"

#include <aws/auth/signable.h>
#include <aws/auth/signing.h>
#include <aws/auth/signing_config.h>
#include <aws/auth/signing_result.h>

#include <map>
#include <tuple>

#include "crt_connections.h"
#include "crt_credentials.h"
#include "crt_exchange.h"
#include "cupel/core/error.h"
#include "cupel/core/mutex.h"

namespace cupel::s3_detail {
namespace {

using Signable = Handle<aws_signable, aws_signable_destroy>;

constexpr std::size_t kMostServers = 32;  // to which redirects may lead

/// What signing left in the message, or why it failed. It is done when aws_sign_request_aws()
/// returns, because the credentials are there.
struct Signing {
  aws_http_message* message = nullptr;
  int error = AWS_ERROR_UNKNOWN;
};

extern "C" {

static void apply_signature(aws_signing_result* result, int error, void* user_data) {
  auto& signing = *static_cast<Signing*>(user_data);
  signing.error = error;
  if (error == 0 && aws_apply_signing_result_to_http_request(
                        signing.message, aws_default_allocator(), result) != AWS_OP_SUCCESS)
    signing.error = aws_last_error();
}

}  // extern "C"

/// Over TLS the body is protected anyway; otherwise its hash is signed.
void sign(aws_http_message* message, const HttpRequest& request, const Credentials& credentials) {
  aws_signing_config_aws config{};
  config.config_type = AWS_SIGNING_CONFIG_AWS;
  config.algorithm = AWS_SIGNING_ALGORITHM_V4;
  config.signature_type = AWS_ST_HTTP_REQUEST_HEADERS;
  config.region = cursor(request.region);
  config.service = cursor("s3");
  config.signed_body_header = AWS_SBHT_X_AMZ_CONTENT_SHA256;
  if (request.origin.tls) config.signed_body_value = g_aws_signed_body_value_unsigned_payload;
  config.credentials = credentials.get();
  aws_date_time_init_now(&config.date);
  const Signable signable(aws_signable_new_http_request(aws_default_allocator(), message));
  Signing signing{message};
  const auto* const base = reinterpret_cast<const aws_signing_config_base*>(&config);
  if (!signable || aws_sign_request_aws(aws_default_allocator(), signable.get(), base,
                                        apply_signature, &signing) != AWS_OP_SUCCESS)
    signing.error = aws_last_error();
  if (signing.error != 0)
    throw TransportError(Trouble::NoCredentials,
                         "the request could not be signed: " + crt_text(signing.error));
}

/// Removes a secret from an answer: servers may repeat the request in an error.
void withhold(HttpResponse& response, std::string_view secret) {
  constexpr std::size_t kShortest = 16;  // a shorter text is no secret, and may be a part of a word
  if (secret.size() < kShortest) return;
  const auto clean = [&](std::string text) {
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at))
      text.replace(at, secret.size(), "(withheld)");
    return text;
  };
  const std::string body = clean(std::string(response.text()));
  const auto bytes = std::as_bytes(std::span(body));
  response.body.assign(bytes.begin(), bytes.end());
  for (auto& [name, value] : response.headers) value = clean(std::move(value));
}

/// The value of a header of a request; "" without it.
std::string_view header_of(const aws_http_message* message, std::string_view name) {
  aws_byte_cursor value{};
  const aws_http_headers* const headers = aws_http_message_get_const_headers(message);
  return aws_http_headers_get(headers, cursor(name), &value) == AWS_OP_SUCCESS ? view(value)
                                                                               : std::string_view();
}

/// Clients with different keys are different objects.
using Key = std::tuple<std::string, std::string, std::string, std::string, bool, std::int64_t>;

class CrtClient final : public S3Client {
 public:
  CrtClient(const Configuration& configuration, TlsContext tls)
      : connect_limit_(configuration.options.connect_limit),
        tls_(std::move(tls)),
        credentials_(configuration.profile, tls_.get()) {}

  HttpResponse send(const HttpRequest& request, const std::stop_token& stop) override {
    if (is_forked())
      throw TransportError(Trouble::Forked, "the store was opened before this process was forked");
    const Credentials credentials = credentials_.get(stop);
    Exchange exchange(request);
    sign(exchange.message(), request, credentials);
    const Lease lease(connections(request.origin), stop);
    HttpResponse response = exchange.run(lease.get(), stop);
    if (response.ok()) return response;
    const std::string_view authorization = header_of(exchange.message(), "Authorization");
    withhold(response, header_of(exchange.message(), "X-Amz-Security-Token"));
    withhold(response, authorization.substr(authorization.rfind('=') + 1));  // the signature
    return response;
  }

  void forget_credentials() override { credentials_.forget(); }

 private:
  const Connections& connections(const Origin& origin) {
    const std::string name = origin.authority() + (origin.tls ? " tls" : "");
    const MutexLock lock(mutex_);
    const auto found = connections_.find(name);
    if (found != connections_.end()) return found->second;
    if (connections_.size() == kMostServers)
      throw TransportError(Trouble::Unreachable, "it was sent to too many servers");
    return connections_.try_emplace(name, origin, tls_.get(), connect_limit_).first->second;
  }

  const std::chrono::milliseconds connect_limit_;
  const TlsContext tls_;
  CredentialsSource credentials_;
  Mutex mutex_;
  // Connections are added and never removed.
  std::map<std::string, Connections> connections_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<S3Client> shared_client(const Configuration& configuration) {
  if (is_forked())
    throw TransportError(Trouble::Forked, "a store is opened in a child of a process that had one");
  static Mutex mutex;
  static std::map<Key, std::weak_ptr<CrtClient>> clients CUPEL_GUARDED_BY(mutex);
  const S3Options& options = configuration.options;
  const std::string server = configuration.endpoint
                                 ? (configuration.endpoint->origin.tls ? "https://" : "http://") +
                                       configuration.endpoint->origin.authority()
                                 : "";
  const Key key(server, configuration.region, configuration.profile, configuration.ca_bundle,
                options.verify_tls, options.connect_limit.count());
  const MutexLock lock(mutex);
  if (auto client = clients[key].lock()) return client;
  std::string why;
  TlsContext tls = make_tls_context(options.verify_tls, configuration.ca_bundle, why);
  // Without TLS the authorities matter only to those credentials that come from afar.
  if (!tls && (!configuration.endpoint || configuration.endpoint->origin.tls))
    throw UsageError("The certificates of the authorities to trust could not be read: " + why +
                     ", file '" + configuration.ca_bundle + "'");
  auto client = std::make_shared<CrtClient>(configuration, std::move(tls));
  clients[key] = client;
  return client;
}

}  // namespace cupel::s3_detail
