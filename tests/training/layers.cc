#include "training/layers.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

namespace cupel::training {
namespace {

void draw(Parameter& weight, std::size_t inputs, double gain, Random& random) {
  const double deviation = gain / std::sqrt(static_cast<double>(inputs));
  for (float& value : weight.value.values) value = static_cast<float>(deviation * random.normal());
}

void fill(Matrix& matrix, double value) {
  std::fill(matrix.values.begin(), matrix.values.end(), static_cast<float>(value));
}

Matrix repeated(const Matrix& row, std::size_t times) {
  Matrix result(times, row.columns);
  for (std::size_t i = 0; i < times; ++i)
    std::copy(row.values.begin(), row.values.end(), result.row(i).begin());
  return result;
}

void add_rows(const Matrix& a, Matrix& sum) {
  for (std::size_t i = 0; i < a.rows; ++i) add_scaled(sum.row(0), 1, a.row(i));
}

Matrix product_with_transposed(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.rows);
  add_product(a, transposed(b), result);
  return result;
}

Shape shape_of(const Matrix& matrix) { return Shape{matrix.rows, matrix.columns}; }

std::string_view name_of(Nonlinearity function) {
  switch (function) {
    case Nonlinearity::Relu:
      return "relu";
    case Nonlinearity::Tanh:
      return "tanh";
    case Nonlinearity::Sigmoid:
      return "sigmoid";
  }
  return "";
}

float apply(Nonlinearity function, float x) {
  switch (function) {
    case Nonlinearity::Relu:
      return x < 0 ? 0 : x;
    case Nonlinearity::Tanh:
      return static_cast<float>(hyperbolic_tangent(x));
    case Nonlinearity::Sigmoid:
      return static_cast<float>(sigmoid(x));
  }
  return x;
}

// From the output.
float slope(Nonlinearity function, float y) {
  switch (function) {
    case Nonlinearity::Relu:
      return y > 0 ? 1 : 0;
    case Nonlinearity::Tanh:
      return 1 - y * y;
    case Nonlinearity::Sigmoid:
      return y * (1 - y);
  }
  return 1;
}

}  // namespace

Dense::Dense(const std::string& name, std::size_t inputs, std::size_t outputs,
             const Initialization& initialization, Random& random)
    : weight_(name + ".weight", inputs, outputs), bias_(name + ".bias", 1, outputs) {
  draw(weight_, inputs, initialization.gain, random);
  fill(bias_.value, initialization.bias);
}

Matrix Dense::forward(const Matrix& input) {
  input_ = input;
  Matrix output = repeated(bias_.value, input.rows);
  add_product(input, weight_.value, output);
  return output;
}

Matrix Dense::backward(const Matrix& delta) {
  add_product_of_transposed(input_, delta, weight_.gradient);
  add_rows(delta, bias_.gradient);
  return product_with_transposed(delta, weight_.value);
}

void Dense::list_parameters(std::vector<Parameter*>& into) {
  into.insert(into.end(), {&weight_, &bias_});
}

Activation::Activation(std::string name, Nonlinearity function)
    : name_(std::move(name)), function_(function) {}

Matrix Activation::forward(const Matrix& input) {
  input_ = input;
  output_ = input;
  for (float& value : output_.values) value = apply(function_, value);
  return output_;
}

Matrix Activation::backward(const Matrix& delta) {
  Matrix result = delta;
  for (std::size_t i = 0; i < result.values.size(); ++i)
    result.values[i] *= slope(function_, output_.values[i]);
  return result;
}

void Activation::list_activations(std::vector<NamedTensor>& into) const {
  const std::string name = name_ + "/" + std::string(name_of(function_));
  into.push_back({name + "_input", shape_of(input_), input_.values.data()});
  into.push_back({name + "_output", shape_of(output_), output_.values.data()});
}

