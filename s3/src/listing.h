#pragma once

#include <string_view>
#include <vector>

#include "cupel/store/store.h"
#include "session.h"

namespace cupel::s3_detail {

/// Store::list() by ListObjectsV2, page by page. A name that cannot be a key is skipped.
std::vector<ObjectInfo> list_objects(Session& session, std::string_view prefix,
                                     std::string_view after);

/// The number of objects on a page.
inline constexpr std::size_t kPage = 1000;

}  // namespace cupel::s3_detail
