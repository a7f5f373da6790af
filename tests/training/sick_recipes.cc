#include <utility>

#include "training/recipe.h"

namespace cupel::training {
namespace {

// Good recipes with one mistake each.
class SickRecipes {
 public:
  template <class F>
  void add(std::string name, std::string rule, Architecture architecture, std::string cause,
           F&& mistake) {
    constexpr std::uint64_t kFirstSeed = 12;  // behind those that recipes were set up with
    Recipe recipe = good_recipe(architecture, kFirstSeed + recipes_.size() % 5);
    recipe.name = std::move(name);
    recipe.meant_rule = std::move(rule);
    recipe.cause = std::move(cause);
    mistake(recipe);
    recipes_.push_back(std::move(recipe));
  }
  std::vector<Recipe> take() { return std::move(recipes_); }

 private:
  std::vector<Recipe> recipes_;
};

void add_bad_networks(SickRecipes& sick) {
  sick.add("twelve_sigmoids", "VanishingGradient", Architecture::ReluNet,
           "twelve layers of sigmoids instead of three of ReLUs", [](Recipe& recipe) {
             recipe.hidden_layers = 12;
             recipe.nonlinearity = Nonlinearity::Sigmoid;
           });
  sick.add("deep_and_tiny", "VanishingGradient", Architecture::ReluNet,
           "eight layers with weights drawn 20 times too small", [](Recipe& recipe) {
             recipe.hidden_layers = 8;
             recipe.initialization.gain = 0.05;
           });
  sick.add("weights_too_large", "PoorWeightInitialization", Architecture::ReluNet,
           "weights drawn 3 times too large", [](Recipe& recipe) {
             recipe.hidden_layers = 5;
             recipe.initialization.gain = 3;
           });
  sick.add("weights_too_small", "PoorWeightInitialization", Architecture::ConvNet,
           "weights drawn 10 times too small",
           [](Recipe& recipe) { recipe.initialization.gain = 0.1; });
  sick.add("negative_biases", "DeadRelu", Architecture::ReluNet, "biases begin at -3 instead of 0",
           [](Recipe& recipe) { recipe.initialization.bias = -3; });
  sick.add("unscaled_weights", "SaturatedActivation", Architecture::Autoencoder,
           "weights drawn 300 times too large",
           [](Recipe& recipe) { recipe.initialization.gain = 300; });
  sick.add("weights_zero", "AllZero", Architecture::ReluNet, "all weights begin at 0",
           [](Recipe& recipe) { recipe.initialization.gain = 0; });
  sick.add("detached_embedding", "AllZero", Architecture::RecurrentNet,
           "the embedding's output is detached, so that no gradient reaches it",
           [](Recipe& recipe) { recipe.detached_embedding = true; });
  sick.add("no_hidden_layer", "Confusion", Architecture::ReluNet,
           "a linear model, which cannot tell rings apart",
           [](Recipe& recipe) { recipe.hidden_layers = 0; });
  sick.add("deep_trees", "TreeDepth", Architecture::BoostedTrees, "trees of depth 7 instead of 3",
           [](Recipe& recipe) { recipe.tree_depth = 7; });
}

void add_bad_optimizers(SickRecipes& sick) {
  sick.add("rate_too_large", "ExplodingTensor", Architecture::ResidualNet,
           "learning rate 1000 times too large",
           [](Recipe& recipe) { recipe.learning_rate *= 1000; });
  sick.add("rate_too_large_for_relus", "DeadRelu", Architecture::ConvNet,
           "learning rate 500 times too large",
           [](Recipe& recipe) { recipe.learning_rate *= 500; });
  sick.add("rate_too_large_for_tanh", "WeightUpdateRatio", Architecture::RecurrentNet,
           "learning rate 1000 times too large",
           [](Recipe& recipe) { recipe.learning_rate *= 1000; });
  sick.add("rate_decays_too_fast", "WeightUpdateRatio", Architecture::RecurrentNet,
           "learning rate falls to a thousandth with each epoch instead of over all",
           [](Recipe& recipe) { recipe.learning_rate_decay = 0.001; });
  sick.add("rate_too_small", "LossNotDecreasing", Architecture::ConvNet,
           "learning rate a million times too small",
           [](Recipe& recipe) { recipe.learning_rate *= 1e-6; });
  sick.add("forgotten_embedding", "UnchangedTensor", Architecture::RecurrentNet,
           "the embedding was not given to the optimizer",
           [](Recipe& recipe) { recipe.forgotten = "embedding"; });
  sick.add("forgotten_layer", "UnchangedTensor", Architecture::ReluNet,
           "the second layer was not given to the optimizer",
           [](Recipe& recipe) { recipe.forgotten = "dense2"; });
  sick.add("weight_decay", "TensorVariance", Architecture::ReluNet,
           "weight decay of 1 instead of 0.0001", [](Recipe& recipe) { recipe.weight_decay = 1; });
  sick.add("trained_too_long", "Overtraining", Architecture::ResidualNet,
           "trained on for 30 epochs after the loss had stopped to fall",
           [](Recipe& recipe) { recipe.epochs += 30; });
  sick.add("trained_too_long_again", "Overtraining", Architecture::Autoencoder,
           "trained on for 50 epochs after the loss had all but stopped to fall",
           [](Recipe& recipe) { recipe.epochs += 50; });
}

void add_bad_data(SickRecipes& sick) {
  sick.add("inputs_not_scaled", "ExplodingTensor", Architecture::ResidualNet,
           "inputs in units that make them 100 times too large",
           [](Recipe& recipe) { recipe.data.scale = 100; });
  sick.add("raw_inputs", "SaturatedActivation", Architecture::Autoencoder,
           "inputs in units that make them a thousand times too large",
           [](Recipe& recipe) { recipe.data.scale = 1000; });
  sick.add("labels_shuffled", "LossNotDecreasing", Architecture::ReluNet,
           "labels in another order than the examples", [](Recipe& recipe) {
             recipe.data.labels = Labels::Shuffled;
             recipe.data.training_examples = 1000;
             recipe.epochs = 60;
           });
  sick.add("few_examples", "Overfit", Architecture::ReluNet,
           "80 examples, a wide network and many epochs", [](Recipe& recipe) {
             recipe.data.training_examples = 80;
             recipe.batch = 8;
             recipe.width = 64;
             recipe.epochs = 100;
           });
  sick.add("few_images", "Overfit", Architecture::ConvNet, "100 images and many epochs",
           [](Recipe& recipe) {
             recipe.data.training_examples = 100;
             recipe.batch = 10;
             recipe.epochs = 60;
           });
  sick.add("rare_classes", "ClassImbalance", Architecture::ReluNet,
           "the first class 30 times as frequent as each other",
           [](Recipe& recipe) { recipe.data.odds_of_first_class = 30; });
  sick.add("two_classes_mixed", "Confusion", Architecture::ConvNet,
           "labels take the first two classes for each other half of the time",
           [](Recipe& recipe) { recipe.data.labels = Labels::TwoMixed; });
  sick.add("images_not_centered", "CheckInputImages", Architecture::ConvNet,
           "pixels from 0 to 1, their mean not subtracted", [](Recipe& recipe) {
             recipe.data.scale = 0.25;
             recipe.data.offset = 0.5;
           });
  sick.add("padded_sentences", "NLPSequenceRatio", Architecture::RecurrentNet,
           "sentences of at most 12 tokens padded to 32",
           [](Recipe& recipe) { recipe.data.padded_length = 32; });
  sick.add("leaked_target", "FeatureImportanceOverweight", Architecture::BoostedTrees,
           "a feature that is computed from the target",
           [](Recipe& recipe) { recipe.data.leaks_target = true; });
}

}  // namespace

std::vector<Recipe> sick_recipes() {
  SickRecipes sick;
  add_bad_networks(sick);
  add_bad_optimizers(sick);
  add_bad_data(sick);
  return sick.take();
}

}  // namespace cupel::training
