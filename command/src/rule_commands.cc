// The options of the commands about rules: watch, check and rules. Each command keeps its options
// in a struct that its callback owns. SPECs are plain texts here: load_rules() reads them and
// reports their mistakes together.

#include <memory>
#include <string>

#include "command_groups.h"
#include "commands.h"

namespace cupel::command_detail {
namespace {

// "FILE.lua" or, of a program with readers of its own, "FILE.lua or FILE.py", each with `behind`.
std::string file_forms(const Program& program, const std::string& behind) {
  std::string text;
  for (const RuleFileReader& reader : rule_file_readers(program))
    text += (text.empty() ? "FILE" : " or FILE") + reader.ending + behind;
  return text;
}

void add_rule_options(CLI::App* app, AskedRules& asked, const Program& program) {
  app->add_option("--rule", asked.sources.specs,
                  with_program_name(
                      "NAME[,param=value…] or " + file_forms(program, "[:NAME][,param=value…]") +
                          "; may be given many times (see % rules); all: every rule of the "
                          "program that requires no parameter",
                      program))
      ->type_name("SPEC")
      ->allow_extra_args(false);
  app->add_option("--config", asked.sources.config, "a file of DebugRuleConfigurations")
      ->type_name("FILE");
  app->add_option("--script-limits", asked.script_limits,
                  "the limits of a rule in Lua, memory=64,time=1,instructions=1e7: MiB, and "
                  "seconds and instructions of each call")
      ->type_name("LIMITS");
}

void add_watch(CommandLine& line) {
  const auto options = std::make_shared<WatchOptions>();
  CLI::App* app =
      line.add("watch", "Evaluate rules over a run while it grows, until it ends",
               "  % watch runs/mnist\n"
               "  % watch runs/mnist --rule VanishingGradient --strict\n"
               "  % watch runs/mnist --rule ExplodingTensor,only_nan=True --first --json\n"
               "  % watch runs/mnist --rule VanishingGradient,threshold=1e-6 --no-wait --explain",
               [options](const CommandContext& context) { return run_watch(*options, context); });
  app->add_option("TRIAL", options->trial, "the run: its directory, which may be missing yet")
      ->required();
  add_rule_options(app, options->rules, line.program());
  app->add_flag("--no-wait", options->no_wait,
                "judge the steps that are there now; a missing run is an error");
  app->add_flag("--first", options->first, "a rule ends at its first firing");
  app->add_flag("--all", options->all, "print every finding, not where incidents begin and end");
  app->add_flag(
      "--strict", options->strict,
      "exit with 1 also where a rule that was named, or every rule, had nothing to judge");
  app->add_flag("--explain", options->explain,
                "show at every step what each rule selected, read and compared");
  app->add_option("--idle-timeout", options->idle_timeout,
                  "end after this many seconds without a run or a new step")
      ->type_name("SECONDS");
  app->add_flag("--until-writer-gone", options->until_writer_gone,
                "end when no process writes the run any more, as at its end");
  app->add_option("--start-step", options->start_step, "the first global step to judge")
      ->capture_default_str()
      ->transform(whole_number(0));
  app->add_option("--end-step", options->end_step, "the global step to end before")
      ->transform(whole_number(0));
  app->add_option("--wait-window", options->wait_window,
                  "the number of saved steps that may wait for slow workers; default: any number")
      ->type_name("STEPS")
      ->transform(whole_number(1));
  app->add_option("--out", options->out,
                  "also keep the lines in FILE, which may be s3://bucket/name; a restart with it "
                  "continues where this watch stopped")
      ->type_name("FILE");
  app->add_option("--action", options->actions,
                  "stop, signal:PID[:SIGNAL], exec:COMMAND or webhook:URL, carried out when a rule "
                  "begins to fire; may be given many times")
      ->type_name("ACTION")
      ->allow_extra_args(false);
  app->add_flag("--dry-run", options->dry_run,
                "report the actions that would be carried out, and carry out none");
  app->add_option("--webhook-ca", options->webhook_ca,
                  "trust the certificates in FILE (PEM) for webhooks, in place of the system's; "
                  "default: the file in SSL_CERT_FILE")
      ->type_name("FILE");
  app->add_option("--jobs", options->jobs,
                  "the number of threads that evaluate; the lines do not depend on it")
      ->transform(whole_number(1, 1000));
  add_json_option(app, options->json, "JSON lines");
}

void add_check(CommandLine& line) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* app = line.add(
      "check", "Check whether the data that is saved, or will be saved, feeds rules",
      "  % check hook.json --rule VanishingGradient --rule WeightUpdateRatio,num_steps=50\n"
      "  % check runs/mnist --rule VanishingGradient\n"
      "  % check hook.json --config rules.json --emit-hook-config > merged.json",
      [options](const CommandContext& context) { return run_check(*options, context); });
  app->add_option("TRIAL|HOOK.json", options->target,
                  "a run: its directory; or the file of a hook's configuration");
  add_rule_options(app, options->rules, line.program());
  app->add_option("--profile", options->profile,
                  "the framework whose tensor names the built-in collections of the hook match: "
                  "generic, pytorch, mxnet, tensorflow or xgboost")
      ->capture_default_str();
  app->add_flag("--emit-hook-config", options->emit_hook_config,
                "print HOOK.json, or an empty one, with the collections that the rules need");
  add_json_option(app, options->json, "a JSON array of the gaps");
}

void add_rules(CommandLine& line) {
  const auto options = std::make_shared<RulesOptions>();
  CLI::App* app =
      line.add("rules", "List the rules, describe one, or write a template of one in Lua",
               "  % rules\n  % rules VanishingGradient\n"
               "  % rules --new MyRule > my_rule.lua\n  % rules my_rule.lua",
               [options](const CommandContext& context) { return run_rules(*options, context); });
  app->add_option("NAME", options->name,
                  "the rule to describe, in either form of its name, or " +
                      file_forms(line.program(), "[:NAME]"));
  app->add_option("--new", options->new_rule,
                  "write a template of a rule in Lua to the standard output, or to a file if the "
                  "name ends in .lua")
      ->type_name("NAME")
      ->excludes(app->get_option("NAME"));
  add_json_option(app, options->json, "a JSON array; with NAME an object");
  app->add_option("--markdown", options->markdown,
                  "write a page of each rule, and README.md, which lists them, to DIR")
      ->type_name("DIR")
      ->excludes(app->get_option("NAME"))
      ->excludes(app->get_option("--json"));
}

}  // namespace

void add_rule_commands(CommandLine& line) {
  add_watch(line);
  add_check(line);
  add_rules(line);
}

}  // namespace cupel::command_detail
