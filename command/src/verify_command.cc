#include <nlohmann/json.hpp>
#include <string>

#include "amount_text.h"
#include "commands.h"
#include "cupel/core/printable.h"
#include "cupel/store/open_store.h"
#include "cupel/trial/verify_run.h"
#include "exit_codes.h"
#include "progress.h"
#include "stop_on_signal.h"

namespace cupel::command_detail {
namespace {

using Json = nlohmann::ordered_json;

std::string_view severity_word(VerifyFinding::Severity severity) {
  return severity == VerifyFinding::Severity::Damage ? "damage" : "remark";
}

void print_json(const std::string& trial, const VerifyReport& report, Printer out) {
  Json findings = Json::array();
  for (const VerifyFinding& finding : report.findings) {
    findings.push_back({{"severity", severity_word(finding.severity)},
                        {"file", finding.file},
                        {"offset", finding.offset},
                        {"problem", finding.problem}});
  }
  const Json json = {{"trial", trial},
                     {"ok", report.ok() && !report.stopped},
                     {"complete", !report.stopped},
                     {"ended", report.ended},
                     {"collections_files", report.collections_files},
                     {"index_files", report.index_files},
                     {"events_files", report.events_files},
                     {"steps", report.steps},
                     {"rows", report.rows},
                     {"values", report.values},
                     {"value_bytes", report.value_bytes},
                     {"findings", std::move(findings)}};
  out << json_text(json) << '\n';
}

void print_text(const VerifyReport& report, Printer out) {
  for (const VerifyFinding& finding : report.findings)
    out << severity_word(finding.severity) << "  " << printable(finding.file) << " at "
        << finding.offset << ": " << printable(finding.problem) << '\n';
  out << "checked " << count_text(report.index_files, "index file") << ", "
      << count_text(report.events_files, "events file") << ", " << count_text(report.steps, "step")
      << ", " << count_text(report.rows, "row") << ", " << bytes_text(report.value_bytes)
      << " of values: ";
  out << (report.ok() ? "all as it was written" : count_text(report.damages(), "damage"))
      << (report.stopped ? " so far; stopped before all was checked" : "") << '\n';
}

}  // namespace

int run_verify(const VerifyCommandOptions& options, const CommandContext& context) {
  const StopOnSignal signals;
  const std::unique_ptr<Store> store = open_store(options.trial);
  VerifyReport report;
  {
    Progress progress("checking", Progress::Unit::Bytes);
    report = verify_run(*store, {.progress = [&](std::uint64_t done,
                                                 std::uint64_t total) { progress(done, total); },
                                 .stop = signals.token()});
  }
  if (options.json) {
    print_json(options.trial, report, context.out);
  } else {
    print_text(report, context.out);
  }
  if (report.stopped) context.message() << "stopped before all was checked\n";
  if (report.stopped) return kExitInterrupted;
  return report.ok() ? kExitFine : kExitError;
}

}  // namespace cupel::command_detail
