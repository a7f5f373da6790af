#include "crt_runtime.h"

#include <aws/auth/auth.h>
#include <aws/http/http.h>
#include <aws/io/event_loop.h>
#include <aws/io/host_resolver.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <new>
#include <thread>

namespace cupel::s3_detail {
namespace {

std::atomic<pid_t> maker = 0;  // the process that made the threads

/// Threads that begin while such an object lives get no signals: the threads of the program do.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

aws_client_bootstrap* make_bootstrap() {
  initialize_library();
  const SignalsBlocked blocked;
  aws_allocator* const allocator = aws_default_allocator();
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const auto loops = static_cast<std::uint16_t>(std::clamp(cores / 2, 1U, 4U));
  aws_event_loop_group* const group = aws_event_loop_group_new_default(allocator, loops, nullptr);
  if (group == nullptr) throw std::bad_alloc();
  aws_host_resolver_default_options resolving{};
  resolving.max_entries = 16;
  resolving.el_group = group;
  aws_host_resolver* const resolver = aws_host_resolver_new_default(allocator, &resolving);
  aws_client_bootstrap_options options{};
  options.event_loop_group = group;
  options.host_resolver = resolver;
  aws_client_bootstrap* const bootstrap =
      resolver == nullptr ? nullptr : aws_client_bootstrap_new(allocator, &options);
  if (bootstrap == nullptr) throw std::bad_alloc();
  maker = ::getpid();
  return bootstrap;
}

}  // namespace

void initialize_library() {
  static const bool initialized = [] {
    aws_http_library_init(aws_default_allocator());
    aws_auth_library_init(aws_default_allocator());
    return true;
  }();
  static_cast<void>(initialized);
}

aws_client_bootstrap* shared_bootstrap() {
  static aws_client_bootstrap* const bootstrap = make_bootstrap();
  return bootstrap;
}

bool is_forked() noexcept {
  const pid_t process = maker;
  return process != 0 && process != ::getpid();
}

TlsContext make_tls_context(bool verify, const std::string& ca_bundle, std::string& why) {
  initialize_library();
  aws_tls_ctx_options options;
  aws_tls_ctx_options_init_default_client(&options, aws_default_allocator());
  aws_tls_ctx_options_set_verify_peer(&options, verify);
  TlsContext context;
  if (ca_bundle.empty() || aws_tls_ctx_options_override_default_trust_store_from_path(
                               &options, nullptr, ca_bundle.c_str()) == AWS_OP_SUCCESS)
    context.reset(aws_tls_client_ctx_new(aws_default_allocator(), &options));
  if (!context) why = crt_text(aws_last_error());
  aws_tls_ctx_options_clean_up(&options);
  return context;
}

}  // namespace cupel::s3_detail
