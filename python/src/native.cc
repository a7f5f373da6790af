#include <nanobind/nanobind.h>

#include "parts.h"

NB_MODULE(_native, module) {
  module.doc() =
      "The engine of cupel. Import cupel and its modules instead: names here may change.";
  // Objects of a script's own classes live until the process ends; that is no leak of anybody's.
  nanobind::set_leak_warnings(false);
  module.def("version", [] { return CUPEL_VERSION; });
  cupel::python::add_errors(module);
  cupel::python::add_configuration(module);
  cupel::python::add_hook(module);
  cupel::python::add_hook_configuration(module);
  cupel::python::add_tree_table(module);
  cupel::python::add_trial(module);
  cupel::python::add_rules(module);
  cupel::python::add_command(module);
}
