#include <nanobind/nanobind.h>

#include "parts.h"

NB_MODULE(_native, module) {
  module.doc() =
      "The engine of cupel. Import cupel and its modules instead: names here may change.";
  cupel::python::add_errors(module);
  cupel::python::add_configuration(module);
  cupel::python::add_hook(module);
  cupel::python::add_trial(module);
  cupel::python::add_rules(module);
  cupel::python::add_command(module);
}
