// Problems that cost nothing but themselves: illegal names, misspelt and empty collections. The hook
// reports them in its log and in its report.

#include <algorithm>
#include <functional>
#include <string>

#include "cupel/core/printable.h"
#include "hook_state.h"

namespace cupel {
namespace {

constexpr std::size_t kMostIllegalNames = 10;
constexpr std::size_t kMostShownOfName = 80;

}  // namespace

void Hook::State::report_illegal_name(std::string_view name, const char* defect) {
  std::string what = std::string(defect) + ": \"" + printable(name, kMostShownOfName) + '"';
  if (options.on_error == OnError::Throw) throw UsageError(what);
  {
    const std::lock_guard lock(mutex_);
    const std::size_t hash = std::hash<std::string_view>()(name);
    if (illegal_names_.size() == kMostIllegalNames ||
        std::ranges::find(illegal_names_, hash) != illegal_names_.end())
      return;
    illegal_names_.push_back(hash);
    if (illegal_names_.size() == kMostIllegalNames)
      what += "; further names that no tensor can have are not reported";
  }
  tell(std::move(what));
}

void Hook::State::report_misspelt_collections() {
  for (const std::string& name : empty_collections(collections, options)) {
    const std::string hint = builtin_name_meant(name, options.profile);
    if (hint.empty()) continue;  // calls may fill it
    const InvalidCollectionConfiguration error(name, hint);
    if (options.on_error == OnError::Disable)
      tell(error.what(), LogLevel::Error);
    else if (!closed)
      throw error;
  }
}

void Hook::State::report_empty_collections() {
  for (const std::string& name : empty_collections(collections, options)) {
    const std::string hint = builtin_name_meant(name, options.profile);
    // The first step has reported misspelt ones, or thrown the first of them.
    if (hint.empty() || options.on_error == OnError::Throw)
      tell("no call put a tensor into the collection \"" + printable(name) +
           "\", which has no patterns" + hint);
  }
}

}  // namespace cupel
