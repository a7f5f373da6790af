#include "parts.h"

namespace cupel::python {

void add_rules(nanobind::module_&) {}

}  // namespace cupel::python
