#include "cupel/command/rules_main.h"

#include <utility>

#include "command_main.h"

namespace cupel {

int rules_main(int argc, char** argv, std::vector<RuleDefinition> definitions,
               RuleFileReaders rule_files) {
  return command_detail::command_main(argc, argv, {.rule_files = std::move(rule_files)},
                                      std::move(definitions));
}

}  // namespace cupel
