#pragma once

#include <memory>

#include "configuration.h"
#include "s3_client.h"

namespace cupel::s3_detail {

/// Returns the client of this process for the configuration, and makes it where there is none. The
/// client lives as long as a pointer to it. Throws UsageError when the authorities to trust cannot
/// be read, TransportError in a child of the process that made the first client.
std::shared_ptr<S3Client> shared_client(const Configuration& configuration);

}  // namespace cupel::s3_detail
