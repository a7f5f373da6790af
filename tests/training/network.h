#pragma once

#include <string>
#include <vector>

#include "training/data.h"
#include "training/layers.h"
#include "training/recipe.h"

namespace cupel::training {

/// A network with its task: softmax and cross-entropy where there are classes, else half the
/// square error of an example, on average.
class Network {
 public:
  Network(const Recipe& recipe, Random& random);

  struct Score {
    double loss = 0;
    std::vector<std::int64_t> classes = {};  ///< Those that were given the largest number.
  };
  Score forward(const Dataset& batch);
  /// Computes the gradients, for the batch that forward() was called with last.
  void backward();
  /// Moves the parameters against their gradients.
  void step(double learning_rate);

  /// Weights, biases, gradients, and what went into activation functions and came out; the values
  /// are there until the next call of another function.
  std::vector<NamedTensor> tensors();

 private:
  Score score_classes(const Matrix& output, const Dataset& batch);
  Score score_targets(const Matrix& output, const Dataset& batch);

  const Recipe& recipe_;
  Sequence layers_;
  std::vector<Parameter*> parameters_;
  Matrix delta_;  // the loss's gradient by the output
};

}  // namespace cupel::training
