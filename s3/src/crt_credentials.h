#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "crt_runtime.h"
#include "cupel/core/mutex.h"

namespace cupel::s3_detail {

using Credentials = Handle<const aws_credentials, aws_credentials_release>;

/// Credentials by the standard chain: environment, profile (keys, role_arn), the profile's
/// credential_process, web identity, container, instance. Kept until shortly before they expire.
class CredentialsSource {
 public:
  /// `tls` may be null: then no provider that needs it takes part.
  CredentialsSource(std::string profile, aws_tls_ctx* tls);

  /// Throws TransportError: NoCredentials or Stopped.
  Credentials get(const std::stop_token& stop);
  /// Lets the next get() ask all providers again.
  void forget();

 private:
  std::shared_ptr<aws_credentials_provider> provider();

  const std::string profile_;
  aws_tls_ctx* const tls_;
  Mutex mutex_;
  // Null: to be made.
  std::shared_ptr<aws_credentials_provider> provider_ CUPEL_GUARDED_BY(mutex_);
};

}  // namespace cupel::s3_detail
