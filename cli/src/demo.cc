// `demo`: trains three networks one after another, and has a Judge evaluate rules over each run
// while it is written. The trainings run in the thread of the command or in child processes, the
// judge in a thread of its own; everything random follows from one seed. The training that explodes
// is stopped by its judge. An error, such as a directory that cannot be written, ends the demo with
// a message.

#include "demo.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "colour.h"
#include "command_context.h"
#include "cupel/core/printable.h"
#include "cupel/store/open_store.h"
#include "cupel/trial/trial.h"
#include "demo_judge.h"
#include "demo_spirals.h"
#include "demo_torch.h"
#include "demo_training.h"
#include "exit_codes.h"
#include "plot.h"
#include "shell_text.h"
#include "terminal.h"

namespace cupel {
namespace {

namespace fs = std::filesystem;
using command_detail::Colour;
using command_detail::CommandContext;
using command_detail::painted;
using command_detail::quoted_for_shell;
using command_detail::TerminalScope;
using demo::Announced;
using demo::Judge;
using demo::LuaChoice;
using demo::Programme;
using demo::Result;
using demo::Training;

constexpr std::size_t kDrawingColumns = 80;  // where the output is no terminal

// The text of the rule in Lua.
constexpr std::string_view kLossPlateau =
#include "loss_plateau.inc"
    ;

std::string number(double value) {
  if (std::isnan(value)) return "NaN";  // of either sign
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

bool is_far_away(const std::string& directory) {
  return directory.find("://") != std::string::npos;
}

// Returns whether exactly the announced rules fired.
bool as_announced(const Training& training, const std::vector<RuleSummary>& rules,
                  const Judge& judge) {
  return std::ranges::all_of(rules, [&](const RuleSummary& rule) {
    const auto announced = std::ranges::find(training.announced, rule.rule, &Announced::rule);
    const bool may_be_silent = announced == training.announced.end() || !announced->is_certain;
    if (may_be_silent && rule.status == RuleStatus::NoIssuesFound) return true;
    if (announced == training.announced.end()) return false;
    return rule.status == RuleStatus::IssuesFound &&
           (announced->tensor.empty() || judge.has_finding(rule.rule, announced->tensor));
  });
}

std::string in_words(Printer out, const RuleSummary& rule) {
  const std::string name =
      painted(out, command_detail::colour_of(rule.status), printable(rule.rule));
  if (rule.status != RuleStatus::IssuesFound)
    return name + " could not judge: " + printable(rule.message);
  return name + " fired at " + std::to_string(rule.steps_fired) +
         (rule.steps_fired == 1 ? " step" : " steps") + ", first at step " +
         std::to_string(rule.first_step.value_or(-1));
}

// Prints the results of the rules; the rules that found nothing are in one line.
void print_rules(Printer out, const std::vector<RuleSummary>& rules) {
  std::string silent;
  for (const RuleSummary& rule : rules) {
    if (rule.status == RuleStatus::NoIssuesFound)
      silent += (silent.empty() ? "" : ", ") + rule.rule;
    else
      out << "  " << Composed{in_words(out, rule)} << '\n';
  }
  if (!silent.empty())
    out << "  " << Composed{painted(out, Colour::Fine, "nothing found")} << " by " << silent
        << '\n';
}

// Draws the loss of a run on a logarithmic scale.
void draw_loss(Printer out, const std::string& run) {
  const auto trial = create_trial(run);
  const Tensor loss = trial->tensor("loss");
  std::vector<command_detail::PlotPoint> points;
  for (const std::int64_t step : loss.steps()) points.push_back({step, loss.value(step).at(0)});
  constexpr std::size_t kRows = 6;
  const std::size_t columns =
      std::max(command_detail::kLeastPlotWidth, command_detail::columns_of(out, kDrawingColumns));
  for (const std::string& line :
       command_detail::plot(points, {.width = columns, .rows = kRows, .log = true}))
    out << line << '\n';
}

bool train_and_judge(const Training& training, const std::string& run, const LuaChoice& lua_rule,
                     Printer out) {
  out << '\n' << training.name << ": " << training.story << std::endl;
  Judge judge(lua_rule, out);
  const Result result = training.train(run, judge);
  const std::vector<RuleSummary>& rules = judge.finish();

  out << "  " << (result.stopped_early ? "stopped by its judge after " : "trained for ")
      << result.steps << " steps, loss " << number(result.first_loss) << " -> "
      << number(result.last_loss);
  if (training.announced.empty())
    out << ", held-out accuracy " << number(100 * result.held_out_accuracy) << " %";
  out << '\n';
  print_rules(out, rules);
  const bool well_judged = as_announced(training, rules, judge);
  out << "  judged " << (well_judged ? "as announced" : "NOT as announced") << std::endl;
  return well_judged;
}

std::string absolute(const std::string& directory) {
  return is_far_away(directory) ? directory : fs::absolute(directory).lexically_normal().string();
}

// Writes the rule in Lua as a file, which people may read and copy. The parameters are for losses
// of single batches.
LuaChoice write_rule(const std::string& directory) {
  const std::string name = "loss_plateau.lua";
  open_store(directory)->put(name, std::as_bytes(std::span(kLossPlateau)));
  return {directory + "/" + name,
          {{"good_enough", "0.5"}, {"min_delta", "0.01"}, {"patience", "100"}}};
}

std::string spec_of(const LuaChoice& rule) {
  std::string spec = rule.file;
  for (const auto& [name, value] : rule.parameters) spec += "," + name + "=" + value;
  return spec;
}

// Returns the command that starts this program again: its name alone where PATH leads to it.
std::string this_program() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return "cupel";
  const char* const path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    const fs::path candidate = fs::path(directory) / program.filename();
    if (access(candidate.c_str(), X_OK) != 0) continue;
    if (fs::equivalent(candidate, program, error)) return program.filename();
    break;
  }
  return quoted_for_shell(program.native());
}

}  // namespace

