#pragma once

#include <nanobind/nanobind.h>

namespace cupel::python {

/// Adds RunWriter, `run_has_ended`, `end_run` and `replace_collections`.
void add_run_writer(nanobind::module_& module);

}  // namespace cupel::python
