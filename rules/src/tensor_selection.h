#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cupel/core/pattern.h"
#include "cupel/rules/option_parameter.h"
#include "cupel/rules/rule_needs.h"
#include "cupel/rules/rule_parameter.h"

namespace cupel::rules_detail {

/// The parameters by which most rules select tensors.
Parameter collection_names();
Parameter tensor_regex();

/// The tensors that the two parameters select, together. Where neither is given: every tensor of a
/// step (`all_if_none`), or the choice is missing.
NeededTensors selected_tensors(const std::vector<std::string>& collections,
                               const PatternList& patterns, bool all_if_none);

/// The patterns of a parameter that has a default, and what counts where that finds nothing.
struct PreferredNames {
  PatternList patterns;
  /// Empty where the user gave the patterns.
  std::vector<FallbackNames> fallbacks;
};

/// Declares a list of patterns that fills `member`. Where the user gives no patterns, `fallbacks`
/// follow the default.
template <class Options>
OptionParameter<Options> preferred_names(PreferredNames Options::*member, Parameter parameter,
                                         std::vector<FallbackNames> fallbacks) {
  OptionParameter<Options> declared = option<PatternList, Options>(
      std::move(parameter), [member](Options& options, PatternList patterns, ParameterMistakes&) {
        (options.*member).patterns = std::move(patterns);
      });
  declared.fill = [member, name = declared.parameter.name, fallbacks = std::move(fallbacks),
                   take_patterns = std::move(declared.fill)](Options& options,
                                                             const ParameterValues& values,
                                                             ParameterMistakes& mistakes) {
    take_patterns(options, values, mistakes);
    if (!values.is_given(name)) (options.*member).fallbacks = fallbacks;
  };
  return declared;
}

/// Returns the need's tensors that the names select. `parameter` chooses them.
NeededTensors needed_tensors(const PreferredNames& names, std::string parameter,
                             std::string saved_as);

/// Adds a mistake where neither parameter selects anything. `text` is its message.
void require_selection(const ParameterValues& values, ParameterMistakes& mistakes,
                       std::string text =
                           "which tensors to judge is not given: give collection_names or "
                           "tensor_regex");

}  // namespace cupel::rules_detail
