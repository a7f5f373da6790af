// `sync --salvage`: writes the undamaged part of a run to another directory, and lists what was
// left out. salvage_run() of the room trial does the work, on the thread of the command. A signal
// stops it between segments; the part that was written stays. A destination that is not empty, and
// a store that fails, end the command with a message and exit code 2, as does any part left out.

#include <nlohmann/json.hpp>
#include <string>

#include "amount_text.h"
#include "apart.h"
#include "commands.h"
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/store/local_store.h"
#include "cupel/trial/salvage_run.h"
#include "exit_codes.h"
#include "progress.h"
#include "stop_on_signal.h"

namespace cupel::command_detail {
namespace {

using SalvageJson = nlohmann::ordered_json;

template <class Number>
SalvageJson number_json(const std::optional<Number>& number) {
  return number ? SalvageJson(*number) : SalvageJson();
}

SalvageJson left_out_json(const LeftOut& part) {
  return {{"file", part.file},
          {"offset", part.offset},
          {"rows", number_json(part.rows)},
          {"values", part.values},
          {"after_step", number_json(part.after_step)},
          {"before_step", number_json(part.before_step)},
          {"problem", part.problem}};
}

// Returns "index/…, offset 5678: 2 rows between step 1 and step 3: a step fails its checksum".
std::string left_out_text(const LeftOut& part) {
  std::string text = part.file + ", offset " + std::to_string(part.offset) + ": ";
  if (part.values > 0) {
    text += count_text(part.values, "value");
  } else {
    text += part.rows ? count_text(*part.rows, "row") : "nobody knows how many rows";
    const auto step = [](std::int64_t number) { return "step " + std::to_string(number); };
    if (part.after_step && part.before_step)
      text += " between " + step(*part.after_step) + " and " + step(*part.before_step);
    else if (part.after_step)
      text += " behind " + step(*part.after_step);
    else if (part.before_step)
      text += " before " + step(*part.before_step);
  }
  return text + ": " + part.problem;
}

}  // namespace

int run_salvage(const SyncOptions& options, const CommandContext& context) {
  const StopOnSignal signals;
  const LocalStore source(directory_place(options.path));
  if (options.salvage.find("://") != std::string::npos)
    throw UsageError("--salvage takes a directory of this machine, not " + options.salvage);
  LocalStore destination(options.salvage);
  check_apart(source, destination, "DIR");
  SalvageReport report;
  {
    Progress progress("salvaging", Progress::Unit::Bytes);
    report = salvage_run(
        source, destination,
        {.progress = [&](std::uint64_t done, std::uint64_t total) { progress(done, total); },
         .stop = signals.token()});
  }
  const bool ok = report.left_out.empty() && !report.stopped;
  if (options.json) {
    SalvageJson left_out = SalvageJson::array();
    for (const LeftOut& part : report.left_out) left_out.push_back(left_out_json(part));
    const SalvageJson json = {{"source", options.path},
                              {"destination", options.salvage},
                              {"ok", ok},
                              {"complete", !report.stopped},
                              {"ended", report.ended},
                              {"segments", report.segments},
                              {"steps", report.steps},
                              {"rows", report.rows},
                              {"values", report.values},
                              {"value_bytes", report.value_bytes},
                              {"left_out", std::move(left_out)}};
    context.out << json_text(json) << '\n';
  } else {
    for (const LeftOut& part : report.left_out)
      context.out << "left out  " << printable(left_out_text(part)) << '\n';
    context.out << "salvaged " << count_text(report.steps, "step") << ", "
                << count_text(report.rows, "row") << ", " << count_text(report.values, "value")
                << " in " << count_text(report.segments, "segment") << ", of a run that "
                << (report.ended ? "has ended" : "has not ended") << '\n';
    if (!report.stopped)
      context.out << context.program.name << " verify " << printable(options.salvage)
                  << " checks what was written\n";
  }
  if (ok) return kExitFine;
  context.message() << (report.stopped
                            ? "stopped; DST holds a part of the run, and must be removed "
                              "before another try"
                            : "something was left out")
                    << '\n';
  return report.stopped ? kExitInterrupted : kExitError;
}

}  // namespace cupel::command_detail
