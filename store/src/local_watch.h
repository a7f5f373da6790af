#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cupel/store/local_store.h"

namespace cupel::store_detail {

/// Store::watch in the directory `root`, which may not exist yet.
std::unique_ptr<Watch> watch_directory(const std::string& root, std::string_view prefix,
                                       WatchMethod method);

}  // namespace cupel::store_detail
