#include "cupel/store/open_store.h"

#include <algorithm>
#include <string>

#include "cupel/core/error.h"
#include "cupel/store/local_store.h"

namespace cupel {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

/// "s3" of "s3://bucket"; empty if the text does not begin with a scheme.
std::string_view scheme_of(std::string_view text) noexcept {
  const std::string_view scheme = text.substr(0, std::min(text.find("://"), text.size()));
  const bool has_scheme = scheme.size() < text.size();
  const bool is_word = scheme.find_first_of("/. ") == std::string_view::npos;
  return has_scheme && is_word ? scheme : std::string_view();
}

}  // namespace

std::unique_ptr<Store> open_store(std::string_view location) {
  const std::size_t first = location.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) throw UsageError("A store must have a location");
  location = location.substr(first, location.find_last_not_of(kBlanks) - first + 1);
  if (const std::string_view scheme = scheme_of(location); !scheme.empty())
    throw UsageError("This build cannot open " + std::string(scheme) +
                     ":// locations: " + std::string(location));
  return std::make_unique<LocalStore>(std::string(location));
}

}  // namespace cupel
