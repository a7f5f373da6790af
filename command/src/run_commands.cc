#include <memory>
#include <string>

#include "command_groups.h"
#include "commands.h"

namespace cupel::command_detail {
namespace {

void add_verify(CommandLine& line) {
  const auto options = std::make_shared<VerifyCommandOptions>();
  CLI::App* app =
      line.add("verify", "Read all of a run again and check it",
               "  % verify runs/mnist\n  % verify runs/mnist --json",
               [options](const CommandContext& context) { return run_verify(*options, context); });
  app->add_option("TRIAL", options->trial, kTrialHelp)->required();
  add_json_option(app, options->json, "one JSON object");
}

void add_copy(CommandLine& line) {
  const auto options = std::make_shared<CopyCommandOptions>();
  CLI::App* app =
      line.add("copy", "Copy a run, also one that is being written",
               "  % copy runs/mnist backup/mnist\n"
               "  % copy runs/mnist backup/mnist --json",
               [options](const CommandContext& context) { return run_copy(*options, context); });
  app->add_option("SRC", options->source, kTrialHelp)->required();
  app->add_option("DST", options->destination, "the copy: a directory that is empty or missing")
      ->required();
  add_json_option(app, options->json, "one JSON object");
}

void add_sync(CommandLine& line) {
  const auto options = std::make_shared<SyncOptions>();
  CLI::App* app =
      line.add("sync", "Seal and upload what an interrupted process left",
               "  % sync runs/mnist\n  % sync ~/.local/state/cupel/spool\n"
               "  % sync ~/.local/state/cupel/spool/3f1c09d2a7b4e856/worker_0 --json\n"
               "  % sync runs/bitten --salvage runs/whole",
               [options](const CommandContext& context) { return run_sync(*options, context); });
  app->add_option("DIR|SPOOL", options->path,
                  "a run's directory; a spool, or a directory with spools in it")
      ->required();
  app->add_option("--idle-timeout", options->idle_timeout,
                  "give up when requests have failed for this many seconds")
      ->capture_default_str()
      ->type_name("SECONDS")
      ->transform(whole_number(0, 1'000'000));
  app->add_option("--salvage", options->salvage,
                  "leave the run DIR as it is, and write its undamaged part to DST, a directory "
                  "that is empty or missing")
      ->type_name("DST");
  add_json_option(app, options->json, "one JSON object");
}

}  // namespace

void add_run_commands(CommandLine& line) {
  add_verify(line);
  add_copy(line);
  add_sync(line);
}

}  // namespace cupel::command_detail
