#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "amount_text.h"
#include "apart.h"
#include "commands.h"
#include "cupel/core/printable.h"
#include "cupel/store/open_store.h"
#include "cupel/trial/copy_run.h"
#include "exit_codes.h"
#include "progress.h"
#include "stop_on_signal.h"

namespace cupel::command_detail {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

int run_copy(const CopyCommandOptions& options, const CommandContext& context) {
  const StopOnSignal signals;
  const std::unique_ptr<Store> source = open_store(options.source);
  const std::unique_ptr<Store> destination = open_store(options.destination);
  check_apart(*source, *destination, "SRC");
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
    context.out << json_text(json) << '\n';
  } else {
    context.out << "copied " << count_text(report.steps, "step") << " in "
                << count_text(report.files, "file") << ", " << bytes_text(report.bytes)
                << ", of a run that " << (report.ended ? "has ended" : "has not ended") << '\n';
    if (!report.stopped)
      context.out << context.program.name << " verify " << printable(options.destination)
                  << " checks the copy\n";
  }
  if (!report.stopped) return kExitFine;
  context.message() << "stopped; DST holds a part of the run, and must be removed before another "
                       "copy\n";
  return kExitInterrupted;
}

}  // namespace cupel::command_detail
