#include "cupel/store/open_store.h"

#include <algorithm>
#include <string>

#include "cupel/core/comma_list.h"
#include "cupel/core/error.h"
#include "cupel/store/local_store.h"

namespace cupel {
namespace {

std::unique_ptr<Store> open_by_scheme(std::string_view scheme, std::string_view location,
                                      const StoreSchemes& schemes) {
  const auto found = std::ranges::find(schemes, scheme, &StoreScheme::name);
  if (found != schemes.end()) return found->open(location);
  std::string known = "directories";
  for (const StoreScheme& other : schemes) known += ", " + other.name + "://";
  throw UsageError("This program cannot open " + std::string(scheme) + ":// locations, only " +
                   known + (schemes.empty() ? "; link cupel::cupel, or pass a StoreScheme" : "") +
                   ": " + std::string(location));
}

}  // namespace

std::string_view location_scheme(std::string_view location) noexcept {
  location = trimmed(location);
  const std::string_view scheme = location.substr(0, location.find("://"));
  const bool has_scheme = scheme.size() < location.size();
  const bool is_word = scheme.find_first_of("/. ") == std::string_view::npos;
  return has_scheme && is_word ? scheme : std::string_view();
}

std::unique_ptr<Store> open_store(std::string_view location, const StoreSchemes& schemes) {
  location = trimmed(location);
  if (location.empty()) throw UsageError("A store must have a location");
  const std::string_view scheme = location_scheme(location);
  if (scheme.empty()) return std::make_unique<LocalStore>(std::string(location));
  return open_by_scheme(scheme, location, schemes.empty() ? built_in_schemes() : schemes);
}

}  // namespace cupel
