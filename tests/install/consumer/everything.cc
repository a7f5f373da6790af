#include <cupel/cupel.h>

#include <memory>

struct Always : cupel::Rule {
  using Rule::Rule;
  cupel::Verdict invoke_at_step(std::int64_t step) override {
    cupel::Verdict verdict;
    verdict.add({.tensor = "loss", .value = static_cast<double>(step)});
    return verdict;
  }
};

int main(int, char** argv) {
  cupel::HookOptions options;
  options.out_dir = argv[1];
  cupel::Hook hook(options);
  for (int i = 0; i < 3; ++i) {
    hook.next_step();
    hook.save_scalar("loss", i);
  }
  hook.close();

  const auto trial = cupel::create_trial(argv[1]);
  cupel::RuleRunner runner(*trial);
  runner.add(std::make_unique<Always>(*trial));
  const cupel::RunSummary summary = runner.run([](const cupel::VerdictLine&) {});
  return summary.rules[0].steps_fired == 3 ? 0 : 1;
}
