// Problems that cost nothing but themselves: illegal names, misspelt and empty collections, steps
// of an earlier attempt that this one hides. The hook reports them in its log and in its report; a
// note in the run names the hidden steps.

#include <algorithm>
#include <functional>
#include <string>

#include "cupel/core/mutex.h"
#include "cupel/core/printable.h"
#include "hook_state.h"
#include "note_text.h"

namespace cupel {
namespace {

constexpr std::size_t kMostIllegalNames = 10;
constexpr std::size_t kMostShownOfName = 80;
constexpr std::size_t kMostCollectionsNamed = 20;

std::string range_of_steps(std::int64_t first, std::int64_t last) {
  const std::string text = std::to_string(first);
  return first == last ? "step " + text : "steps " + text + " to " + std::to_string(last);
}

}  // namespace

void Hook::State::report_illegal_name(std::string_view name, const char* defect) {
  std::string what = std::string(defect) + ": \"" + printable(name, kMostShownOfName) + '"';
  if (options.on_error == OnError::Throw) throw UsageError(what);
  {
    const MutexLock lock(mutex_);
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
  std::size_t count = 0;
  for (const std::string& name : empty_collections(collections, options)) {
    if (groups.is_joined(name)) continue;
    const std::string hint = builtin_name_meant(name, options.profile);
    if (hint.empty()) continue;  // calls may fill it
    const InvalidCollectionConfiguration error(name, hint);
    if (options.on_error == OnError::Disable) {
      if (++count <= kMostCollectionsNamed) tell(error.what(), LogLevel::Error);
    } else if (!closed) {
      throw error;
    }
  }
  if (count > kMostCollectionsNamed)
    tell("further collections with nearly the name of a built-in one: " +
             std::to_string(count - kMostCollectionsNamed),
         LogLevel::Error);
}

void Hook::State::report_empty_collections() {
  std::size_t count = 0;
  for (const std::string& name : empty_collections(collections, options)) {
    if (groups.is_joined(name)) continue;
    const std::string hint = builtin_name_meant(name, options.profile);
    // The first step has reported misspelt ones, or thrown the first of them.
    if (!hint.empty() && options.on_error != OnError::Throw) continue;
    if (++count <= kMostCollectionsNamed)
      tell("no call put a tensor into the collection \"" + printable(name) +
           "\", which has no patterns" + hint);
  }
  if (count > kMostCollectionsNamed)
    tell("further collections without patterns, into which no call put a tensor: " +
         std::to_string(count - kMostCollectionsNamed));
}

void Hook::State::find_earlier_steps() {
  if (output->attempt() == 0) return;
  try {
    earlier_last_ = output->last_saved_step();
  } catch (const StoreError& error) {
    return log(LogLevel::Warning,
               std::string("which steps this attempt hides is not known: ") + error.what());
  }
  if (counters.global < earlier_last_) {
    log(LogLevel::Warning, "the run has steps up to " + std::to_string(earlier_last_) +
                               " of an earlier attempt; this one begins at step " +
                               std::to_string(counters.global + 1) +
                               " and hides them from the first step on that it saves");
  }
}

void Hook::State::note_hidden_steps() {
  if (hidden_from_ >= 0) return;
  hidden_from_ = recorder->step();
  if (hidden_from_ > earlier_last_) return;
  note(note_text({{"kind", "hidden_steps"},
                  {"first", hidden_from_},
                  {"last", earlier_last_},
                  {"attempt", output->attempt()}}));
}

// A run that was begun anew and has become shorter.
void Hook::State::report_hidden_steps() {
  const std::int64_t last = committed_step;
  if (hidden_from_ < 0 || last < hidden_from_ || last >= earlier_last_) return;
  tell(range_of_steps(last + 1, earlier_last_) + " of an earlier attempt " +
       (last + 1 == earlier_last_ ? "is" : "are") + " hidden: this one began to save at step " +
       std::to_string(hidden_from_) + " and ended at step " + std::to_string(last));
}

}  // namespace cupel
