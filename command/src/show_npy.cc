// Writes the values of several steps as one NumPy array.

#include <optional>
#include <string>
#include <vector>

#include "cupel/core/error.h"
#include "npy_file.h"
#include "progress.h"
#include "show.h"

namespace cupel::command_detail {
namespace {

// A value whose shape was not saved is a row of elements.
Shape value_shape(const TensorRecord& record) {
  return record.shape.value_or(Shape{record.elements});
}

// Throws UsageError where two values do not fit into one array.
void require_alike(const TensorRecord& first, std::int64_t first_step, const TensorRecord& other,
                   std::int64_t other_step) {
  if (first.dtype == other.dtype && value_shape(first) == value_shape(other)) return;
  const auto words = [](const TensorRecord& record, std::int64_t step) {
    return std::string(to_string(record.dtype)) + " " + shape_text(record) + " at step " +
           std::to_string(step);
  };
  throw UsageError("one array holds values of one shape: " + words(first, first_step) + ", but " +
                   words(other, other_step));
}

}  // namespace

void write_steps(const ShownTensor& shown, const CommandContext& context) {
  std::optional<TensorRecord> first;
  std::vector<std::int64_t> steps;
  std::vector<std::int64_t> without_value;
  for (const std::int64_t step : shown.steps) {
    const TensorRecord record = shown.record(step);
    if (!record.has_value) {
      without_value.push_back(step);
      continue;
    }
    if (!first) first = record;
    require_alike(*first, steps.empty() ? step : steps.front(), record, step);
    steps.push_back(step);
  }
  if (!first)
    throw UsageError("there is nothing to write: no value of " + shown.tensor.name() +
                     " was saved at these steps");
  std::vector<std::int64_t> extents = {static_cast<std::int64_t>(steps.size())};
  const Shape shape = value_shape(*first);
  extents.insert(extents.end(), shape.begin(), shape.end());

  NpyFile npy(shown.options.npy, first->dtype, extents);
  {
    Progress progress("writing values");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      npy.append(shown.value(shown.record(steps[i])));
      progress(i + 1, steps.size());
    }
  }
  npy.commit();
  if (!without_value.empty())
    context.message() << "left out, saved without raw values: " << steps_text(without_value)
                      << '\n';
  context.err << "wrote " << shown.options.npy << ": " << to_string(first->dtype) << " (";
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    context.err << (axis == 0 ? "" : ", ") << extents[axis];
  context.err << "), " << steps_text(steps) << '\n';
}

}  // namespace cupel::command_detail
