// `sync`: seals the runs in a directory and delivers its spools. Each spool and each run is one
// Synced; a failure of one does not keep the others from being done, and makes the exit code 2. A
// signal stops the delivery at the next object; delivered objects stay delivered. The command has
// one thread, and the room delivery uploads with its own.

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "amount_text.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/delivery/deliver_spool.h"
#include "cupel/writer/seal_run.h"
#include "exit_codes.h"
#include "missing_run.h"
#include "progress.h"
#include "stop_on_signal.h"

namespace cupel::command_detail {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The result for one directory: a run that was sealed, or a spool that was also delivered.
struct Synced {
  std::string directory;
  DeliverReport report;
  std::string error;  // the reason why nothing was done

  bool is_spool() const { return !report.destination.url.empty(); }
  bool ok() const {
    return error.empty() && report.ok() && report.sealing.damaged.empty() && !report.stopped;
  }
};

bool looks_like_a_run(const fs::path& place) {
  return std::ranges::any_of(std::array{"collections", "index", "events"}, [&](const char* folder) {
    std::error_code ignored;
    return fs::is_directory(fs::symlink_status(place / folder, ignored));
  });
}

// Returns the runs in a directory that are no spools: the directory itself, or folders at the depth
// of spools.
std::vector<std::string> runs_in(const std::string& place, const std::vector<std::string>& spools) {
  constexpr int kDeepest = 1;
  const auto is_spool = [&](const std::string& folder) {
    return std::ranges::find(spools, folder) != spools.end();
  };
  if (is_spool(place)) return {};
  if (looks_like_a_run(place)) return {place};
  std::vector<std::string> runs;
  std::error_code failure;
  fs::recursive_directory_iterator entry(place, fs::directory_options::skip_permission_denied,
                                         failure);
  for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
    const std::string folder = entry->path().string();
    std::error_code ignored;
    const bool is_run =
        !is_spool(folder) && !entry->is_symlink(ignored) && looks_like_a_run(folder);
    if (is_run) runs.push_back(folder);
    if (is_run || is_spool(folder) || entry.depth() == kDeepest) entry.disable_recursion_pending();
  }
  std::ranges::sort(runs);
  return runs;
}

constexpr const char* kStopped = "stopped before its turn";

Synced deliver(const std::string& directory, const std::string& place, const SyncOptions& options,
               const std::stop_token& stop) {
  Synced synced{directory, {}, {}};
  if (stop.stop_requested()) {
    synced.error = kStopped;
    return synced;
  }
  Progress progress("uploading", Progress::Unit::Bytes);
  DeliverOptions how;
  how.patience = std::chrono::seconds(options.idle_timeout);
  how.stays = place;
  how.progress = [&](std::uint64_t done, std::uint64_t total) { progress(done, total); };
  how.stop = stop;
  try {
    synced.report = deliver_spool(directory, how);
  } catch (const std::exception& error) {
    synced.error = error.what();
  }
  return synced;
}

// Seals a run. Returns nothing if the directory is no run.
std::optional<Synced> seal(const std::string& run, const std::stop_token& stop) {
  Synced synced{run, {}, {}};
  if (stop.stop_requested()) {
    synced.error = kStopped;
    return synced;
  }
  try {
    synced.report.sealing = seal_run(run);
  } catch (const MissingCollectionFiles&) {
    return std::nullopt;
  } catch (const std::exception& error) {
    synced.error = error.what();
  }
  return synced;
}

std::string foreign_text(const std::vector<std::string>& files) {
  std::string text = "left alone, being no part of the run: " + files.front();
  return files.size() == 1 ? text : text + " and " + std::to_string(files.size() - 1) + " more";
}

std::string left_text(const NotUploaded& left) {
  std::string text = count_text(static_cast<std::uint64_t>(left.steps), "step") + " in " +
                     bytes_text(left.bytes) + (left.end ? " and the end of the run" : "") +
                     " are left";
  return left.why.empty() ? text : text + ": " + left.why;
}