int run_demo(const DemoOptions& options, const CommandContext& context) try {
  const Printer out = context.out;
  const std::string directory = absolute(options.directory);
  const auto run = [&directory](const std::string& name) { return directory + "/" + name; };
  const Programme programme = options.torch_program
                                  ? demo::torch_programme(*options.torch_program, options.seed)
                                  : demo::spiral_programme(options.seed);
  const LuaChoice lua_rule = write_rule(directory);
  out << programme.title << " are trained with seed " << options.seed << " and saved in "
      << directory
      << ";\nVanishingGradient, ExplodingTensor and LossPlateau, a rule in Lua, judge each while "
         "it "
         "is trained.\n";

  bool all_as_announced = true;
  for (const Training& training : programme.trainings)
    all_as_announced &= train_and_judge(training, run(training.name), lua_rule, out);

  const std::string cupel = this_program();
  out << "\nLook into the runs; the last command draws how the loss exploded:\n";
  {
    const TerminalScope to_be_copied(out, {});
    out << "  " << cupel << " info " << quoted_for_shell(run("healthy")) << '\n'
        << "  " << cupel << " watch " << quoted_for_shell(run("vanishing"))
        << " --rule VanishingGradient --rule " << quoted_for_shell(spec_of(lua_rule))
        << " --no-wait\n"
        << "  " << cupel << " show " << quoted_for_shell(run("exploding"))
        << " loss --plot --log\n";
  }
  draw_loss(out, run("exploding"));
  out << std::flush;
  return all_as_announced ? command_detail::kExitFine : command_detail::kExitFound;
} catch (const std::exception& error) {
  context.message() << "The demo cannot be run in " << options.directory << ": "
                    << printable(error.what()) << std::endl;
  return command_detail::kExitError;
}

}  // namespace cupel
