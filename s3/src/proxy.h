#pragma once

#include <string_view>

namespace cupel::s3_detail {

/// Whether requests to this host use the proxy that HTTPS_PROXY or HTTP_PROXY names. Requests to
/// this machine do not, nor requests to a host that NO_PROXY names, by a domain of it, or by "*".
bool goes_by_proxy(std::string_view host);

}  // namespace cupel::s3_detail
