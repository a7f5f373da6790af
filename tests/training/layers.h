#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cupel/core/shape.h"
#include "training/matrix.h"
#include "training/numeric.h"

namespace cupel::training {

/// What is trained.
struct Parameter {
  std::string name;
  Matrix value;
  Matrix gradient;
  Matrix velocity;  ///< Of momentum.

  Parameter(std::string its_name, std::size_t rows, std::size_t columns)
      : name(std::move(its_name)),
        value(rows, columns),
        gradient(rows, columns),
        velocity(rows, columns) {}
};

/// A tensor of a network as it is saved.
struct NamedTensor {
  std::string name;
  Shape shape;
  const float* values = nullptr;
};

/// A step of the computation. It keeps of the last forward() what backward() needs, and what is to
/// be saved.
class Layer {
 public:
  virtual ~Layer() = default;
  virtual Matrix forward(const Matrix& input) = 0;
  /// Takes the loss's gradient by the output; computes the gradients of the parameters and returns
  /// the one by the input.
  virtual Matrix backward(const Matrix& delta) = 0;
  virtual void list_parameters(std::vector<Parameter*>& /*into*/) {}
  /// Inputs and outputs of activation functions.
  virtual void list_activations(std::vector<NamedTensor>& /*into*/) const {}
};

using LayerPointer = std::unique_ptr<Layer>;

/// How weights are drawn: normal numbers of the deviation gain / sqrt(inputs).
struct Initialization {
  double gain = 1;
  double bias = 0;
};

class Dense final : public Layer {
 public:
  Dense(const std::string& name, std::size_t inputs, std::size_t outputs,
        const Initialization& initialization, Random& random);
  Matrix forward(const Matrix& input) override;
  Matrix backward(const Matrix& delta) override;
  void list_parameters(std::vector<Parameter*>& into) override;

 private:
  Parameter weight_;  // inputs × outputs
  Parameter bias_;
  Matrix input_;
};

enum class Nonlinearity { Relu, Tanh, Sigmoid };

/// An activation function. Its input and output are called <name>/relu_input, <name>/relu_output.
class Activation final : public Layer {
 public:
  Activation(std::string name, Nonlinearity function);
  Matrix forward(const Matrix& input) override;
  Matrix backward(const Matrix& delta) override;
  void list_activations(std::vector<NamedTensor>& into) const override;

 private:
  std::string name_;
  Nonlinearity function_;
  Matrix input_;
  Matrix output_;
};

/// Filters of 3 × 3 over square images of one channel, whose borders are cut off. Comes first: the
/// gradient by its input is not computed.
class Convolution final : public Layer {
 public:
  static constexpr std::size_t kWindow = 3;

  Convolution(const std::string& name, std::size_t image_width, std::size_t filters,
              const Initialization& initialization, Random& random);
  std::size_t outputs() const { return filters_ * places_ * places_; }
  Matrix forward(const Matrix& input) override;
  Matrix backward(const Matrix& delta) override;
  void list_parameters(std::vector<Parameter*>& into) override;

 private:
  std::size_t width_;
  std::size_t places_;  // of a window along an edge
  std::size_t filters_;
  Parameter weight_;  // filters × window
  Parameter bias_;
  Matrix input_;
};

/// Looks tokens up; the vectors of a sequence come one after another in the output's row. Comes
/// first too.
class Embedding final : public Layer {
 public:
  Embedding(const std::string& name, std::size_t tokens, std::size_t width,
            const Initialization& initialization, Random& random);
  Matrix forward(const Matrix& input) override;
  Matrix backward(const Matrix& delta) override;
  void list_parameters(std::vector<Parameter*>& into) override;

 private:
  Parameter weight_;  // tokens × width
  Matrix input_;
};

/// h' = tanh(x Wx + h Wh + b) over the vectors of a sequence; the last h is the output.
class Recurrent final : public Layer {
 public:
  Recurrent(std::string name, std::size_t inputs, std::size_t outputs,
            const Initialization& initialization, Random& random);
  Matrix forward(const Matrix& input) override;
  Matrix backward(const Matrix& delta) override;
  void list_parameters(std::vector<Parameter*>& into) override;
  void list_activations(std::vector<NamedTensor>& into) const override;

 private:
  std::string name_;
  Parameter input_weight_;
  Parameter hidden_weight_;
  Parameter bias_;
  // Of each time, examples × width.
  std::vector<Matrix> inputs_;
  std::vector<Matrix> hidden_;  // one more: begins with zeros
  // Examples × times × width, for those who save them.
  Matrix sums_;
  Matrix outputs_;
};

/// Layers one after another.
class Sequence final : public Layer {
 public:
  void add(LayerPointer layer) { layers_.push_back(std::move(layer)); }
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    auto layer = std::make_unique<T>(std::forward<Arguments>(arguments)...);
    T& made = *layer;
    add(std::move(layer));
    return made;
  }
  Matrix forward(const Matrix& input) override;
  Matrix backward(const Matrix& delta) override;
  void list_parameters(std::vector<Parameter*>& into) override;
  void list_activations(std::vector<NamedTensor>& into) const override;

 private:
  std::vector<LayerPointer> layers_;
};

/// Its input, and what the layers within make of it, added up.
class Residual final : public Layer {
 public:
  explicit Residual(Sequence within) : within_(std::move(within)) {}
  Matrix forward(const Matrix& input) override;
  Matrix backward(const Matrix& delta) override;
  void list_parameters(std::vector<Parameter*>& into) override;
  void list_activations(std::vector<NamedTensor>& into) const override;

 private:
  Sequence within_;
};

/// A bug that is easily made: values pass, gradients do not.
class Detached final : public Layer {
 public:
  Matrix forward(const Matrix& input) override { return input; }
  Matrix backward(const Matrix& delta) override { return Matrix(delta.rows, delta.columns); }
};

}  // namespace cupel::training
