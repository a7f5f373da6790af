// Trains a network that is too deep for its sigmoids, and saves what a rule needs to see that.
//
// usage: save [DIR [RATE]]   runs/deep and a learning rate of 0.5 if not given

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "cupel/cupel.h"

namespace {

constexpr std::size_t kDepth = 12;
constexpr std::size_t kWidth = 4;
using Vector = std::array<double, kWidth>;
using Matrix = std::array<double, kWidth * kWidth>;

struct Layer {
  std::string name;
  Matrix weight;
  Matrix gradient;
};

// Fully connected layers, each followed by a sigmoid. A sigmoid's slope is at most 1/4, so every
// layer shrinks the gradient that passes it on its way back.
class Network {
 public:
  explicit Network(double learning_rate) : learning_rate_(learning_rate), layers_(kDepth) {
    for (std::size_t k = 0; k < kDepth; ++k) {
      layers_[k].name = "fc" + std::to_string(k + 1);
      for (std::size_t i = 0; i < layers_[k].weight.size(); ++i)
        layers_[k].weight[i] = 0.8 * std::sin(static_cast<double>(17 * k + 5 * i + 1));
    }
  }

  const std::vector<Layer>& layers() const { return layers_; }

  // One step of gradient descent on one example; returns the loss before it.
  double train(const Vector& input, double target) {
    std::vector<Vector> values = {input};
    for (const Layer& layer : layers_) values.push_back(forward(layer, values.back()));
    const double error = values.back()[0] - target;
    Vector back{};
    back[0] = error;
    for (std::size_t k = kDepth; k-- > 0;)
      back = backward(layers_[k], values[k], values[k + 1], back);
    for (Layer& layer : layers_)
      for (std::size_t i = 0; i < layer.weight.size(); ++i)
        layer.weight[i] -= learning_rate_ * layer.gradient[i];
    return error * error / 2;
  }

 private:
  static Vector forward(const Layer& layer, const Vector& in) {
    Vector out{};
    for (std::size_t row = 0; row < kWidth; ++row) {
      double sum = 0;
      for (std::size_t column = 0; column < kWidth; ++column)
        sum += layer.weight[row * kWidth + column] * in[column];
      out[row] = 1 / (1 + std::exp(-sum));
    }
    return out;
  }

  // Fills in the layer's gradient and returns that of what went into the layer.
  static Vector backward(Layer& layer, const Vector& in, const Vector& out, const Vector& back) {
    Vector result{};
    for (std::size_t row = 0; row < kWidth; ++row) {
      const double slope = back[row] * out[row] * (1 - out[row]);
      for (std::size_t column = 0; column < kWidth; ++column) {
        layer.gradient[row * kWidth + column] = slope * in[column];
        result[column] += layer.weight[row * kWidth + column] * slope;
      }
    }
    return result;
  }

  double learning_rate_;
  std::vector<Layer> layers_;
};

cupel::TensorView view_of(const Matrix& matrix) { return {matrix.data(), {kWidth, kWidth}}; }

void train(const std::string& directory, double learning_rate) {
  Network network(learning_rate);
  cupel::HookOptions options;
  options.out_dir = directory;
  options.existing = cupel::Existing::Replace;
  options.include_collections = {"weights", "gradients"};
  options.save_config = {.save_interval = 10};

  cupel::Hook hook(options);
  hook.set_mode(cupel::Mode::Train);
  for (int i = 0; i < 50 && !hook.stop_requested(); ++i) {
    hook.next_step();
    hook.save_scalar("loss", network.train({0.1, 0.9, 0.3, 0.5}, 0.25));
    for (const Layer& layer : network.layers()) {
      hook.save_tensor(layer.name + ".weight", view_of(layer.weight));
      hook.save_tensor("gradient/" + layer.name + ".weight", view_of(layer.gradient));
    }
  }
  const cupel::HookReport report = hook.close();

  std::cout << "saved " << report.tensors_saved << " tensors at " << report.steps_committed
            << " steps to " << directory << '\n';
  for (const std::string& problem : report.problems) std::cerr << "save: " << problem << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    train(argc > 1 ? argv[1] : "runs/deep", argc > 2 ? std::strtod(argv[2], nullptr) : 0.5);
    return 0;
  } catch (const cupel::Error& error) {
    std::cerr << "save: " << error.what() << '\n';
    return 2;
  }
}
