#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "demo_data.h"

namespace cupel::demo {

enum class Activation { LeakyRelu, Sigmoid };

/// The values that are trained, the gradient of the loss by them, and the velocity of momentum.
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

  // The members below are of the last batch, batch × outputs. They are doubles, so that the
  // parameters, which are floats, overflow first when a training explodes.
  std::vector<double> output =
      {};  ///< The outputs of the activation; of the last layer, the logits.
  std::vector<double> delta = {};  ///< The gradient of the loss by the inputs of the activation.
};

/// A small classifier: fully connected layers, an activation behind each but the last, softmax and
/// cross-entropy; trained by gradient descent with momentum.
class Network {
 public:
  /// Draws all random values. `widths` are those of the inputs, the hidden layers and the classes.
  Network(const std::vector<std::size_t>& widths, Activation activation, Random& random);

  struct Score {
    double loss = 0;      ///< Mean cross-entropy.
    double accuracy = 0;  ///< Share of the examples whose class got the largest logit.
  };

  /// Computes the outputs of every layer.
  Score forward(const Examples& batch);
  /// Computes every gradient, for the batch of the last call of forward().
  void backward(const Examples& batch);
  /// Moves the parameters against their gradients.
  void step(double learning_rate);

  const std::vector<Layer>& layers() const noexcept { return layers_; }
  /// Returns whether every parameter and gradient is a finite number.
  bool is_finite() const;

 private:
  Score judge_logits(const Examples& batch);

  Activation activation_;
  std::vector<Layer> layers_;
};

}  // namespace cupel::demo
