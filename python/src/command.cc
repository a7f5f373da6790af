// The command line of cupel in a process of Python: `python -m cupel`. It runs without the GIL;
// rules in Python take the GIL when they judge.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "cupel/command/rules_main.h"
#include "parts.h"
#include "rule_files.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace cupel::python {
namespace {

int run_command(const std::string& program, const std::vector<nb::bytes>& arguments) {
  std::vector<std::string> texts = {program};
  for (const nb::bytes& argument : arguments) texts.emplace_back(argument.c_str(), argument.size());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  const nb::gil_scoped_release without_gil;
  const int code = rules_main(static_cast<int>(texts.size()), pointers.data(), {},
                              {python_rule_reader(std::make_shared<PythonTurn>())});
  std::fflush(stdout);  // before anything that Python prints
  return code;
}

}  // namespace

void add_command(nb::module_& module) {
  module.def("run_command", &run_command, "program"_a, "arguments"_a);
}

}  // namespace cupel::python