Convolution::Convolution(const std::string& name, std::size_t image_width, std::size_t filters,
                         const Initialization& initialization, Random& random)
    : width_(image_width),
      places_(image_width - kWindow + 1),
      filters_(filters),
      weight_(name + ".weight", filters, kWindow * kWindow),
      bias_(name + ".bias", 1, filters) {
  draw(weight_, kWindow * kWindow, initialization.gain, random);
  fill(bias_.value, initialization.bias);
}

Matrix Convolution::forward(const Matrix& input) {
  input_ = input;
  Matrix output(input.rows, outputs());
  for (std::size_t b = 0; b < input.rows; ++b)
    for (std::size_t f = 0; f < filters_; ++f)
      for (std::size_t y = 0; y < places_; ++y) {
        const std::span<float> line = output.row(b).subspan((f * places_ + y) * places_, places_);
        std::fill(line.begin(), line.end(), bias_.value.values[f]);
        for (std::size_t v = 0; v < kWindow; ++v)
          for (std::size_t u = 0; u < kWindow; ++u)
            add_scaled(line, weight_.value.row(f)[v * kWindow + u],
                       input.row(b).subspan((y + v) * width_ + u, places_));
      }
  return output;
}

Matrix Convolution::backward(const Matrix& delta) {
  for (std::size_t b = 0; b < delta.rows; ++b)
    for (std::size_t f = 0; f < filters_; ++f)
      for (std::size_t y = 0; y < places_; ++y) {
        const auto line = delta.row(b).subspan((f * places_ + y) * places_, places_);
        for (const float value : line) bias_.gradient.values[f] += value;
        for (std::size_t v = 0; v < kWindow; ++v)
          for (std::size_t u = 0; u < kWindow; ++u) {
            const std::size_t at = (y + v) * width_ + u;
            const auto seen = input_.row(b).subspan(at, places_);
            float& gradient = weight_.gradient.row(f)[v * kWindow + u];
            for (std::size_t x = 0; x < places_; ++x) gradient += line[x] * seen[x];
          }
      }
  return Matrix(input_.rows, input_.columns);
}

void Convolution::list_parameters(std::vector<Parameter*>& into) {
  into.insert(into.end(), {&weight_, &bias_});
}

Embedding::Embedding(const std::string& name, std::size_t tokens, std::size_t width,
                     const Initialization& initialization, Random& random)
    : weight_(name + ".weight", tokens, width) {
  draw(weight_, 1, initialization.gain, random);
}

