#pragma once

#include <cstddef>

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

}  // namespace cupel::trial_detail
