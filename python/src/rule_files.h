#pragma once

#include <memory>

#include "cupel/rules/load_rules.h"
#include "python_rule.h"

namespace cupel::python {

/// The reader of files of rules in Python (".py"); its rules share the turn with other rules of the
/// runner. May be used with and without the GIL, and so may the definitions that it gives.
RuleFileReader python_rule_reader(std::shared_ptr<PythonTurn> turn);

}  // namespace cupel::python