std::vector<std::string> problems_of(const Synced& synced) {
  std::vector<std::string> problems;
  if (!synced.error.empty()) problems.push_back(synced.error);
  if (!synced.is_spool()) {
    for (const std::string& text : synced.report.sealing.damaged)
      problems.push_back("left as it is: " + text);
  }
  problems.insert(problems.end(), synced.report.problems.begin(), synced.report.problems.end());
  if (const NotUploaded& left = synced.report.left; !left.directory.empty())
    problems.push_back(left_text(left));
  return problems;
}

Json json_of(const Synced& synced) {
  const DeliverReport& report = synced.report;
  Json json = {{"directory", synced.directory}, {"ok", synced.ok()}};
  json["destination"] = synced.is_spool() ? Json(report.destination.url) : Json();
  json["worker"] = synced.is_spool() ? Json(report.destination.worker) : Json();
  json["sealed"] = report.sealing.sealed;
  json["segments"] = report.segments_uploaded;
  json["bytes"] = report.bytes_uploaded;
  json["steps_left"] = report.left.steps;
  json["bytes_left"] = report.left.bytes;
  json["dropped"] = report.sealing.dropped;
  json["foreign"] = report.foreign;
  json["problems"] = problems_of(synced);
  return json;
}

void print_text(const Synced& synced, const CommandContext& context) {
  const DeliverReport& report = synced.report;
  const std::string name = printable(synced.directory);
  if (report.sealing.sealed > 0)
    context.out << name << ": sealed " << count_text(report.sealing.sealed, "segment") << '\n';
  for (const std::string& text : report.sealing.dropped)
    context.out << name << ": cut off " << printable(text) << '\n';
  if (report.segments_uploaded > 0) {
    context.out << name << ": uploaded " << count_text(report.segments_uploaded, "segment") << ", "
                << bytes_text(report.bytes_uploaded) << ", to " << printable(report.destination.url)
                << ", " << printable(report.destination.worker)
                << (report.ended ? "" : ", of a run that has not ended") << '\n';
  }
  if (!report.foreign.empty())
    context.out << name << ": " << printable(foreign_text(report.foreign)) << '\n';
  for (const std::string& text : problems_of(synced))
    context.message() << name << ": " << printable(text) << '\n';
}

}  // namespace

std::string directory_place(const std::string& path) {
  if (path.find("://") != std::string::npos)
    throw UsageError("takes a directory of this machine, not " + path);
  const std::string place = LocalStore(path).location();  // resolves "~/"
  if (!fs::is_directory(place)) throw UsageError(missing_run_text(place));
  return place;
}

int run_sync(const SyncOptions& options, const CommandContext& context) {
  if (!options.salvage.empty()) return run_salvage(options, context);
  const StopOnSignal signals;
  const std::string place = directory_place(options.path);
  std::vector<Synced> all;
  const auto done = [&](Synced synced) {
    if (!options.json) print_text(synced, context);
    all.push_back(std::move(synced));
  };
  const std::vector<std::string> spools = Spool::find(place);
  for (const std::string& spool : spools) done(deliver(spool, place, options, signals.token()));
  for (const std::string& run : runs_in(place, spools))
    if (auto sealed = seal(run, signals.token())) done(*std::move(sealed));

  const bool ok = std::ranges::all_of(all, &Synced::ok);
  if (options.json) {
    Json directories = Json::array();
    for (const Synced& synced : all) directories.push_back(json_of(synced));
    const Json json = {{"path", options.path}, {"ok", ok}, {"directories", std::move(directories)}};
    context.out << json_text(json) << '\n';
  } else if (ok) {
    context.out << "nothing is left in " << printable(options.path) << '\n';
  } else {
    context.message() << "something is left\n";
  }
  if (!ok && signals.token().stop_requested()) return kExitInterrupted;
  return ok ? kExitFine : kExitError;
}

}  // namespace cupel::command_detail
