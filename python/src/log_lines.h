#pragma once

#include <nanobind/nanobind.h>

namespace cupel::python {

/// Passes cupel's log lines to cupel.core.logger, until the interpreter exits.
void add_log_lines(nanobind::module_& module);

}  // namespace cupel::python
