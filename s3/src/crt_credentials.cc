// The chain of providers of credentials: environment, profile, credential_process, web identity,
// container, instance. The library's default chain has no credential_process and reads no token of
// a container from a file, so this source makes a chain of its own.
//
// The calling thread waits for an Answer, which a callback on a thread of the runtime fills in; a
// caller may stop waiting before. Credentials are kept for 15 minutes, or until shortly before they
// expire. Without any, get() is a TransportError and the next call makes the chain again, because
// files and variables may have changed.

#include "crt_credentials.h"

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "crt_credential_process.h"
#include "crt_profile.h"
#include "cupel/core/mutex.h"
#include "s3_client.h"
#include "url.h"

namespace cupel::s3_detail {
namespace {

constexpr std::uint64_t kRefreshMilliseconds = 15 * 60 * 1000;

std::string container_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns the container's token: from a variable, or from the file that a variable names.
std::string container_token() {
  const std::string path = container_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (path.empty()) return container_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  return token;
}

/// Whether a server may get the token. Without TLS only this machine may, and the addresses that
/// hosts give to containers.
bool may_get_token(const Origin& origin) {
  return origin.tls || is_loopback(origin.host) || origin.host == "169.254.170.2" ||
         origin.host == "169.254.170.23" || origin.host == "fd00:ec2::23";
}

CredentialsProvider container_provider(aws_tls_ctx* tls) {
  const std::string relative = container_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = container_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  const std::string token = container_token();
  const auto url = parse_url(relative.empty() ? full : "http://169.254.170.2" + relative);
  if (!url || !may_get_token(url->origin) || (url->origin.tls && tls == nullptr)) return nullptr;
  aws_credentials_provider_ecs_options options{};
  options.bootstrap = shared_bootstrap();
  options.host = cursor(url->origin.host);
  options.port = url->origin.port;
  options.path_and_query = cursor(url->target);
  options.auth_token = cursor(token);
  options.tls_ctx = url->origin.tls ? tls : nullptr;
  return CredentialsProvider(aws_credentials_provider_new_ecs(aws_default_allocator(), &options));
}

CredentialsProvider instance_provider() {
  const std::string disabled = container_variable("AWS_EC2_METADATA_DISABLED");
  if (disabled == "true" || disabled == "TRUE" || disabled == "True") return nullptr;
  aws_credentials_provider_imds_options options{};
  options.bootstrap = shared_bootstrap();
  return CredentialsProvider(aws_credentials_provider_new_imds(aws_default_allocator(), &options));
}

extern "C" {

static void free_profiles(void* file) { delete static_cast<ProfilesFile*>(file); }

}  // extern "C"

CredentialsProvider profile_provider(const std::string& profile, aws_tls_ctx* tls) {
  auto file = std::make_unique<ProfilesFile>();
  aws_credentials_provider_profile_options options{};
  options.profile_name_override = cursor(profile);
  options.config_file_name_override = cursor(file->path());
  options.bootstrap = shared_bootstrap();
  options.tls_ctx = tls;
  options.shutdown_options = {free_profiles, file.get()};
  CredentialsProvider provider(
      aws_credentials_provider_new_profile(aws_default_allocator(), &options));
  if (provider) static_cast<void>(file.release());
  return provider;
}

CredentialsProvider web_identity_provider(aws_tls_ctx* tls) {
  if (tls == nullptr) return nullptr;
  aws_credentials_provider_sts_web_identity_options options{};
  options.bootstrap = shared_bootstrap();
  options.tls_ctx = tls;
  return CredentialsProvider(
      aws_credentials_provider_new_sts_web_identity(aws_default_allocator(), &options));
}

/// Returns every provider that is configured, in the order in which they are asked.
std::vector<CredentialsProvider> make_providers(const std::string& profile, aws_tls_ctx* tls) {
  std::vector<CredentialsProvider> providers;
  const auto add = [&](CredentialsProvider provider) {
    if (provider) providers.push_back(std::move(provider));
  };
  const aws_credentials_provider_environment_options options{};
  add(CredentialsProvider(
      aws_credentials_provider_new_environment(aws_default_allocator(), &options)));
  add(profile_provider(profile, tls));
  add(process_provider(profile));
  add(web_identity_provider(tls));
  // A user who names such a profile does not want the credentials of this machine.
  if (signs_in_by_sso(profile)) return providers;
  CredentialsProvider container = container_provider(tls);
  add(container ? std::move(container) : instance_provider());
  return providers;
}

CredentialsProvider make_chain(const std::string& profile, aws_tls_ctx* tls) {
  const std::vector<CredentialsProvider> providers = make_providers(profile, tls);
  std::vector<aws_credentials_provider*> pointers;
  pointers.reserve(providers.size());
  for (const CredentialsProvider& provider : providers) pointers.push_back(provider.get());
  aws_credentials_provider_chain_options chain_options{};
  chain_options.providers = pointers.data();
  chain_options.provider_count = pointers.size();
  const CredentialsProvider chain(
      aws_credentials_provider_new_chain(aws_default_allocator(), &chain_options));
  aws_credentials_provider_cached_options options{};
  options.source = chain.get();
  options.refresh_time_in_milliseconds = kRefreshMilliseconds;
  return CredentialsProvider(
      aws_credentials_provider_new_cached(aws_default_allocator(), &options));
}

/// The answer to one query. The caller may stop waiting before it is there.
struct Answer {
  Mutex mutex;
  StoppableCondition come;
  bool done CUPEL_GUARDED_BY(mutex) = false;
  int error CUPEL_GUARDED_BY(mutex) = 0;
  Credentials credentials CUPEL_GUARDED_BY(mutex);
};

extern "C" {

static void take_credentials(aws_credentials* credentials, int error, void* user_data) {
  const std::unique_ptr<std::shared_ptr<Answer>> owned(
      static_cast<std::shared_ptr<Answer>*>(user_data));
  Answer& answer = **owned;
  const MutexLock lock(answer.mutex);
  if (credentials != nullptr) {
    aws_credentials_acquire(credentials);
    answer.credentials.reset(credentials);
  }
  answer.error = error;
  answer.done = true;
  answer.come.notify_all();
}

}  // extern "C"

}  // namespace

CredentialsSource::CredentialsSource(std::string profile, aws_tls_ctx* tls)
    : profile_(profile.empty() ? "default" : std::move(profile)), tls_(tls) {}

std::shared_ptr<aws_credentials_provider> CredentialsSource::provider() {
  const MutexLock lock(mutex_);
  if (!provider_) provider_ = make_chain(profile_, tls_);
  if (!provider_) throw TransportError(Trouble::NoCredentials, crt_text(aws_last_error()));
  return provider_;
}

void CredentialsSource::forget() {
  const MutexLock lock(mutex_);
  provider_.reset();
}

Credentials CredentialsSource::get(const std::stop_token& stop) {
  const auto asked = provider();
  const auto answer = std::make_shared<Answer>();
  auto given = std::make_unique<std::shared_ptr<Answer>>(answer);
  if (aws_credentials_provider_get_credentials(asked.get(), take_credentials, given.get()) !=
      AWS_OP_SUCCESS)
    throw TransportError(Trouble::NoCredentials, crt_text(aws_last_error()));
  static_cast<void>(given.release());
  MutexLock lock(answer->mutex);
  if (!answer->come.wait(lock, stop, [&]() CUPEL_REQUIRES(answer->mutex) { return answer->done; }))
    throw TransportError(Trouble::Stopped, "waiting for credentials was stopped");
  if (!answer->credentials) {
    forget();  // files and variables may have credentials the next time
    if (signs_in_by_sso(profile_))
      throw TransportError(Trouble::SignsInBySso, "profile '" + profile_ + "'");
    throw TransportError(Trouble::NoCredentials, crt_text(answer->error));
  }
  return std::move(answer->credentials);
}

}  // namespace cupel::s3_detail
