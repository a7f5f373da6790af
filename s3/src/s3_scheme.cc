#include "cupel/s3/s3_scheme.h"

#include <utility>

#include "cupel/s3/s3_store.h"

namespace cupel {

StoreScheme s3_scheme(S3Options options) {
  return {"s3", [options = std::move(options)](std::string_view location) {
            return std::make_unique<S3Store>(S3Location::parse(location), options);
          }};
}

}  // namespace cupel
