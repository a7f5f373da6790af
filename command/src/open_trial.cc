#include "open_trial.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "progress.h"

namespace cupel::command_detail {

std::unique_ptr<Trial> open_trial(const std::string& path, TrialOptions options) {
  Progress progress("reading the index", Progress::Unit::Bytes);
  options.progress = std::ref(progress);
  return create_trial(path, std::move(options));
}

Tensor require_tensor(const Trial& trial, const std::string& name) {
  if (const auto tensor = trial.find_tensor(name)) return *tensor;
  throw UsageError("the run has no tensor \"" + name + "\"" +
                   did_you_mean(name, trial.tensor_names()));
}

void require_collection(std::initializer_list<const Trial*> trials, const std::string& name) {
  std::vector<std::string> names;
  for (const Trial* trial : trials)
    for (std::string& known : trial->collection_names()) names.push_back(std::move(known));
  for (const auto& [known, collection] : builtin_collections(Profile::Generic))
    names.push_back(known);
  if (std::ranges::find(names, name) != names.end()) return;
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  throw UsageError(
      (trials.size() == 1 ? "the run has no collection \"" : "neither run has a collection \"") +
      name + "\"" + did_you_mean(name, names));
}

void require_step(const Trial& trial, std::int64_t step, Mode mode) {
  const std::vector<std::int64_t> steps = trial.steps(mode, true);
  if (std::ranges::binary_search(steps, step)) return;
  throw UsageError("nothing was saved at step " + std::to_string(step) + " of mode " +
                   std::string(to_string(mode)) + "; " + steps_near(steps, step));
}

std::string steps_near(const std::vector<std::int64_t>& steps, std::int64_t step) {
  if (steps.empty()) return "there is no saved step of this mode";
  constexpr std::ptrdiff_t kEachSide = 2;
  const auto at = std::lower_bound(steps.begin(), steps.end(), step);
  const auto begin = at - std::min(kEachSide, at - steps.begin());
  const auto end = at + std::min(kEachSide, steps.end() - at);
  std::string text = "saved steps near it:";
  for (auto near = begin; near != end; ++near)
    text += (near == begin ? " " : ", ") + std::to_string(*near);
  return text;
}

void throw_damage(const Trial& trial) { trial.refresh(); }

std::int64_t seconds_of_silence(const Trial& trial) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const std::int64_t newest = trial.totals().newest_time_us / 1'000'000;
  return newest == 0 ? 0 : std::max<std::int64_t>(0, now - newest);
}

std::string status_text(RunStatus status, std::int64_t silent_seconds) {
  const std::string seconds = std::to_string(silent_seconds) + " s";
  switch (status) {
    case RunStatus::Silent:
      return "silent for " + seconds;
    case RunStatus::Interrupted:
      return "interrupted: no process writes it" +
             (silent_seconds == 0 ? "" : "; the newest step is " + seconds + " old");
    case RunStatus::Ended:
    case RunStatus::Running:
      break;
  }
  return std::string(to_string(status));
}

}  // namespace cupel::command_detail
