// Forward and backward pass and the step of a small network, in plain loops that give the same bits
// everywhere. Notation: b is an example of the batch, o an output and i an input of a layer. A
// training may explode: infinities and NaN are legal values. One thread.

#include "demo_network.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cupel::demo {
namespace {

constexpr double kLeak = 0.1;
constexpr double kBiasDeviation = 0.1;
constexpr float kMomentum = 0.9F;

double activate(Activation activation, double z) {
  if (activation == Activation::Sigmoid) return 1 / (1 + std::exp(-z));
  return z > 0 ? z : kLeak * z;
}

// Returns the slope of the activation, from its output.
double slope(Activation activation, double output) {
  if (activation == Activation::Sigmoid) return output * (1 - output);
  return output > 0 ? 1 : kLeak;
}

Parameter make_parameter(std::size_t size, double deviation, Random& random) {
  Parameter parameter;
  for (std::size_t i = 0; i < size; ++i)
    parameter.value.push_back(static_cast<float>(deviation * random.normal()));
  parameter.gradient.resize(size);
  parameter.velocity.resize(size);
  return parameter;
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

}  // namespace

void Parameter::descend(float learning_rate, float momentum) {
  for (std::size_t i = 0; i < value.size(); ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    value[i] -= learning_rate * velocity[i];
  }
}

bool Parameter::is_finite() const { return all_finite(value) && all_finite(gradient); }

Network::Network(const std::vector<std::size_t>& widths, Activation activation, Random& random)
    : activation_(activation) {
  for (std::size_t k = 0; k + 1 < widths.size(); ++k) {
    Layer layer{.inputs = widths[k], .outputs = widths[k + 1]};
    const double deviation = 1 / std::sqrt(static_cast<double>(layer.inputs));
    layer.weight = make_parameter(layer.outputs * layer.inputs, deviation, random);
    layer.bias = make_parameter(layer.outputs, kBiasDeviation, random);
    layers_.push_back(std::move(layer));
  }
}

Network::Score Network::forward(const Examples& batch) {
  std::vector<double> input(batch.inputs.begin(), batch.inputs.end());
  for (Layer& layer : layers_) {
    const bool last = &layer == &layers_.back();
    layer.output.resize(batch.size() * layer.outputs);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      const double* const x = &input[b * layer.inputs];
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        const float* const weights = &layer.weight.value[o * layer.inputs];
        double z = layer.bias.value[o];
        for (std::size_t i = 0; i < layer.inputs; ++i) z += weights[i] * x[i];
        layer.output[b * layer.outputs + o] = last ? z : activate(activation_, z);
      }
    }
    input = layer.output;
  }
  return judge_logits(batch);
}

// Computes softmax and cross-entropy, and with them the delta of the last layer: (probability -
// wanted) / batch size.
Network::Score Network::judge_logits(const Examples& batch) {
  Layer& last = layers_.back();
  const auto examples = static_cast<double>(batch.size());
  last.delta.resize(last.output.size());
  Score score;
  std::size_t right = 0;
  for (std::size_t b = 0; b < batch.size(); ++b) {
    const double* const logits = &last.output[b * last.outputs];
    double* const delta = &last.delta[b * last.outputs];
    const std::size_t wanted = batch.classes[b];
    const double* const largest = std::max_element(logits, logits + last.outputs);

    double sum = 0;  // relative to the largest, so that exp() does not overflow
    for (std::size_t o = 0; o < last.outputs; ++o) sum += std::exp(logits[o] - *largest);
    for (std::size_t o = 0; o < last.outputs; ++o) {
      const double probability = std::exp(logits[o] - *largest) / sum;
      delta[o] = (probability - (o == wanted ? 1 : 0)) / examples;
    }
    score.loss += (std::log(sum) + *largest - logits[wanted]) / examples;
    if (logits + wanted == largest) ++right;
  }
  score.accuracy = static_cast<double>(right) / examples;
  return score;
}

void Network::backward(const Examples& batch) {
  const std::vector<double> inputs(batch.inputs.begin(), batch.inputs.end());
  for (std::size_t k = layers_.size(); k-- > 0;) {
    Layer& layer = layers_[k];
    const std::vector<double>& x = k > 0 ? layers_[k - 1].output : inputs;
    std::vector<double> weight_sum(layer.weight.value.size());
    std::vector<double> bias_sum(layer.bias.value.size());
    for (std::size_t b = 0; b < batch.size(); ++b) {
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        const double delta = layer.delta[b * layer.outputs + o];
        bias_sum[o] += delta;
        for (std::size_t i = 0; i < layer.inputs; ++i)
          weight_sum[o * layer.inputs + i] += delta * x[b * layer.inputs + i];
      }
    }
    const auto to_float = [](double value) { return static_cast<float>(value); };
    std::transform(weight_sum.begin(), weight_sum.end(), layer.weight.gradient.begin(), to_float);
    std::transform(bias_sum.begin(), bias_sum.end(), layer.bias.gradient.begin(), to_float);
    if (k == 0) break;

    Layer& before = layers_[k - 1];
    before.delta.assign(before.output.size(), 0);
    for (std::size_t b = 0; b < batch.size(); ++b) {
      double* const delta_before = &before.delta[b * layer.inputs];
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        const double delta = layer.delta[b * layer.outputs + o];
        for (std::size_t i = 0; i < layer.inputs; ++i)
          delta_before[i] += delta * layer.weight.value[o * layer.inputs + i];
      }
      for (std::size_t i = 0; i < layer.inputs; ++i)
        delta_before[i] *= slope(activation_, before.output[b * layer.inputs + i]);
    }
  }
}

void Network::step(double learning_rate) {
  for (Layer& layer : layers_)
    for (Parameter* parameter : {&layer.weight, &layer.bias})
      parameter->descend(static_cast<float>(learning_rate), kMomentum);
}

bool Network::is_finite() const {
  return std::all_of(layers_.begin(), layers_.end(), [](const Layer& layer) {
    return layer.weight.is_finite() && layer.bias.is_finite();
  });
}

}  // namespace cupel::demo
