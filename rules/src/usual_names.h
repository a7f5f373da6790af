#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_definition.h"
#include "cupel/rules/rule_needs.h"

namespace cupel::rules_detail {

/// Returns the paragraph of a rule's page about the names that count in a run without any tensor
/// that the default pattern matches. `names` describes these names: a line break, then the end of a
/// sentence without its full stop. The edition Reference has no such paragraph.
std::string usual_names_page(Definitions edition, std::string_view names);

/// The names that frameworks, adapters and users give to the tensors that a rule judges, behind
/// the name that was published for the rule. Nothing for the edition Reference, which knows that
/// name only. docs/naming.md lists examples by profile.
///
/// No pattern has a comma, because a list of patterns is text with commas.
/// Of relu_outputs(), only the first entry names the function: DeadRelu asks values for the others.
std::vector<FallbackNames> relu_outputs(Definitions edition);
std::vector<FallbackNames> tanh_and_sigmoid_inputs(Definitions edition);
std::vector<FallbackNames> input_images(Definitions edition);
std::vector<FallbackNames> token_sequences(Definitions edition);
std::vector<FallbackNames> activation_inputs(Definitions edition);

}  // namespace cupel::rules_detail
