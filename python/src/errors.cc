// The exceptions of cupel in Python. Their classes are written in Python, since they have several
// bases and attributes; a translator makes an instance of the class for each kind of Error, with
// the message of C++ as its text.

#include "cupel/core/error.h"

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

#include "log_lines.h"
#include "mode_caster.h"
#include "parts.h"

namespace nb = nanobind;

namespace cupel::python {
namespace {

// Text of a file or of the system, which may be no UTF-8.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                        "backslashreplace"));
}

// Sets the exception of Python. `attributes` are those of the class `name` in cupel.exceptions.
void raise(const char* name, const Error& error, const nb::dict& attributes) {
  const nb::module_ exceptions = nb::module_::import_("cupel.exceptions");
  const nb::object type = exceptions.attr(name);
  const nb::object instance =
      exceptions.attr("_restore")(type, nb::make_tuple(text(error.what())), attributes);
  PyErr_SetObject(type.ptr(), instance.ptr());
}

nb::dict of_step(std::int64_t step, Mode mode) {
  nb::dict attributes;
  attributes["step"] = step;
  attributes["mode"] = mode;
  return attributes;
}

nb::dict of_tensor(const TensorUnavailableForStep& error) {
  nb::dict attributes = of_step(error.step, error.mode);
  attributes["tname"] = text(error.name);
  attributes["has_reductions"] = error.has_reductions;
  return attributes;
}

void translate_step_error(const std::exception_ptr& thrown) {
  nb::dict attributes;
  try {
    std::rethrow_exception(thrown);
  } catch (const StepNotYetAvailable& e) {
    raise("StepNotYetAvailable", e, of_step(e.step, e.mode));
  } catch (const StepUnavailable& e) {
    raise("StepUnavailable", e, of_step(e.step, e.mode));
  } catch (const NoMoreData& e) {
    attributes = of_step(e.step, e.mode);
    attributes["last_step"] = e.last_step;
    raise("NoMoreData", e, attributes);
  } catch (const TensorUnavailable& e) {
    attributes["tname"] = text(e.name);
    raise("TensorUnavailable", e, attributes);
  } catch (const ShapeUnavailableForStep& e) {
    raise("ShapeUnavailableForStep", e, of_tensor(e));
  } catch (const TensorUnavailableForStep& e) {
    raise("TensorUnavailableForStep", e, of_tensor(e));
  }
}

void translate(const std::exception_ptr& thrown, void*) {
  nb::dict attributes;
  try {
    translate_step_error(thrown);
  } catch (const StoreError& e) {
    attributes["key"] = text(e.key);
    attributes["location"] = text(e.location);
    attributes["retryable"] = e.retryable;
    raise("StoreError", e, attributes);
  } catch (const InvalidCollectionConfiguration& e) {
    attributes["c_name"] = text(e.name);
    raise("InvalidCollectionConfiguration", e, attributes);
  } catch (const InsufficientInformationForRuleInvocation& e) {
    attributes["rule_name"] = text(e.rule);
    attributes["message"] = text(e.what());
    raise("InsufficientInformationForRuleInvocation", e, attributes);
  } catch (const OutDirError& e) {
    raise("SMDebugRuntimeError", e, attributes);
  } catch (const UsageError& e) {
    raise("SMDebugValueError", e, attributes);
  } catch (const InvalidWorker& e) {
    attributes["worker"] = text(e.worker);
    raise("InvalidWorker", e, attributes);
  } catch (const MissingCollectionFiles& e) {
    raise("MissingCollectionFiles", e, attributes);
  } catch (const FormatError& e) {
    attributes["message"] = text(e.what());
    attributes["file"] = text(e.file);
    attributes["offset"] = e.offset;
    raise(dynamic_cast<const DamagedValue*>(&e) != nullptr ? "DamagedValue" : "FormatError", e,
          attributes);
  } catch (const IndexReaderException& e) {
    attributes["message"] = text(e.what());
    raise("IndexReaderException", e, attributes);
  } catch (const RuleEvaluationConditionMet& e) {
    attributes["rule_name"] = text(e.rule);
    attributes["step"] = e.step;
    attributes["end_of_rule"] = e.end_of_rule;
    raise("RuleEvaluationConditionMet", e, attributes);
  } catch (const Error& e) {
    raise("SMDebugError", e, attributes);
  }
}

}  // namespace

void add_errors(nb::module_& module) {
  nb::register_exception_translator(translate);
  add_log_lines(module);
}

}  // namespace cupel::python
