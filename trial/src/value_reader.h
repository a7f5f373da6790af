#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cupel/core/shape.h"
#include "cupel/store/store.h"
#include "cupel/trial/tensor_value.h"
#include "index_data.h"
#include "worker_steps.h"

namespace cupel::trial_detail {

/// The shape of a row: the saved one, else a flat one.
Shape shape_of(const RowForm& form) noexcept;

/// Reads the raw value of a row that has one, by one ranged read, and checks it. Throws FormatError
/// for damage, and nothing is returned when the events file is not there.
std::optional<TensorValue> read_value(const Store& store, const IndexData& data,
                                      const StepRows& rows, std::size_t row);

/// A row that has a raw value.
struct ValuePlace {
  const StepRows* rows;
  std::size_t row;
};

/// The same for many rows, in their order; several threads read where that is worth it. Of several
/// damages it is always the same one that is thrown.
std::vector<std::optional<TensorValue>> read_values(const Store& store, const IndexData& data,
                                                    std::span<const ValuePlace> places);

}  // namespace cupel::trial_detail
