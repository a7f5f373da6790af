// `demo`: trains three small networks one after another, and has a Judge evaluate rules over each
// run while it is written. The trainings run in the thread of the command, the judge in a thread of
// its own; everything random follows from one seed. The training that explodes is stopped by its
// judge. An error, such as a directory that cannot be written, ends the demo with a message.

#include "demo.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
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
#include "cupel/core/error.h"
#include "cupel/core/printable.h"
#include "cupel/store/open_store.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "demo_data.h"
#include "demo_judge.h"
#include "demo_network.h"
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
using demo::Activation;
using demo::Examples;
using demo::Judge;
using demo::Layer;
using demo::LuaChoice;
using demo::Network;
using demo::Random;

constexpr std::size_t kTrainingExamples = 1500;
constexpr std::size_t kHeldOutExamples = 600;
constexpr std::size_t kBatch = 256;
constexpr std::int64_t kEvaluationInterval = 50;
constexpr std::int64_t kActivationInterval = 50;
constexpr std::size_t kDrawingColumns = 80;  // where the output is no terminal

// The text of the rule in Lua.
constexpr std::string_view kLossPlateau =
#include "loss_plateau.inc"
    ;

// The settings in which the three trainings differ, and the expected findings.
struct Recipe {
  std::string name;  // the directory of the run
  std::string story;
  std::vector<std::size_t> widths;
  Activation activation;
  double learning_rate;
  std::int64_t steps;
  std::int64_t save_interval;  // the interval for parameters and gradients
  // A rule that will fire, and a tensor that it will fire on; empty: any tensor.
  struct Announced {
    std::string rule;
    std::string tensor = "";
  };
  std::vector<Announced> announced = {};  // no other rule fires
};

std::vector<std::size_t> widths(std::size_t hidden_layers, std::size_t width) {
  std::vector<std::size_t> result(hidden_layers, width);
  result.insert(result.begin(), Examples::kInputs);
  result.push_back(Examples::kClasses);
  return result;
}

