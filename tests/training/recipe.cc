#include "training/recipe.h"

#include <array>

namespace cupel::training {
namespace {

constexpr std::array kArchitectures = {Architecture::ReluNet,      Architecture::ConvNet,
                                       Architecture::RecurrentNet, Architecture::ResidualNet,
                                       Architecture::Autoencoder,  Architecture::BoostedTrees};

// Behind those that recipes, and what is saved, were set up with.
constexpr std::array<std::uint64_t, 5> kSeeds = {12, 13, 14, 15, 16};

}  // namespace

std::span<const Architecture> all_architectures() noexcept { return kArchitectures; }

std::string_view to_string(Architecture architecture) noexcept {
  switch (architecture) {
    case Architecture::ReluNet:
      return "relu_net";
    case Architecture::ConvNet:
      return "conv_net";
    case Architecture::RecurrentNet:
      return "recurrent_net";
    case Architecture::ResidualNet:
      return "residual_net";
    case Architecture::Autoencoder:
      return "autoencoder";
    case Architecture::BoostedTrees:
      return "boosted_trees";
  }
  return "";
}

Recipe good_recipe(Architecture architecture, std::uint64_t seed) {
  Recipe recipe;
  recipe.architecture = architecture;
  recipe.seed = seed;
  switch (architecture) {
    case Architecture::ReluNet:
      recipe.learning_rate = 0.0015;
      recipe.epochs = 14;
      break;
    case Architecture::ConvNet:
      recipe.learning_rate = 0.0007;
      recipe.epochs = 12;
      recipe.data.training_examples = 10000;
      recipe.data.held_out_examples = 8000;
      break;
    case Architecture::RecurrentNet:
      recipe.learning_rate = 0.001;
      recipe.epochs = 12;
      recipe.width = 12;
      recipe.data.training_examples = 10000;
      recipe.data.held_out_examples = 8000;
      break;
    case Architecture::ResidualNet:
      recipe.learning_rate = 0.0005;
      recipe.epochs = 12;
      recipe.hidden_layers = 2;
      break;
    case Architecture::Autoencoder:
      recipe.learning_rate = 0.001;
      recipe.epochs = 12;
      recipe.width = 16;
      break;
    case Architecture::BoostedTrees:
      recipe.learning_rate = 0.2;
      recipe.epochs = 20;
      break;
  }
  return recipe;
}

std::vector<Recipe> healthy_recipes() {
  std::vector<Recipe> recipes;
  for (const Architecture architecture : kArchitectures) {
    for (const std::uint64_t seed : kSeeds) {
      recipes.push_back(good_recipe(architecture, seed));
      recipes.back().name = std::string(to_string(architecture)) + "_" + std::to_string(seed);
    }
  }
  return recipes;
}

}  // namespace cupel::training
