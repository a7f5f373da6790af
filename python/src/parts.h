#pragma once

#include <nanobind/nanobind.h>

namespace cupel::python {

// The parts of cupel._native. Each adds its classes and functions to the module.
void add_errors(nanobind::module_& module);
void add_configuration(nanobind::module_& module);
void add_hook(nanobind::module_& module);
void add_hook_configuration(nanobind::module_& module);
void add_tree_table(nanobind::module_& module);
void add_trial(nanobind::module_& module);
void add_rules(nanobind::module_& module);
void add_command(nanobind::module_& module);

}  // namespace cupel::python
