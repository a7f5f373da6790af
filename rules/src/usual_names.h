#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cupel/rules/rule_definition.h"
#include "cupel/rules/rule_needs.h"

namespace cupel::rules_detail {

/// Returns the paragraph of a rule's page about the names that count where a run has none of the
/// default pattern. `names` are these: a line break, and
/// the end of a sentence without its full stop. Nothing for the edition Reference.
std::string usual_names_page(Definitions edition, std::string_view names);

/// The names that frameworks, adapters and users give to the tensors that a rule judges, behind
/// the name that was published for the rule. Nothing for the edition Reference, which knows that
/// name only. docs/naming.md lists examples by profile.
///
/// No pattern has a comma, because a list of patterns is text with commas.
std::vector<FallbackNames> relu_outputs(Definitions edition);
std::vector<FallbackNames> tanh_and_sigmoid_inputs(Definitions edition);
std::vector<FallbackNames> input_images(Definitions edition);
std::vector<FallbackNames> token_sequences(Definitions edition);
std::vector<FallbackNames> activation_inputs(Definitions edition);

}  // namespace cupel::rules_detail
