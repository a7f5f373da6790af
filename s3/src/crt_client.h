#pragma once

#include <memory>

#include "configuration.h"
#include "s3_client.h"

namespace cupel::s3 {

/// The client of this process for such a configuration, made where there is none. It goes with the
/// last who holds it. Throws UsageError when the authorities to trust cannot be read,
/// TransportError in a child of the process that made the first client.
std::shared_ptr<S3Client> shared_client(const Configuration& configuration);

}  // namespace cupel::s3
