#pragma once

#include <memory>
#include <string_view>

#include "configuration.h"
#include "cupel/store/store.h"
#include "s3_client.h"

namespace cupel::s3_detail {

/// Watches by comparing listings, with the pauses that the options allow.
std::unique_ptr<Watch> watch_bucket(std::shared_ptr<S3Client> client,
                                    const Configuration& configuration, const S3Location& location,
                                    std::string_view prefix);

}  // namespace cupel::s3_detail
