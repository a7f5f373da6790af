// Judges a run by a rule of our own and by a built-in one, while it grows, until it ends.
//
// usage: watch [DIR]   DIR is runs/deep if not given

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>

#include "cupel/core/error.h"
#include "cupel/cupel.h"

namespace {

// The first layer learns next to nothing while the last one learns.
struct Starving : cupel::Rule {
  using Rule::Rule;
  cupel::Verdict invoke_at_step(std::int64_t step) override {
    cupel::Verdict verdict;
    const cupel::Tensor first = base_trial().tensor("gradient/fc1.weight");
    const cupel::Tensor last = base_trial().tensor("gradient/fc12.weight");
    const double value = first.reduction_value(step, "mean", {.abs = true});
    const double least = last.reduction_value(step, "mean", {.abs = true}) / 40'000;
    if (value < least) verdict.add({.tensor = first.name(), .value = value, .threshold = least});
    return verdict;
  }
};

bool watch(const std::string& directory) {
  const auto trial = cupel::create_trial(directory, {.wait_for_run = std::chrono::seconds(10)});
  cupel::RuleRunner runner(*trial, {.jobs = 2});
  runner.add(std::make_unique<Starving>(*trial));
  runner.add("ExplodingTensor");
  const cupel::RunSummary summary = runner.run(
      [](const cupel::VerdictLine& line) { std::cout << cupel::to_text(line) << std::endl; });
  return summary.found_issues();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return watch(argc > 1 ? argv[1] : "runs/deep") ? 1 : 0;
  } catch (const cupel::Error& error) {
    std::cerr << "watch: " << error.what() << '\n';
    return 2;
  }
}
