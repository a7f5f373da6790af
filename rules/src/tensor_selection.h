#pragma once

#include <string_view>

#include "cupel/rules/parameters.h"
#include "cupel/rules/rule_needs.h"

namespace cupel {

/// The parameters collection_names and tensor_regex, as rules that take them list them.
inline constexpr ParameterInfo kCollectionNames{"collection_names", "list", "",
                                                "collections to look at; with tensor_regex: both"};
inline constexpr ParameterInfo kTensorRegex{"tensor_regex", "list", "",
                                            "patterns searched in the names of tensors"};

/// What those two choose, together; every tensor of a step where neither is given.
NeededTensors read_selection(ParameterReader& reader);
/// The same; that neither is given is a mistake.
NeededTensors read_required_selection(ParameterReader& reader);

/// The patterns of a list parameter with a default; what does not compile is a mistake, and so is a
/// list of none.
PatternList read_patterns(ParameterReader& reader, std::string_view name);

/// What a rule looks at before anybody gave it parameters.
NeededTensors unread_selection(bool all_if_none);

}  // namespace cupel
