// Three networks of the demo, trained in the thread of the command by plain loops. Everything
// random follows from the seed. The training that explodes waits until its judge has found the
// explosion, and ends. An error, such as a directory that cannot be written, is thrown.

#include "demo_spirals.h"

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/writer/hook.h"
#include "demo_data.h"
#include "demo_network.h"

namespace cupel::demo {
namespace {

constexpr std::size_t kTrainingExamples = 1500;
constexpr std::size_t kHeldOutExamples = 600;
constexpr std::size_t kBatch = 256;
constexpr std::int64_t kEvaluationInterval = 50;
constexpr std::int64_t kActivationInterval = 50;

// The settings in which the three trainings differ.
struct Recipe {
  std::vector<std::size_t> widths;
  Activation activation;
  double learning_rate;
  std::int64_t steps;
  std::int64_t save_interval;  // the interval for parameters and gradients
};

std::vector<std::size_t> widths(std::size_t hidden_layers, std::size_t width) {
  std::vector<std::size_t> result(hidden_layers, width);
  result.insert(result.begin(), Examples::kInputs);
  result.push_back(Examples::kClasses);
  return result;
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
    if (run.find("://") != std::string::npos) options.segment_age = std::chrono::seconds(1);
    return options;
  }

  Hook hook_;
  const Network& network_;
  std::vector<Handles> handles_;
};

// Trains by a recipe, until its end or until the judge has found infinite numbers.
class SpiralTraining {
 public:
  SpiralTraining(const Recipe& recipe, const std::string& run, std::uint64_t seed, Judge& judge)
      : recipe_(recipe),
        random_(seed),
        examples_(make_spirals(kTrainingExamples, random_)),
        held_out_(make_spirals(kHeldOutExamples, random_)),
        network_(recipe.widths, recipe.activation, random_),
        recorder_(run, recipe, network_),
        judge_(judge) {
    judge_.begin(run);
  }

  Result run() {
    while (result_.steps < recipe_.steps && begin_step(Mode::Train)) {
      train();
      ++result_.steps;
      if (result_.steps % kEvaluationInterval == 0 && begin_step(Mode::Eval)) evaluate();
    }
    recorder_.close();
    result_.stopped_early = judge_.found_explosion();
    return result_;
  }

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
    result_.last_loss = network_.forward(batch).loss;
    if (result_.steps == 0) result_.first_loss = result_.last_loss;
    network_.backward(batch);
    const double progress = static_cast<double>(result_.steps) / static_cast<double>(recipe_.steps);
    network_.step(recipe_.learning_rate * (1 - 0.9 * progress));
    recorder_.save_loss(result_.last_loss);
    recorder_.save_network();
  }

  void evaluate() {
    const Network::Score score = network_.forward(held_out_);
    result_.held_out_accuracy = score.accuracy;
    recorder_.save_loss(score.loss);
  }

  const Recipe& recipe_;
  Random random_;
  Examples examples_;
  Examples held_out_;
  Network network_;
  Recorder recorder_;
  Judge& judge_;
  Result result_;
};

Training training(std::string name, std::string story, std::vector<Announced> announced,
                  std::uint64_t seed, const Recipe& recipe) {
  return {.name = std::move(name),
          .story = std::move(story),
          .announced = std::move(announced),
          .train = [recipe, seed](const std::string& run, Judge& judge) {
            return SpiralTraining(recipe, run, seed, judge).run();
          }};
}

}  // namespace

Programme spiral_programme(std::uint64_t seed) {
  return {
      .title = "Three small networks",
      .trainings = {
          training("healthy", "64 leaky ReLUs learn to tell three spiral arms apart", {}, seed,
                   {.widths = widths(1, 64),
                    .activation = Activation::LeakyRelu,
                    .learning_rate = 0.5,
                    .steps = 600,
                    .save_interval = 10}),
          training("vanishing", "12 layers of sigmoids, each of which shrinks the gradient",
                   {{"VanishingGradient", "gradient/fc1.weight"}, {"LossPlateau", "loss"}}, seed,
                   {.widths = widths(12, 16),
                    .activation = Activation::Sigmoid,
                    .learning_rate = 0.5,
                    .steps = 200,
                    .save_interval = 10}),
          training("exploding", "the healthy network, its learning rate 100 times too large",
                   {{"ExplodingTensor"}}, seed,
                   {.widths = widths(1, 64),
                    .activation = Activation::LeakyRelu,
                    .learning_rate = 50,
                    .steps = 600,
                    .save_interval = 1}),
      }};
}

}  // namespace cupel::demo
