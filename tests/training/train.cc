#include "training/train.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "cupel/store/memory_store.h"
#include "cupel/writer/hook.h"
#include "training/boosted_trees.h"
#include "training/network.h"

namespace cupel::training {
namespace {

const std::vector<std::string> kCollections = {"weights",           "gradients",      "activations",
                                               "activation_inputs", "network_inputs", "labels",
                                               "predictions"};

Dataset draw_examples(const Recipe& recipe, std::size_t size, Random& random) {
  switch (recipe.architecture) {
    case Architecture::ReluNet:
      return make_rings(recipe.data, size, random);
    case Architecture::ConvNet:
      return make_stripes(recipe.data, size, random);
    case Architecture::RecurrentNet:
      return make_sentences(recipe.data, size, random);
    case Architecture::ResidualNet:
      return make_surface(recipe.data, size, random);
    case Architecture::Autoencoder:
      return make_manifold(recipe.data, size, random);
    case Architecture::BoostedTrees:
      return make_steps(recipe.data, size, random);
  }
  return {};
}

Dataset examples_of(const Dataset& data, std::span<const std::size_t> listed) {
  Dataset batch{.inputs = rows_of(data.inputs, listed)};
  if (!data.targets.values.empty()) batch.targets = rows_of(data.targets, listed);
  for (const std::size_t i : listed)
    if (!data.classes.empty()) batch.classes.push_back(data.classes[i]);
  return batch;
}

HookOptions options_for(Profile profile, std::vector<std::string> collections) {
  HookOptions options;
  options.out_dir = "memory";
  options.commit = Commit::Background;
  options.sync = Sync::Off;
  options.profile = profile;
  options.include_collections = std::move(collections);
  options.on_error = OnError::Throw;
  return options;
}

void close(Hook& hook) {
  const HookReport report = hook.close();
  if (!report.problems.empty()) throw std::runtime_error(report.problems.front());
}

TensorView view_of(const std::vector<std::int64_t>& numbers) {
  return TensorView(numbers.data(), {numbers.size()});
}

// Trains a network, and saves it.
class NetworkTraining {
 public:
  NetworkTraining(const Recipe& recipe, std::shared_ptr<Store> store)
      : recipe_(recipe),
        random_(recipe.seed),
        training_(draw_examples(recipe, recipe.data.training_examples, random_)),
        held_out_(draw_examples(recipe, recipe.data.held_out_examples, random_)),
        network_(recipe, random_),
        batches_(std::max<std::size_t>(1, training_.inputs.rows / recipe.batch)),
        hook_(options_for(Profile::Generic, kCollections), std::move(store)) {
    configure();
  }

  void run() {
    std::vector<std::size_t> order(training_.inputs.rows);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // One step more than whole epochs: it saves and judges what the last one brought.
    for (std::size_t step = 0; step <= recipe_.epochs * batches_; ++step) {
      const std::size_t in_epoch = step % batches_;
      if (in_epoch == 0) random_.shuffle(order);
      const auto rest = std::span(order).subspan(in_epoch * recipe_.batch);
      const auto batch = rest.first(std::min(recipe_.batch, rest.size()));
      train(examples_of(training_, batch), in_epoch == 0);
      if (in_epoch != 0 || step == 0) continue;
      evaluate();
      learning_rate_ *= recipe_.learning_rate_decay;
    }
    close(hook_);
  }

 private:
  void configure() {
    const auto interval = static_cast<std::int64_t>(batches_);
    const SaveConfigMode never = {.end_step = 0};
    const SaveConfigMode always = {.save_interval = 1};
    const SaveConfig in_training = {
        .mode_save_configs = {{Mode::Train, {.save_interval = interval}}, {Mode::Eval, never}}};
    // The loss of the first batch alone is not to be compared with means over epochs.
    const SaveConfigMode from_first_epoch = {.save_interval = interval, .start_step = interval};
    // Before, nobody expects that labels and predictions agree.
    const auto last = static_cast<std::int64_t>(recipe_.epochs - 1);
    const SaveConfig at_the_end = {
        .mode_save_configs = {{Mode::Train, never},
                              {Mode::Eval, {.save_interval = 1, .start_step = last}}}};
    collection("weights").set_save_config(in_training);
    // Of the few elements of a bias, percentiles say nothing.
    collection("gradients").set_include_regex("^gradient/.*weight$").set_save_config(in_training);
    collection("activations").include("_output$").set_save_config(in_training);
    collection("activation_inputs")
        .include({"relu_input$", "tanh_input$", "sigmoid_input$"})
        .set_save_config(in_training);
    collection("network_inputs").include("input_0$").set_save_config(in_training);
    collection("labels").add_tensor_name("labels").set_save_config(at_the_end);
    collection("predictions").add_tensor_name("predictions").set_save_config(at_the_end);
    collection("losses").set_save_config(
        {.mode_save_configs = {{Mode::Train, from_first_epoch}, {Mode::Eval, always}}});
  }

