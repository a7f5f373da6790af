#include "training/network.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cupel::training {
namespace {

constexpr std::size_t kRingClasses = 3;
constexpr std::size_t kStripeClasses = 4;
constexpr std::size_t kOpinions = 2;
// A ReLU passes half of what it is given: this makes up for it.
constexpr double kReluGain = 1.4142;

std::string numbered(const char* name, std::size_t number) { return name + std::to_string(number); }

// Scales the recipe's gain; the recipe says how far from right it is.
Initialization scaled(const Recipe& recipe, double gain) {
  return {.gain = gain * recipe.initialization.gain, .bias = recipe.initialization.bias};
}

void add_hidden_layers(const Recipe& recipe, std::size_t inputs, Sequence& layers, Random& random) {
  const double gain = recipe.nonlinearity == Nonlinearity::Relu ? kReluGain : 1;
  for (std::size_t k = 1; k <= recipe.hidden_layers; ++k) {
    layers.make<Dense>(numbered("dense", k), inputs, recipe.width, scaled(recipe, gain), random);
    layers.make<Activation>(numbered("dense", k), recipe.nonlinearity);
    inputs = recipe.width;
  }
}

// The last layer begins with small outputs, as one that knows nothing yet should.
void add_output(const Recipe& recipe, std::size_t inputs, std::size_t outputs, Sequence& layers,
                Random& random) {
  const Initialization initialization = {.gain = 0.5 * recipe.initialization.gain};
  layers.make<Dense>("output", inputs, outputs, initialization, random);
}

Sequence make_layers(const Recipe& recipe, Random& random) {
  Sequence layers;
  const Initialization relu = scaled(recipe, kReluGain);
  const Initialization linear = scaled(recipe, 1);
  const std::size_t width = recipe.width;
  switch (recipe.architecture) {
    case Architecture::ReluNet:
      add_hidden_layers(recipe, 4, layers, random);
      add_output(recipe, width, kRingClasses, layers, random);
      break;
    case Architecture::ConvNet: {
      const auto& convolution =
          layers.make<Convolution>("convolution", kImageWidth, 6U, relu, random);
      layers.make<Activation>("convolution", Nonlinearity::Relu);
      layers.make<Dense>("dense", convolution.outputs(), width, relu, random);
      layers.make<Activation>("dense", Nonlinearity::Relu);
      add_output(recipe, width, kStripeClasses, layers, random);
      break;
    }
    case Architecture::RecurrentNet: {
      constexpr std::size_t kEmbedded = 8;
      layers.make<Embedding>("embedding", kTokens, kEmbedded, scaled(recipe, 0.5), random);
      if (recipe.detached_embedding) layers.make<Detached>();
      layers.make<Recurrent>("recurrent", kEmbedded, width, scaled(recipe, 0.7), random);
      add_output(recipe, width, kOpinions, layers, random);
      break;
    }
    case Architecture::ResidualNet:
      layers.make<Dense>("entry", 6U, width, linear, random);
      for (std::size_t k = 1; k <= recipe.hidden_layers; ++k) {
        const std::string block = numbered("block", k);
        Sequence within;
        within.make<Dense>(block + ".first", width, width, relu, random);
        within.make<Activation>(block, Nonlinearity::Relu);
        within.make<Dense>(block + ".second", width, width, scaled(recipe, 0.3), random);
        layers.make<Residual>(std::move(within));
      }
      add_output(recipe, width, 1, layers, random);
      break;
    case Architecture::Autoencoder: {
      constexpr std::size_t kInputs = 12;
      constexpr std::size_t kBottleneck = 3;
      layers.make<Dense>("encoder", kInputs, width, linear, random);
      layers.make<Activation>("encoder", Nonlinearity::Tanh);
      layers.make<Dense>("code", width, kBottleneck, linear, random);
      layers.make<Dense>("decoder", kBottleneck, width, linear, random);
      layers.make<Activation>("decoder", Nonlinearity::Tanh);
      add_output(recipe, width, kInputs, layers, random);
      break;
    }
    case Architecture::BoostedTrees:
      break;
  }
  return layers;
}

}  // namespace

Network::Network(const Recipe& recipe, Random& random)
    : recipe_(recipe), layers_(make_layers(recipe, random)) {
  layers_.list_parameters(parameters_);
}

Network::Score Network::forward(const Dataset& batch) {
  const Matrix output = layers_.forward(batch.inputs);
  return batch.classes.empty() ? score_targets(output, batch) : score_classes(output, batch);
}

Network::Score Network::score_classes(const Matrix& output, const Dataset& batch) {
  Score score;
  delta_ = output;
  const auto examples = static_cast<double>(output.rows);
  for (std::size_t b = 0; b < output.rows; ++b) {
    const auto numbers = output.row(b);
    const auto largest = std::max_element(numbers.begin(), numbers.end());
    const auto wanted = static_cast<std::size_t>(batch.classes[b]);
    double sum = 0;  // relative to the largest, which keeps it from overflowing
    for (const float number : numbers) sum += exponential(number - *largest);
    for (std::size_t o = 0; o < numbers.size(); ++o) {
      const double probability = exponential(numbers[o] - *largest) / sum;
      delta_.row(b)[o] = static_cast<float>((probability - (o == wanted ? 1 : 0)) / examples);
    }
    score.loss += (logarithm(sum) + *largest - numbers[wanted]) / examples;
    score.classes.push_back(largest - numbers.begin());
  }
  return score;
}

Network::Score Network::score_targets(const Matrix& output, const Dataset& batch) {
  Score score;
  delta_ = output;
  const auto examples = static_cast<double>(output.rows);
  for (std::size_t i = 0; i < output.values.size(); ++i) {
    const double error = static_cast<double>(output.values[i]) - batch.targets.values[i];
    score.loss += error * error / (2 * examples);
    delta_.values[i] = static_cast<float>(error / examples);
  }
  return score;
}

void Network::backward() {
  for (Parameter* const parameter : parameters_)
    std::fill(parameter->gradient.values.begin(), parameter->gradient.values.end(), 0.0F);
  layers_.backward(delta_);
}

void Network::step(double learning_rate) {
  const auto rate = static_cast<float>(learning_rate);
  const auto momentum = static_cast<float>(recipe_.momentum);
  const auto decay = static_cast<float>(recipe_.weight_decay);
  for (Parameter* const parameter : parameters_) {
    if (!recipe_.forgotten.empty() && parameter->name.starts_with(recipe_.forgotten)) continue;
    for (std::size_t i = 0; i < parameter->value.values.size(); ++i) {
      float& value = parameter->value.values[i];
      float& velocity = parameter->velocity.values[i];
      velocity = momentum * velocity + parameter->gradient.values[i] + decay * value;
      value -= rate * velocity;
    }
  }
}

std::vector<NamedTensor> Network::tensors() {
  std::vector<NamedTensor> tensors;
  for (const Parameter* const parameter : parameters_) {
    const Shape shape = {parameter->value.rows, parameter->value.columns};
    tensors.push_back({parameter->name, shape, parameter->value.values.data()});
    tensors.push_back({"gradient/" + parameter->name, shape, parameter->gradient.values.data()});
  }
  layers_.list_activations(tensors);
  return tensors;
}

}  // namespace cupel::training
