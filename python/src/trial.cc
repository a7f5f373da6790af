#include "parts.h"

namespace cupel::python {

void add_trial(nanobind::module_&) {}

}  // namespace cupel::python
