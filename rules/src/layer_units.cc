#include "layer_units.h"

namespace cupel::rules_detail {

bool has_units(TensorCopy& copy) {
  if (!copy.has_numbers()) return false;
  if (copy.record().elements() > 1) return true;
  const std::optional<Shape> shape = copy.record().record().shape;
  if (shape && shape->rank() > 0) return true;
  copy.skip("a scalar has no units");
  return false;
}

}  // namespace cupel::rules_detail
