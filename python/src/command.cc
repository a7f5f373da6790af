#include "parts.h"

namespace cupel::python {

void add_command(nanobind::module_&) {}

}  // namespace cupel::python
