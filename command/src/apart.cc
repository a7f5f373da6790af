#include "apart.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cupel/core/error.h"
#include "cupel/store/open_store.h"

namespace cupel::command_detail {
namespace {

namespace fs = std::filesystem;

bool is_inside(const fs::path& inner, const fs::path& outer) {
  const auto [end_of_outer, rest] =
      std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end_of_outer == outer.end();
}

// Returns the directory of a store, with all links resolved, or its URL. A final '/' of the name
// makes no difference.
fs::path whereabouts(const Store& store) {
  const fs::path location = store.location();
  if (!location_scheme(location.string()).empty()) return location;
  const fs::path place = fs::weakly_canonical(fs::absolute(location));
  return place.has_filename() ? place : place.parent_path();
}

}  // namespace

void check_apart(const Store& source, const Store& destination, const std::string& source_name) {
  const fs::path from = whereabouts(source), to = whereabouts(destination);
  std::error_code ignored;
  if (fs::exists(to, ignored) && !fs::is_directory(to, ignored))
    throw UsageError("DST is a file, not a directory: " + to.string());
  if (from == to) throw UsageError(source_name + " and DST are the same place: " + from.string());
  if (is_inside(to, from)) throw UsageError("DST is inside " + source_name + ": " + to.string());
  if (is_inside(from, to)) throw UsageError(source_name + " is inside DST: " + from.string());
}

}  // namespace cupel::command_detail
