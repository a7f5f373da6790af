// The tour of docs/api.md, word for word: the build extracts it into api_tour.inc. What stands
// around it gives it tensors to save, and uses what it leaves unused.

#include "api_tour.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cupel/cupel.h"

namespace cupel_docs {

void tour() {
  const std::vector<float> weights(12, 0.5F);
  const std::vector<float> gradients(12, 0.25F);
  const float* const data = weights.data();
  const float* const grad = gradients.data();
  const int out = 3;
  const int in = 4;
#include "api_tour.inc"
  static_cast<void>(report);
  static_cast<void>(steps);
  static_cast<void>(names);
  static_cast<void>(values);
  static_cast<void>(m);
  static_cast<void>(summary);
}

}  // namespace cupel_docs
