// Finds the run that a user may have meant by a path without a run. The search reads a limited
// number of entries of local directories, because a home directory may be large. A directory that
// cannot be read has no runs. Everything runs in the thread of the command.

#include "missing_run.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "cupel/core/nearest_names.h"
#include "cupel/store/open_store.h"

namespace cupel::command_detail {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 3;
constexpr int kMostEntries = 10'000;
constexpr std::size_t kMostNamed = 8;

bool is_run_directory(const fs::path& place) {
  std::error_code ignored;
  return fs::is_directory(place / "collections" / "000000000", ignored);
}

std::vector<std::string> runs_below(const fs::path& place) {
  std::vector<std::string> runs;
  std::error_code failure;
  int left = kMostEntries;
  fs::recursive_directory_iterator entry(place, fs::directory_options::skip_permission_denied,
                                         failure);
  for (; !failure && left > 0 && entry != fs::recursive_directory_iterator();
       entry.increment(failure), --left) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) continue;
    const bool is_run = is_run_directory(entry->path());
    if (is_run) runs.push_back(entry->path().lexically_normal().string());
    if (is_run || entry.depth() + 1 >= kDeepest) entry.disable_recursion_pending();
  }
  std::ranges::sort(runs);
  return runs;
}

// Returns the run that the path is a part of; empty if there is none.
std::string run_around(const fs::path& place) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(place, ignored).lexically_normal();
  for (fs::path above = whole.parent_path(); above.has_relative_path(); above = above.parent_path())
    if (is_run_directory(above)) return fs::proximate(above, ignored).string();
  return {};
}

std::string nearest_directories(fs::path place) {
  std::vector<std::string> names;
  if (!place.has_filename()) place = place.parent_path();  // the path ended in '/'
  std::error_code failure;
  const fs::path above = place.has_parent_path() ? place.parent_path() : fs::path(".");
  int left = kMostEntries;
  fs::directory_iterator entry(above, failure);
  for (; !failure && left > 0 && entry != fs::directory_iterator();
       entry.increment(failure), --left) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) names.push_back(entry->path().filename().string());
  }
  std::vector<std::string> places;
  for (const std::string& name : nearest_names(place.filename().string(), names))
    places.push_back((place.parent_path() / name).string());
  return did_you_mean(place.string(), places);
}

}  // namespace

std::string runs_below_text(const std::string& path) {
  if (!location_scheme(path).empty()) return {};
  const std::vector<std::string> runs = runs_below(path);
  std::string text;
  for (std::size_t i = 0; i < std::min(runs.size(), kMostNamed); ++i)
    text += (i == 0 ? "" : ", ") + runs[i];
  if (runs.size() > kMostNamed)
    text += " and " + std::to_string(runs.size() - kMostNamed) + " more";
  return text;
}

void require_directory_of(const std::string& file) {
  const fs::path directory = fs::path(file).parent_path();
  std::error_code ignored;
  if (!location_scheme(file).empty() || directory.empty() || file.starts_with("~/")) return;
  if (!fs::is_directory(directory, ignored))
    throw UsageError("There is no directory " + directory.string() + ", to write " + file);
}

std::string missing_run_text(const std::string& path) {
  constexpr const char* kLookedFor =
      "there is no collections/000000000/*_collections.json, which a hook writes when it starts";
  if (!location_scheme(path).empty()) return path + " is not a run: " + kLookedFor;
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) {
    if (status.type() == fs::file_type::none) return path + ": " + failure.message();
    return "There is no directory " + path + nearest_directories(path);
  }
  if (!fs::is_directory(status)) return path + " is a file; a run is a directory";
  if (const std::string around = run_around(path); !around.empty())
    return path + " is not a run; it is a part of the run " + around;
  if (const std::string below = runs_below_text(path); !below.empty())
    return path + " is not a run; below it are: " + below;
  return path + " is not a run: " + kLookedFor;
}

std::string missing_run_text(const MissingCollectionFiles& error) {
  const bool more_is_said = error.what() != std::string(MissingCollectionFiles(error.run).what());
  return more_is_said ? error.what() : missing_run_text(error.run);
}

}  // namespace cupel::command_detail