Matrix Embedding::forward(const Matrix& input) {
  input_ = input;
  const std::size_t width = weight_.value.columns;
  Matrix output(input.rows, input.columns * width);
  for (std::size_t i = 0; i < input.values.size(); ++i) {
    const auto vector = weight_.value.row(static_cast<std::size_t>(input.values[i]));
    std::copy(vector.begin(), vector.end(),
              output.values.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  return output;
}

Matrix Embedding::backward(const Matrix& delta) {
  const std::size_t width = weight_.value.columns;
  for (std::size_t i = 0; i < input_.values.size(); ++i)
    add_scaled(weight_.gradient.row(static_cast<std::size_t>(input_.values[i])), 1,
               std::span(delta.values).subspan(i * width, width));
  return Matrix(input_.rows, input_.columns);
}

void Embedding::list_parameters(std::vector<Parameter*>& into) { into.push_back(&weight_); }

Recurrent::Recurrent(std::string name, std::size_t inputs, std::size_t outputs,
                     const Initialization& initialization, Random& random)
    : name_(std::move(name)),
      input_weight_(name_ + ".input_weight", inputs, outputs),
      hidden_weight_(name_ + ".hidden_weight", outputs, outputs),
      bias_(name_ + ".bias", 1, outputs) {
  draw(input_weight_, inputs, initialization.gain, random);
  draw(hidden_weight_, outputs, initialization.gain, random);
  fill(bias_.value, initialization.bias);
}

Matrix Recurrent::forward(const Matrix& input) {
  const std::size_t width = input_weight_.value.rows;
  const std::size_t outputs = bias_.value.columns;
  const std::size_t times = input.columns / width;
  inputs_.clear();
  hidden_.assign(1, Matrix(input.rows, outputs));
  sums_ = outputs_ = Matrix(input.rows, times * outputs);
  for (std::size_t t = 0; t < times; ++t) {
    Matrix x(input.rows, width);
    for (std::size_t b = 0; b < input.rows; ++b)
      std::copy_n(input.row(b).subspan(t * width).begin(), width, x.row(b).begin());
    Matrix h = repeated(bias_.value, input.rows);
    add_product(x, input_weight_.value, h);
    add_product(hidden_.back(), hidden_weight_.value, h);
    for (std::size_t b = 0; b < input.rows; ++b)
      std::copy_n(h.row(b).begin(), outputs, sums_.row(b).subspan(t * outputs).begin());
    for (float& value : h.values) value = apply(Nonlinearity::Tanh, value);
    for (std::size_t b = 0; b < input.rows; ++b)
      std::copy_n(h.row(b).begin(), outputs, outputs_.row(b).subspan(t * outputs).begin());
    inputs_.push_back(std::move(x));
    hidden_.push_back(std::move(h));
  }
  return hidden_.back();
}

Matrix Recurrent::backward(const Matrix& delta) {
  const std::size_t width = input_weight_.value.rows;
  Matrix result(delta.rows, inputs_.size() * width);
  Matrix by_hidden = delta;
  for (std::size_t t = inputs_.size(); t-- > 0;) {
    for (std::size_t i = 0; i < by_hidden.values.size(); ++i)
      by_hidden.values[i] *= slope(Nonlinearity::Tanh, hidden_[t + 1].values[i]);
    add_product_of_transposed(inputs_[t], by_hidden, input_weight_.gradient);
    add_product_of_transposed(hidden_[t], by_hidden, hidden_weight_.gradient);
    add_rows(by_hidden, bias_.gradient);
    const Matrix by_input = product_with_transposed(by_hidden, input_weight_.value);
    for (std::size_t b = 0; b < delta.rows; ++b)
      std::copy_n(by_input.row(b).begin(), width, result.row(b).subspan(t * width).begin());
    by_hidden = product_with_transposed(by_hidden, hidden_weight_.value);
  }
  return result;
}

void Recurrent::list_parameters(std::vector<Parameter*>& into) {
  into.insert(into.end(), {&input_weight_, &hidden_weight_, &bias_});
}

void Recurrent::list_activations(std::vector<NamedTensor>& into) const {
  const Shape shape = {sums_.rows, inputs_.size(), bias_.value.columns};
  into.push_back({name_ + "/tanh_input", shape, sums_.values.data()});
  into.push_back({name_ + "/tanh_output", shape, outputs_.values.data()});
}

Matrix Sequence::forward(const Matrix& input) {
  Matrix value = input;
  for (const LayerPointer& layer : layers_) value = layer->forward(value);
  return value;
}

Matrix Sequence::backward(const Matrix& delta) {
  Matrix value = delta;
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer)
    value = (*layer)->backward(value);
  return value;
}

void Sequence::list_parameters(std::vector<Parameter*>& into) {
  for (const LayerPointer& layer : layers_) layer->list_parameters(into);
}

void Sequence::list_activations(std::vector<NamedTensor>& into) const {
  for (const LayerPointer& layer : layers_) layer->list_activations(into);
}

Matrix Residual::forward(const Matrix& input) {
  Matrix output = within_.forward(input);
  add_scaled(output.values, 1, input.values);
  return output;
}

Matrix Residual::backward(const Matrix& delta) {
  Matrix result = within_.backward(delta);
  add_scaled(result.values, 1, delta.values);
  return result;
}

void Residual::list_parameters(std::vector<Parameter*>& into) { within_.list_parameters(into); }

void Residual::list_activations(std::vector<NamedTensor>& into) const {
  within_.list_activations(into);
}

}  // namespace cupel::training
