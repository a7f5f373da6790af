#pragma once

#include <aws/auth/credentials.h>
#include <aws/io/channel_bootstrap.h>
#include <aws/io/tls_channel_handler.h>

#include <string>

#include "crt_handle.h"

namespace cupel::s3_detail {

using TlsContext = Handle<aws_tls_ctx, aws_tls_ctx_release>;
using CredentialsProvider = Handle<aws_credentials_provider, aws_credentials_provider_release>;

/// Prepares the library for calls that need no threads.
void initialize_library();

/// The library's threads and name resolver. The first client makes them, for its process alone, and
/// they last until the process ends: without requests they only wait, and joining them would take a
/// second at exit.
aws_client_bootstrap* shared_bootstrap();

/// Whether this process is a child of the process that made the threads. No request works in a
/// child.
bool is_forked() noexcept;

/// Returns null, and the reason in `why`, when the certificates to trust cannot be read.
TlsContext make_tls_context(bool verify, const std::string& ca_bundle, std::string& why);

}  // namespace cupel::s3_detail
