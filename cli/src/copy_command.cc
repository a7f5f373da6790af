#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <system_error>

#include "amount_text.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/rules/printable.h"
#include "cupel/store/open_store.h"
#include "cupel/trial/copy_run.h"
#include "progress.h"
#include "run_cli.h"
#include "stop_on_signal.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

bool is_inside(const fs::path& inner, const fs::path& outer) {
  const auto [end_of_outer, rest] =
      std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end_of_outer == outer.end();
}

// Where a store is: its directory, whatever its name and the links on the way, or its URL. A name
// that ends in '/' is the same place.
fs::path place_of(const Store& store) {
  const fs::path location = store.location();
  if (!location_scheme(location.string()).empty()) return location;
  const fs::path place = fs::weakly_canonical(fs::absolute(location));
  return place.has_filename() ? place : place.parent_path();
}

void check_apart(const Store& source, const Store& destination) {
  const fs::path from = place_of(source), to = place_of(destination);
  std::error_code ignored;
  if (fs::exists(to, ignored) && !fs::is_directory(to, ignored))
    throw UsageError("DST is a file, not a directory: " + to.string());
  if (from == to) throw UsageError("SRC and DST are the same place: " + from.string());
  if (is_inside(to, from)) throw UsageError("DST is inside SRC: " + to.string());
  if (is_inside(from, to)) throw UsageError("SRC is inside DST: " + from.string());
}

}  // namespace

int run_copy(const CopyCommandOptions& options, std::ostream& out, std::ostream& err) {
  const StopOnSignal signals;
  const std::unique_ptr<Store> source = open_store(options.source);
  const std::unique_ptr<Store> destination = open_store(options.destination);
  check_apart(*source, *destination);
  CopyReport report;
  {
    Progress progress("copying", Progress::Unit::Bytes);
    report = copy_run(
        *source, *destination,
        {.progress = [&](std::uint64_t done, std::uint64_t total) { progress(done, total); },
         .stop = signals.token()});
  }
  if (options.json) {
    const Json json = {{"source", options.source},    {"destination", options.destination},
                       {"complete", !report.stopped}, {"ended", report.ended},
                       {"files", report.files},       {"bytes", report.bytes},
                       {"steps", report.steps}};
    out << json.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  } else {
    out << "copied " << count_text(report.steps, "step") << " in "
        << count_text(report.files, "file") << ", " << bytes_text(report.bytes)
        << ", of a run that " << (report.ended ? "has ended" : "has not ended") << '\n';
    if (!report.stopped)
      out << "cupel verify " << printable(options.destination) << " checks the copy\n";
  }
  if (!report.stopped) return kExitFine;
  err << "cupel copy: stopped; DST holds a part of the run, and must be removed before another "
         "copy\n";
  return kExitInterrupted;
}

}  // namespace cupel
