#pragma once

#include <vector>

#include "cupel/rules/load_rules.h"
#include "cupel/rules/rule_definition.h"

namespace cupel {

/// The command line of cupel for a program with rules of its own.
///
///     int main(int argc, char** argv) {
///       return cupel::rules_main(argc, argv, {TooWide::definition()});
///     }
///
/// The program then has the commands of `cupel`, but for `demo`, and its rules have the same place
/// there as the built-in ones: `my_rules watch RUN --rule TooWide,most=4 --rule VanishingGradient`
/// judges a run, `my_rules check hook.json --rule TooWide` proves that a hook's configuration feeds
/// the rule, and `my_rules rules TooWide` prints the page of the rule. Messages and help show the
/// name by which the program was called.
///
/// Call it from main(), once, before other threads run: it replaces the log sink
/// (cupel/core/log.h), handles SIGINT and SIGTERM, and writes to the standard output and the
/// standard error. Returns the exit code: 0 fine; 1 a rule's condition was met or cannot be met; 2
/// an error; 130 interrupted. Throws nothing. A definition whose name a built-in rule or another
/// definition has, or that cannot make a rule (RuleCatalog::add()), is an error: every such
/// definition is reported, and no command runs.
///
/// `rule_files` read files of rules in further languages than Lua: `--rule FILE.py:NAME` is read by
/// the reader of the ending ".py".
int rules_main(int argc, char** argv, std::vector<RuleDefinition> definitions,
               RuleFileReaders rule_files = {});

}  // namespace cupel
