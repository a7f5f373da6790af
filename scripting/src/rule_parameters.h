#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "cupel/rules/parameters.h"
#include "cupel/scripting/lua_rule_file.h"
#include "lua_state.h"

namespace cupel::lua {

using ParameterValue = std::variant<double, std::int64_t, bool, std::string,
                                    std::vector<std::string>, std::vector<double>>;
/// By name; without those that have no default and were not given. Never copied: GCC 12's variant
/// of these types is not in order when a copy of it finds no memory.
using ParameterValues = std::map<std::string, std::shared_ptr<const ParameterValue>>;

/// A parameter as a rule declares it: its type is that of its default, or is named.
struct ParameterDefinition {
  enum class Kind : std::uint8_t { Number, Integer, Boolean, Text, Texts, Numbers };
  LuaRuleInfo::Parameter info;
  Kind kind = Kind::Number;
  std::shared_ptr<const ParameterValue> value = nullptr;  ///< The default.
  NumberRange range = {};                                 ///< Of numbers, also those in a list.
  std::vector<std::string> one_of = {};                   ///< Texts that are legal; none: all.
};

/// Throws UsageError with every mistake in what was given to the rule.
ParameterValues convert_parameters(const std::string& rule,
                                   const std::vector<ParameterDefinition>& known,
                                   const RuleParameters& given);

/// Pushes the table self.params. A script that reads a parameter from it that is not `known` gets
/// an error, which names the nearest one; a known one without a value is nil.
void push_parameters(lua_State* lua, const std::vector<ParameterDefinition>& known,
                     const ParameterValues& values);

}  // namespace cupel::lua
