#include "cupel/store/open_store.h"

#include <string>

#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"
#include "cupel/store/local_store.h"

/// Defined by the room s3, which this room may not know: null in a program without it.
extern "C" [[gnu::weak]] cupel::Store* cupel_open_s3_store(const char* location, std::size_t size);

namespace cupel {
namespace {

std::unique_ptr<Store> open_s3_store(std::string_view location) {
  if (cupel_open_s3_store == nullptr)
    throw UsageError(
        "This program cannot open s3:// locations, it has to be linked with cupel::s3: " +
        std::string(location));
  return std::unique_ptr<Store>(cupel_open_s3_store(location.data(), location.size()));
}

}  // namespace

std::string_view location_scheme(std::string_view location) noexcept {
  location = trimmed(location);
  const std::string_view scheme = location.substr(0, location.find("://"));
  const bool has_scheme = scheme.size() < location.size();
  const bool is_word = scheme.find_first_of("/. ") == std::string_view::npos;
  return has_scheme && is_word ? scheme : std::string_view();
}

std::unique_ptr<Store> open_store(std::string_view location) {
  location = trimmed(location);
  if (location.empty()) throw UsageError("A store must have a location");
  const std::string_view scheme = location_scheme(location);
  if (scheme == "s3") return open_s3_store(location);
  if (!scheme.empty())
    throw UsageError("This build cannot open " + std::string(scheme) +
                     ":// locations: " + std::string(location));
  return std::make_unique<LocalStore>(std::string(location));
}

}  // namespace cupel
