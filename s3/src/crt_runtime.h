#pragma once

#include <aws/auth/credentials.h>
#include <aws/io/channel_bootstrap.h>
#include <aws/io/tls_channel_handler.h>

#include <string>

#include "crt_handle.h"

namespace cupel::s3 {

using TlsContext = Handle<aws_tls_ctx, aws_tls_ctx_release>;
using CredentialsProvider = Handle<aws_credentials_provider, aws_credentials_provider_release>;

/// Readies the library for calls that need no threads.
void initialize_library();

/// The library's threads and name resolver: made when the first client is, by that process alone,
/// and never taken down. They only wait when no request is under way, and joining them would take a
/// second at exit.
aws_client_bootstrap* shared_bootstrap();

/// Whether this process is a child of the one that made the threads. Nothing works in it then.
bool is_forked() noexcept;

/// Null, with the reason in `why`, when the authorities to trust cannot be read.
TlsContext make_tls_context(bool verify, const std::string& ca_bundle, std::string& why);

}  // namespace cupel::s3
