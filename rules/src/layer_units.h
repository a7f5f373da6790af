#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cupel/rules/tensor_copy.h"
#include "elements.h"

namespace cupel::rules_detail {

/// The units of a layer at one step: axis 0 of its output is the batch, every element position
/// behind it a unit; a list of numbers is a batch of one.
struct LayerUnits {
  std::int64_t inactive = 0;
  std::int64_t units = 0;

  double percent() const noexcept {
    return 100 * static_cast<double>(inactive) / static_cast<double>(units);
  }
};

/// Whether a copy has units. A single number is skipped where it is a scalar, or where its shape is
/// not known.
bool has_units(TensorCopy& copy);

/// Counts the units that `is_active(element)` finds active in less than `threshold` percent of the
/// batch. Not for scalars and empty values.
template <class F>
LayerUnits inactive_units(const TensorValue& value, double threshold, F&& is_active) {
  const std::int64_t batch = value.shape().rank() == 1 ? 1 : value.shape()[0];
  const auto units = static_cast<std::size_t>(value.elements() / batch);
  std::vector<std::int64_t> active(units);
  std::size_t unit = 0;
  for_each_span(value, [&](std::span<const double> elements, std::size_t) {
    for (const double element : elements) {
      active[unit] += is_active(element) ? 1 : 0;
      if (++unit == units) unit = 0;
    }
    return true;
  });
  LayerUnits layer{0, static_cast<std::int64_t>(units)};
  for (const std::int64_t samples : active)
    if (100 * static_cast<double>(samples) / static_cast<double>(batch) < threshold)
      ++layer.inactive;
  return layer;
}

}  // namespace cupel::rules_detail