std::vector<Recipe> recipes() {
  return {
      {.name = "healthy",
       .story = "64 leaky ReLUs learn to tell three spiral arms apart",
       .widths = widths(1, 64),
       .activation = Activation::LeakyRelu,
       .learning_rate = 0.5,
       .steps = 600,
       .save_interval = 10},
      {.name = "vanishing",
       .story = "12 layers of sigmoids, each of which shrinks the gradient",
       .widths = widths(12, 16),
       .activation = Activation::Sigmoid,
       .learning_rate = 0.5,
       .steps = 200,
       .save_interval = 10,
       .announced = {{"VanishingGradient", "gradient/fc1.weight"}, {"LossPlateau", "loss"}}},
      {.name = "exploding",
       .story = "the healthy network, its learning rate 100 times too large",
       .widths = widths(1, 64),
       .activation = Activation::LeakyRelu,
       .learning_rate = 50,
       .steps = 600,
       .save_interval = 1,
       .announced = {{"ExplodingTensor"}}},
  };
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

bool is_far_away(const std::string& directory) {
  return directory.find("://") != std::string::npos;
}

// Saves a network. The names are those that the patterns of the built-in collections match.
class Recorder {
 public:
  Recorder(const std::string& run, const Recipe& recipe, const Network& network)
      : hook_(options(run, recipe)), network_(network) {
    hook_.get_collection("gradients")
        .set_reduction_config(
            {.reductions = {"std"}, .abs_reductions = {"mean", "max"}, .norms = {"l2"}});
    hook_.get_collection("first_gradient")
        .include("^gradient/fc1[.]")
        .set_reduction_config({.save_raw_tensor = true});
    hook_.get_collection("activations")
        .include("[0-9]_output$")
        .set_save_config({.save_interval = kActivationInterval});

    const std::string activation = recipe.activation == Activation::Sigmoid ? "sigmoid" : "relu";
    for (std::size_t k = 1; k <= network.layers().size(); ++k) {
      const std::string index = std::to_string(k);
      const std::string layer = "fc" + index;
      Handles handles = {.weight = hook_.handle(layer + ".weight"),
                         .bias = hook_.handle(layer + ".bias"),
                         .gradient = hook_.handle("gradient/" + layer + ".weight")};
      const bool hidden = k < network.layers().size();
      if (hidden) handles.activation = hook_.handle(activation + index + "_output");
      handles_.push_back(handles);
    }
  }

  /// Ends the step before, which the judge can read from then on, and begins a step.
  void begin_step(Mode mode) {
    hook_.set_mode(mode);
    hook_.next_step();
  }
  void save_loss(double loss) { hook_.save_scalar("loss", loss); }
  void save_network() {
    for (std::size_t k = 0; k < handles_.size(); ++k) {
      const Layer& layer = network_.layers()[k];
      const Handles& handles = handles_[k];
      const Shape matrix = {layer.outputs, layer.inputs};
      hook_.save_tensor(handles.weight, TensorView(layer.weight.value.data(), matrix));
      hook_.save_tensor(handles.bias, TensorView(layer.bias.value.data(), {layer.outputs}));
      hook_.save_tensor(handles.gradient, TensorView(layer.weight.gradient.data(), matrix));
      hook_.save_tensor(handles.activation,
                        TensorView(layer.output.data(), {kBatch, layer.outputs}));
    }
  }
  void close() {
    const HookReport report = hook_.close();
    if (!report.disabled) return;
    throw Error("The run could not be saved: " +
                (report.problems.empty() ? "the hook is disabled" : report.problems.front()));
  }

 private:
  struct Handles {
    TensorHandle weight = {};
    TensorHandle bias = {};
    TensorHandle gradient = {};
    TensorHandle activation = {};  // hidden layers only
  };

  static HookOptions options(const std::string& run, const Recipe& recipe) {
    HookOptions options;
    options.out_dir = run;
    options.existing = Existing::Replace;
    options.commit = Commit::Background;  // a step is shorter than a write to the disk
    options.include_collections = {"weights", "biases", "gradients", "first_gradient",
                                   "activations"};
    options.save_config = {.save_interval = recipe.save_interval};
    // In a bucket a step can be read when its segment is sealed.
    if (is_far_away(run)) options.segment_age = std::chrono::seconds(1);
    return options;
  }

  Hook hook_;
  const Network& network_;
  std::vector<Handles> handles_;
};

// Trains by a recipe, until its end or until the judge has found infinite numbers.
class Training {
 public:
  Training(const Recipe& recipe, const std::string& run, const LuaChoice& lua_rule,
           std::uint64_t seed, Printer out)
      : recipe_(recipe),
        random_(seed),
        examples_(make_spirals(kTrainingExamples, random_)),
        held_out_(make_spirals(kHeldOutExamples, random_)),
        network_(recipe.widths, recipe.activation, random_),
        recorder_(run, recipe, network_),
        judge_(run, lua_rule, out) {}

  void run() {
    while (step_ < recipe_.steps && begin_step(Mode::Train)) {
      train();
      ++step_;
      if (step_ % kEvaluationInterval == 0 && begin_step(Mode::Eval)) evaluate();
    }
    recorder_.close();
  }

  std::int64_t steps() const noexcept { return step_; }
  double first_loss() const noexcept { return first_loss_; }
  double last_loss() const noexcept { return last_loss_; }
  double held_out_accuracy() const noexcept { return held_out_accuracy_; }
  Judge& judge() noexcept { return judge_; }

 private:
  bool begin_step(Mode mode) {
    recorder_.begin_step(mode);
    if (network_.is_finite()) return !judge_.found_explosion();
    // Infinite numbers lead to NaN only. The training waits until its judge has found them, so that
    // the number of saved steps does not depend on the speed of the machine.
    judge_.wait_for_explosion();
    return false;
  }

  void train() {
    const Examples batch = draw_batch(examples_, kBatch, random_);
    last_loss_ = network_.forward(batch).loss;
    if (step_ == 0) first_loss_ = last_loss_;
    network_.backward(batch);
    const double progress = static_cast<double>(step_) / static_cast<double>(recipe_.steps);
    network_.step(recipe_.learning_rate * (1 - 0.9 * progress));
    recorder_.save_loss(last_loss_);
    recorder_.save_network();
  }

  void evaluate() {
    const Network::Score score = network_.forward(held_out_);
    held_out_accuracy_ = score.accuracy;
    recorder_.save_loss(score.loss);
  }

  const Recipe& recipe_;
  Random random_;
  Examples examples_;
  Examples held_out_;
  Network network_;
  Recorder recorder_;
  Judge judge_;
  std::int64_t step_ = 0;
  double first_loss_ = 0;
  double last_loss_ = 0;
  double held_out_accuracy_ = 0;
};

// Returns whether exactly the announced rules fired.
bool as_announced(const Recipe& recipe, const std::vector<RuleSummary>& rules, const Judge& judge) {
  return std::ranges::all_of(rules, [&](const RuleSummary& rule) {
    const auto announced = std::ranges::find(recipe.announced, rule.rule, &Recipe::Announced::rule);
    if (announced == recipe.announced.end()) return rule.status == RuleStatus::NoIssuesFound;
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

bool train_and_judge(const Recipe& recipe, const std::string& run, const LuaChoice& lua_rule,
                     std::uint64_t seed, Printer out) {
  out << '\n' << recipe.name << ": " << recipe.story << std::endl;
  Training training(recipe, run, lua_rule, seed, out);
  training.run();
  const std::vector<RuleSummary>& rules = training.judge().finish();

  out << "  "
      << (training.judge().found_explosion() ? "stopped by its judge after " : "trained for ")
      << training.steps() << " steps, loss " << number(training.first_loss()) << " -> "
      << number(training.last_loss());
  if (recipe.announced.empty())
    out << ", held-out accuracy " << number(100 * training.held_out_accuracy()) << " %";
  out << '\n';
  print_rules(out, rules);
  const bool well_judged = as_announced(recipe, rules, training.judge());
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
  const LuaChoice lua_rule = write_rule(directory);
  out << "Three small networks are trained with seed " << options.seed << " and saved in "
      << directory
      << ";\nVanishingGradient, ExplodingTensor and LossPlateau, a rule in Lua, judge each while "
         "it "
         "is trained.\n";

  bool all_as_announced = true;
  for (const Recipe& recipe : recipes())
    all_as_announced &= train_and_judge(recipe, run(recipe.name), lua_rule, options.seed, out);

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
