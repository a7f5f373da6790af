#include "open_trial.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "cupel/core/error.h"
#include "cupel/core/nearest_names.h"
#include "progress.h"

namespace cupel {
namespace {

// A run without a new step for longer may be dead.
constexpr std::int64_t kSilentAfterSeconds = 60;

}  // namespace

std::unique_ptr<Trial> open_trial(const std::string& path, TrialOptions options) {
  try {
    Progress progress("reading the index", Progress::Unit::Bytes);
    options.progress = std::ref(progress);
    return create_trial(path, std::move(options));
  } catch (const MissingCollectionFiles& error) {
    const bool more_is_said = error.what() != std::string(MissingCollectionFiles(error.run).what());
    if (more_is_said) throw;
    throw MissingCollectionFiles(
        error.run,
        "looked for collections/000000000/*_collections.json, which a hook writes when it starts");
  }
}

Tensor require_tensor(const Trial& trial, const std::string& name) {
  if (const auto tensor = trial.find_tensor(name)) return *tensor;
  throw UsageError("the run has no tensor \"" + name + "\"" +
                   did_you_mean(name, trial.tensor_names()));
}

void tell_damage(const Trial& trial) { trial.refresh(); }

RunStatus status_of(const Trial& trial) {
  if (trial.ended()) return {RunStatus::Kind::Ended, 0};
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const std::int64_t newest = trial.totals().newest_time_us / 1'000'000;
  const std::int64_t silent = newest == 0 ? 0 : std::max<std::int64_t>(0, now - newest);
  return {silent > kSilentAfterSeconds ? RunStatus::Kind::Silent : RunStatus::Kind::Running,
          silent};
}

std::string to_text(const RunStatus& status) {
  switch (status.kind) {
    case RunStatus::Kind::Ended:
      return "ended";
    case RunStatus::Kind::Running:
      return "running";
    case RunStatus::Kind::Silent:
      break;
  }
  return "silent for " + std::to_string(status.silent_seconds) + " s";
}

}  // namespace cupel
