#pragma once

#include <string_view>

namespace cupel::s3 {

/// Whether requests to this host may go by the proxy that HTTPS_PROXY or HTTP_PROXY names: unless
/// it is this machine, or NO_PROXY names it, a domain of it, or "*".
bool goes_by_proxy(std::string_view host);

}  // namespace cupel::s3
