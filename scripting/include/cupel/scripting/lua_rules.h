#pragma once

#include <string>

#include "cupel/rules/load_rules.h"
#include "cupel/scripting/script_error.h"
#include "cupel/scripting/script_limits.h"
#include "cupel/store/store_scheme.h"

namespace cupel {

/// Rules in Lua: a file gives definitions like those of rules in C++.
///
///     const RuleFile file = read_lua_rules("gradient_too_large.lua");
///     for (const RuleProblem& error : file.errors) std::cerr << to_text(error) << '\n';
///     runner.add(file.definitions.at(0)->make(*trial, {{"threshold", "5"}}));
///
/// A definition and its copies may be used by any thread. A rule that is made belongs to one thread
/// at a time, like every Rule.

/// Reads a file of rules: runs it once, in a Lua state with these limits, and examines what it
/// returns. `path` is a file, or an object of a store ("s3://bucket/rule.lua") that open_store()
/// opens with `schemes`.
///
/// Every mistake of the file is in `errors`, with its line, and a file with errors gives no
/// definitions. Nothing is thrown for the contents of the file.
///
/// The first rule that is made from any of the definitions takes over the state of this run. Each
/// further rule runs the file again, in a state of its own, with the text that the file and its
/// modules had when they were read. The state of a rule is the one in which its needs() was called,
/// with the rule's parameters. RuleDefinition::needs() and RuleDefinition::make() throw ScriptError
/// where the script fails.
RuleFile read_lua_rules(const std::string& path, const ScriptLimits& limits = {},
                        const StoreSchemes& schemes = {});

/// Returns read_lua_rules() with these limits and schemes, as load_rules() takes it.
RuleFileReader lua_rule_reader(const ScriptLimits& limits = {}, const StoreSchemes& schemes = {});

}  // namespace cupel
