#pragma once

#include <string>

#include "crt_runtime.h"

namespace cupel::s3_detail {

/// Runs the command that the profile names as credential_process, and reads the credentials that it
/// prints; null when the profile names none. (The library's own provider drops session tokens and
/// mixes in what the command writes to standard error.)
CredentialsProvider process_provider(const std::string& profile);

}  // namespace cupel::s3_detail
