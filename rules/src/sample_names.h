#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/core/collection.h"
#include "cupel/core/pattern.h"

namespace cupel::rules_detail {

/// Short names in which the pattern is found, one for each alternative, a few at most; none where
/// the pattern is beyond what is understood of it here.
std::vector<std::string> sample_names(const Pattern& pattern);

/// Whether names that match the pattern may be in the collection: an example of one belongs to the
/// other, too.
bool may_hold(const Collection& collection, const Pattern& pattern);
/// The same of two collections.
bool may_share(const Collection& a, const Collection& b);

}  // namespace cupel::rules_detail