  Collection& collection(const char* name) { return hook_.get_collection(name); }

  void train(const Dataset& batch, bool first_of_epoch) {
    hook_.set_mode(Mode::Train);
    hook_.next_step();
    loss_sum_ += network_.forward(batch).loss;
    ++losses_;
    network_.backward();
    if (hook_.wants("loss")) save_loss(loss_sum_ / losses_);
    if (first_of_epoch) {
      loss_sum_ = losses_ = 0;
      for (const NamedTensor& tensor : network_.tensors())
        hook_.save_tensor(tensor.name, TensorView(tensor.values, tensor.shape));
      save_inputs(batch.inputs);
    }
    network_.step(learning_rate_);
  }

  void evaluate() {
    hook_.set_mode(Mode::Eval);
    hook_.next_step();
    const Network::Score score = network_.forward(held_out_);
    save_loss(score.loss);
    if (held_out_.classes.empty()) return;
    hook_.save_tensor("labels", view_of(held_out_.classes));
    hook_.save_tensor("predictions", view_of(score.classes));
  }

  void save_loss(double loss) { hook_.save_tensor("loss", TensorView(&loss, Shape{})); }

  void save_inputs(const Matrix& inputs) {
    const std::size_t examples = inputs.rows;
    if (recipe_.architecture == Architecture::ConvNet)
      hook_.save_inputs(
          "hybridsequential0",
          std::array{TensorView(inputs.values.data(), {examples, 1, kImageWidth, kImageWidth})});
    if (recipe_.architecture == Architecture::RecurrentNet)
      hook_.save_inputs("embedding0",
                        std::array{TensorView(inputs.values.data(), {examples, inputs.columns})});
  }

  const Recipe& recipe_;
  Random random_;
  Dataset training_;
  Dataset held_out_;
  Network network_;
  std::size_t batches_;  // of an epoch
  Hook hook_;
  double learning_rate_ = recipe_.learning_rate;
  double loss_sum_ = 0;  // since the last one that was saved
  double losses_ = 0;
};

// Under the names that XGBoost's hook gives.
void train_trees(const Recipe& recipe, std::shared_ptr<Store> store) {
  Random random(recipe.seed);
  const Dataset training = draw_examples(recipe, recipe.data.training_examples, random);
  const Dataset held_out = draw_examples(recipe, recipe.data.held_out_examples, random);
  BoostedTrees trees(training, held_out, recipe.tree_depth, recipe.learning_rate);

  HookOptions options = options_for(Profile::XGBoost, {"trees", "feature_importance"});
  options.save_config = {.save_interval = 1};
  Hook hook(std::move(options), std::move(store));
  for (std::size_t round = 0; round < recipe.epochs; ++round) {
    hook.set_mode(Mode::Train);
    hook.next_step();
    const std::vector<std::int64_t> nodes = trees.add_tree();
    hook.save_tensor("trees/Node", view_of(nodes));
    hook.save_scalar("train-rmse", trees.training_error());
    hook.save_scalar("validation-rmse", trees.held_out_error());
    const std::vector<double> shares = trees.split_shares();
    for (std::size_t feature = 0; feature < shares.size(); ++feature)
      hook.save_tensor("feature_importance/weight/f" + std::to_string(feature),
                       TensorView(&shares[feature], Shape{}));
  }
  close(hook);
}

}  // namespace

std::shared_ptr<Store> train(const Recipe& recipe) {
  auto store = std::make_shared<MemoryStore>();
  if (recipe.architecture == Architecture::BoostedTrees)
    train_trees(recipe, store);
  else
    NetworkTraining(recipe, store).run();
  return store;
}

}  // namespace cupel::training
