// What open_store() calls for s3:// locations where it is linked (see open_store.cc).

#include <cstddef>
#include <string_view>

#include "cupel/s3/s3_store.h"

extern "C" cupel::Store* cupel_open_s3_store(const char* location, std::size_t size) {
  return new cupel::S3Store(cupel::S3Location::parse(std::string_view(location, size)));
}
