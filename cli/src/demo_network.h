#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "demo_data.h"

namespace cupel::demo {

enum class Activation { LeakyRelu, Sigmoid };

/// What is trained: its values, the loss's gradient by them, and the velocity of momentum.
struct Parameter {
  std::vector<float> value = {};
  std::vector<float> gradient = {};
  std::vector<float> velocity = {};

  void descend(float learning_rate, float momentum);
  bool is_finite() const;
};

/// A fully connected layer. Matrices are flat and row-major.
struct Layer {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  Parameter weight = {};  ///< outputs × inputs
  Parameter bias = {};    ///< outputs

  // Of the last batch, batch × outputs. In double, so that it is the parameters, which are floats,
  // that overflow first when a training explodes.
  std::vector<double> output = {};  ///< Behind the activation; of the last layer, the logits.
  std::vector<double> delta = {};   ///< The loss's gradient by what goes into the activation.
};

/// A small classifier: fully connected layers, an activation behind each but the last, softmax and
/// cross-entropy; trained by gradient descent with momentum.
class Network {
 public:
  /// `widths` runs from the inputs over the hidden layers to the classes. Everything random is
  /// drawn here.
  Network(const std::vector<std::size_t>& widths, Activation activation, Random& random);

  struct Score {
    double loss = 0;      ///< Mean cross-entropy.
    double accuracy = 0;  ///< Share of the examples whose class got the largest logit.
  };

  /// Computes every layer's output.
  Score forward(const Examples& batch);
  /// Computes every gradient, for the batch that forward() was called with last.
  void backward(const Examples& batch);
  /// Moves the parameters against their gradients.
  void step(double learning_rate);

  const std::vector<Layer>& layers() const noexcept { return layers_; }
  /// Whether every parameter and gradient is a finite number.
  bool is_finite() const;

 private:
  Score judge_logits(const Examples& batch);

  Activation activation_;
  std::vector<Layer> layers_;
};

}  // namespace cupel::demo
