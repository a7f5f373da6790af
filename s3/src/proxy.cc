#include "proxy.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "url.h"

namespace cupel::s3_detail {
namespace {

/// "example.com" and ".example.com" stand for the domain and all below it.
bool covers(std::string_view entry, std::string_view host) {
  if (entry == "*") return true;
  if (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty() || !host.ends_with(entry)) return false;
  return host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.';
}

}  // namespace

bool goes_by_proxy(std::string_view host) {
  if (is_loopback(host)) return false;
  const char* const lower = std::getenv("no_proxy");
  const char* const value = lower != nullptr ? lower : std::getenv("NO_PROXY");
  std::string_view rest = value == nullptr ? "" : value;
  while (!rest.empty()) {
    std::string_view entry = rest.substr(0, rest.find_first_of(", "));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    if (covers(entry, host)) return false;
  }
  return true;
}

}  // namespace cupel::s3_detail
