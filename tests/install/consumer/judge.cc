#include "cupel/rules/rule_runner.h"

int main(int, char** argv) {
  const auto trial = cupel::create_trial(argv[1]);
  cupel::RuleRunner runner(*trial);
  runner.add("VanishingGradient");
  runner.add("ExplodingTensor");
  const cupel::RunSummary summary = runner.run([](const cupel::VerdictLine&) {});
  const bool vanishing = summary.rules[0].steps_fired == 3;
  const bool exploding = summary.rules[1].steps_fired != 0;
  return vanishing && !exploding ? 0 : 1;
}
