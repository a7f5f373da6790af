// Rules in Python files as definitions. cupel.core.rule_files runs the file and describes its rules
// in plain dictionaries; here these become RuleDefinitions, whose functions call back into Python.
// Every entry takes the GIL itself. Mistakes of the file are values; exceptions of a constructor
// become Error, with the traceback.

#include "rule_files.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cupel/core/error.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

template <class T>
T entry(nb::handle description, const char* key) {
  return nb::cast<T>(description[key]);
}

ParameterKind kind_of(const std::string& name) {
  for (const ParameterKind kind : {ParameterKind::Float, ParameterKind::Int, ParameterKind::Bool,
                                   ParameterKind::Text, ParameterKind::List})
    if (name == to_string(kind)) return kind;
  return ParameterKind::Numbers;
}

RuleProblem problem_of(nb::handle description) {
  return {.file = entry<std::string>(description, "file"),
          .line = entry<std::int64_t>(description, "line"),
          .source_line = entry<std::string>(description, "source_line"),
          .message = entry<std::string>(description, "message"),
          .hint = entry<std::string>(description, "hint")};
}

Parameter parameter_of(nb::handle description) {
  return {.name = entry<std::string>(description, "name"),
          .kind = kind_of(entry<std::string>(description, "kind")),
          .default_text = entry<std::optional<std::string>>(description, "default_text"),
          .required = entry<bool>(description, "required"),
          .help = entry<std::string>(description, "help")};
}

// The values that the user gave: what was not given is the constructor's own default.
nb::dict given_values(const std::vector<Parameter>& parameters, const ParameterValues& values) {
  nb::dict given;
  for (const Parameter& parameter : parameters) {
    const ParameterValue* value = values.find(parameter.name);
    if (value == nullptr || !values.is_given(parameter.name)) continue;
    given[parameter.name.c_str()] =
        std::visit([](const auto& typed) { return nb::cast(typed); }, *value);
  }
  return given;
}

nb::object object_of(std::shared_ptr<Trial> trial) {
  return nb::cast(TrialObject(std::move(trial)));
}

std::unique_ptr<Rule> make(const nb::object& maker, const std::vector<Parameter>& parameters,
                           const std::shared_ptr<PythonTurn>& turn, const Trial& base,
                           const ParameterValues& values,
                           std::vector<std::unique_ptr<Trial>> others) {
  const nb::gil_scoped_acquire gil;
  try {
    nb::list other_objects;
    for (std::unique_ptr<Trial>& other : others) other_objects.append(object_of(std::move(other)));
    const nb::object rule =
        maker(object_of(base.view()), other_objects, given_values(parameters, values));
    return held_rule(rule, turn);
  } catch (const nb::python_error& error) {
    throw PythonError(text_of(error));
  }
}

std::shared_ptr<const RuleDefinition> definition_of(nb::handle description, const std::string& path,
                                                    const std::shared_ptr<PythonTurn>& turn) {
  RuleDefinition definition;
  definition.name = entry<std::string>(description, "name");
  definition.summary = entry<std::string>(description, "summary");
  definition.description = entry<std::string>(description, "description");
  for (const nb::handle parameter : description["parameters"])
    definition.parameters.push_back(parameter_of(parameter));
  definition.other_trials = entry<std::size_t>(description, "other_trials");
  definition.file = path;
  definition.fingerprint = entry<std::string>(description, "fingerprint");
  definition.make_rule = [maker = kept(description["make"]), parameters = definition.parameters,
                          turn](Trial& base, const ParameterValues& values,
                                std::vector<std::unique_ptr<Trial>> others) {
    return make(*maker, parameters, turn, base, values, std::move(others));
  };
  return std::make_shared<const RuleDefinition>(std::move(definition));
}

RuleFile read_python_rules(const std::string& path, const std::shared_ptr<PythonTurn>& turn) {
  const nb::gil_scoped_acquire gil;
  const nb::object read = nb::module_::import_("cupel.core.rule_files").attr("read_rule_file");
  const nb::object found = read(nb::steal(
      PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()))));
  RuleFile file;
  for (const nb::handle error : found["errors"]) file.errors.push_back(problem_of(error));
  file.is_readable = entry<bool>(found, "is_readable");
  for (const nb::handle rule : found["rules"])
    file.definitions.push_back(definition_of(rule, path, turn));
  for (const nb::handle other : found["other_names"])
    file.other_names[entry<std::string>(other, "name")] = problem_of(other);
  return file;
}

}  // namespace

RuleFileReader python_rule_reader(std::shared_ptr<PythonTurn> turn) {
  return {.ending = ".py", .read = [turn = std::move(turn)](const std::string& path) {
            return read_python_rules(path, turn);
          }};
}

}  // namespace cupel::python
