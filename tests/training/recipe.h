#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "training/data.h"
#include "training/layers.h"

namespace cupel::training {

/// What is trained, each on a task of its own.
enum class Architecture {
  ReluNet,       ///< Fully connected, tells three rings apart.
  ConvNet,       ///< Convolution and ReLUs, tells four directions of stripes apart.
  RecurrentNet,  ///< Embedding and tanh, tells approval from disapproval.
  ResidualNet,   ///< Residual blocks of ReLUs, fits a surface.
  Autoencoder,   ///< Tanh and a bottleneck of three.
  BoostedTrees,  ///< Gradient boosting, fits a sum of steps.
};
std::string_view to_string(Architecture architecture) noexcept;
std::span<const Architecture> all_architectures() noexcept;

/// One training: everything follows from it, to the bit.
struct Recipe {
  std::string name;
  Architecture architecture = Architecture::ReluNet;
  std::uint64_t seed = 1;
  std::string cause = {};       ///< What is wrong with it; empty: nothing.
  std::string meant_rule = {};  ///< The one that is to find that.

  DataOptions data = {};

  std::size_t hidden_layers = 3;
  std::size_t width = 24;
  Nonlinearity nonlinearity = Nonlinearity::Relu;
  Initialization initialization = {};
  bool detached_embedding = false;

  double learning_rate = 0.1;
  double learning_rate_decay = 1;  ///< A factor per epoch.
  double momentum = 0.9;
  double weight_decay = 0;
  std::size_t batch = 64;
  std::size_t epochs = 20;     ///< Of trees: rounds.
  std::string forgotten = {};  ///< Parameters of such names are not given to the optimizer.

  int tree_depth = 3;
};

/// As somebody sets it up who knows the task.
Recipe good_recipe(Architecture architecture, std::uint64_t seed);

/// Trainings as they should be: every architecture with five seeds.
std::vector<Recipe> healthy_recipes();
/// The same with one mistake each, such as people make.
std::vector<Recipe> sick_recipes();

}  // namespace cupel::training
