#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cupel::libtorch_detail {

/// What the listener makes of an operator.
enum class OperatorKind : std::uint8_t {
  Product,  ///< A product with a weight, to which a bias of the same module may be added next.
  Normalisation,   ///< Output 0 only.
  Embedding,       ///< Output 0 only.
  FusedAttention,  ///< One operator for a module with submodules. Output 0 only.
  Recurrent,       ///< The last list of tensors among the arguments holds the parameters.
  OtherLayer,      ///< A layer without peculiarities.
  Activation,
  Loss,
  Addition,  ///< Adds a bias to a product, or is of no interest.
};

/// One operator that the listener knows. Bit k of a mask is the operator's argument k.
struct OperatorRow {
  std::string_view name;   ///< The name without "aten::", of activations also without a final "_".
  std::string_view label;  ///< The name of a loss's values; the operator's name for activations.
  OperatorKind kind = OperatorKind::OtherLayer;
  std::uint32_t values = 0;   ///< The arguments that a module's forward takes.
  std::uint32_t weights = 0;  ///< The arguments where the module's own parameters are sought first.

  bool is_layer() const noexcept { return kind < OperatorKind::Activation; }
};

/// All operators that the listener knows.
std::span<const OperatorRow> operator_rows() noexcept;

/// The row of the operator `name` as torch records it ("aten::relu_"); nothing for one that is not
/// known, or is no operator.
const OperatorRow* find_operator(std::string_view name) noexcept;

}  // namespace cupel::libtorch_detail
