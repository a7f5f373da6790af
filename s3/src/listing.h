#pragma once

#include <string_view>
#include <vector>

#include "cupel/store/store.h"
#include "session.h"

namespace cupel::s3 {

/// Store::list() by ListObjectsV2, page by page. Names that cannot be keys are passed over.
std::vector<ObjectInfo> list_objects(Session& session, std::string_view prefix,
                                     std::string_view after);

/// Objects on a page.
inline constexpr std::size_t kPage = 1000;

}  // namespace cupel::s3
