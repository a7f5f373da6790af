// The options of the commands that read a run: info, steps, tensors, show and diff. The help texts
// are also those of the manual page. Each command keeps its options in a struct that its callback
// owns; a value out of range is an error of the command line, before any run is opened.

#include <memory>
#include <string>

#include "command_groups.h"
#include "commands.h"

namespace cupel::command_detail {
namespace {

void add_info(CommandLine& line) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App* app =
      line.add("info", "Show what a run holds, and whether it has ended",
               "  % info runs/mnist\n  % info runs/mnist --json\n"
               "  % info --build",
               [options](const CommandContext& context) { return run_info(*options, context); });
  app->add_option("TRIAL", options->trial, kTrialHelp);
  app->add_flag("--build", options->build,
                "show what is built into this program, in place of a run")
      ->excludes(app->get_option("TRIAL"));
  add_json_option(app, options->json, "one JSON object");
}

void add_steps(CommandLine& line) {
  const auto options = std::make_shared<StepsOptions>();
  CLI::App* app = line.add(
      "steps", "List the saved steps", "  % steps runs/mnist\n  % steps runs/mnist --mode EVAL",
      [options](const CommandContext& context) { return run_steps(*options, context); });
  app->add_option("TRIAL", options->trial, kTrialHelp)->required();
  app->add_option("--tensor", options->tensor, "only the steps at which this tensor was saved");
  add_mode_option(app, options->mode);
  add_json_option(app, options->json, "a JSON array of numbers");
}

void add_tensors(CommandLine& line) {
  const auto options = std::make_shared<TensorsOptions>();
  CLI::App* app =
      line.add("tensors", "List the names of tensors",
               "  % tensors runs/mnist\n"
               "  % tensors runs/mnist --step 10 --collection gradients\n"
               "  % tensors runs/mnist --regex 'fc1|fc2' --long",
               [options](const CommandContext& context) { return run_tensors(*options, context); });
  app->add_option("TRIAL", options->trial, kTrialHelp)->required();
  add_mode_option(app, options->mode);
  app->add_option("--step", options->step, "only the tensors that were saved at this step")
      ->transform(whole_number(0));
  app->add_option("--collection", options->collection, "only the tensors of a collection");
  app->add_option("--regex", options->regex,
                  "only the tensors in whose names the pattern is found");
  app->add_flag("-l,--long", options->in_full,
                "print a table with dtype, shape, steps and saved data");
  add_json_option(app, options->json, "a JSON array of names; with --long of objects");
}

void add_show(CommandLine& line) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* app =
      line.add("show", "Show a tensor: all its saved steps, or its value at one",
               "  % show runs/mnist loss --plot\n"
               "  % show runs/mnist fc1.weight --step 10\n"
               "  % show runs/mnist fc1.weight --reduction abs_mean --plot\n"
               "  % show runs/mnist fc1.weight --histogram --last 10\n"
               "  % show runs/mnist fc1.weight --step 10 --npy fc1.npy",
               [options](const CommandContext& context) { return run_show(*options, context); });
  app->add_option("TRIAL", options->trial, kTrialHelp)->required();
  app->add_option("TENSOR", options->tensor, "the tensor's name")->required();
  app->add_option("--step", options->step, "the step; default: a line for every saved step")
      ->transform(whole_number(0));
  app->add_option("--start-step", options->start_step, "only steps from this one on")
      ->transform(whole_number(0));
  app->add_option("--end-step", options->end_step, "only steps before this one")
      ->transform(whole_number(0));
  app->add_option("--last", options->last, "only this many saved steps, the last ones")
      ->transform(whole_number(1));
  add_mode_option(app, options->mode);
  app->add_option("--worker", options->worker,
                  "the worker that saved the tensor; default: the first by name");
  app->add_option(
         "--reduction", options->reductions,
         "show a reduction: mean, abs_max, l2 …; it is computed from the value if it was not "
         "saved; may be given many times")
      ->allow_extra_args(false);
  app->add_flag("--plot", options->plot, "draw the scalar or the reductions over the steps");
  app->add_flag("--log", options->log, "the scale of --plot is logarithmic");
  app->add_flag("--histogram", options->histogram,
                "draw the distribution of the values at each step");
  app->add_option("--width", options->width,
                  "the columns of the output; default: those of the terminal, else 80")
      ->transform(whole_number(kLeastPlotWidth, 1000));
  app->add_option("--npy", options->npy,
                  "write the value to this NumPy file; of a range, one array");
  add_json_option(app, options->json, "one JSON object per step, values as nested lists");
}

void add_diff(CommandLine& line) {
  const auto options = std::make_shared<DiffOptions>();
  CLI::App* app =
      line.add("diff", "Find the first step and tensor at which two runs differ",
               "  % diff runs/before runs/after\n"
               "  % diff runs/before runs/after --rtol 1e-5 --atol 1e-8\n"
               "  % diff runs/before runs/after --collection weights --limit 10",
               [options](const CommandContext& context) { return run_diff(*options, context); });
  app->add_option("RUN_A", options->run_a, "one run: its directory")->required();
  app->add_option("RUN_B", options->run_b, "the other run: its directory")->required();
  app->add_option("--rtol", options->rtol,
                  "floats a, b are the same if |a - b| <= atol + rtol * max(|a|, |b|)")
      ->capture_default_str();
  app->add_option("--atol", options->atol, "see --rtol")->capture_default_str();
  add_mode_option(app, options->mode);
  app->add_option("--collection", options->collection, "only the tensors of a collection");
  app->add_option("--regex", options->regex,
                  "only the tensors in whose names the pattern is found");
  app->add_option("--start-step", options->start_step, "the first global step to compare")
      ->transform(whole_number(0))
      ->capture_default_str();
  app->add_option("--end-step", options->end_step, "the global step to end before")
      ->transform(whole_number(0));
  app->add_option("--limit", options->limit, "the number of differences to find; 0: all")
      ->transform(whole_number(0))
      ->capture_default_str();
  app->add_flag("--full", options->full, "also read values whose checksums and statistics agree");
  add_json_option(app, options->json, "one JSON object");
}

}  // namespace

void add_reading_commands(CommandLine& line) {
  add_info(line);
  add_steps(line);
  add_tensors(line);
  add_show(line);
  add_diff(line);
}

}  // namespace cupel::command_detail
