// Several rules over one run, against the slowest of them alone: what they read and compute is
// shared. The run is on tmpfs, where there is one, and in the page cache.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench_directory.h"
#include "cupel/rules/rule_runner.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "paired.h"

namespace cupel {
namespace {

using Rules = std::vector<std::pair<std::string, RuleParameters>>;

// Ten that all look at every tensor, and fire at none.
Rules ten_rules() {
  const auto all = [](RuleParameters more) {
    more["tensor_regex"] = ".";
    return more;
  };
  return {
      {"AllZero", all({{"threshold", "90"}})},
      {"DeadRelu", all({})},
      {"ExplodingTensor", all({})},
      {"LossNotDecreasing", all({{"diff_percent", "0.000001"}, {"num_steps", "1"}})},
      {"NLPSequenceRatio", all({})},
      {"SaturatedActivation", all({{"threshold_tanh_max", "100"}, {"threshold_tanh_min", "-100"}})},
      {"TensorVariance", all({{"max_threshold", "1e9"}})},
      {"UnchangedTensor", all({})},
      {"VanishingGradient", {}},
      {"WeightUpdateRatio",
       {{"num_steps", "1"}, {"small_threshold", "0"}, {"large_threshold", "1e9"}}}};
}

/// A hook's run with 50 tensors a step; `reductions` are saved beside the values, or nothing is.
class TensorsRun {
 public:
  static constexpr int kTensors = 50;
  static constexpr std::size_t kElements = 1024;
  TensorsRun(std::int64_t steps, bool reductions) {
    HookOptions options;
    options.out_dir = directory_ / "run";
    options.save_all = true;
    options.include_collections = {"gradients"};
    options.save_config = {.save_interval = 1};
    if (reductions)
      options.reduction_config = {.reductions = {"min", "max", "mean", "variance"},
                                  .abs_reductions = {"mean"},
                                  .norms = {"l2"},
                                  .save_raw_tensor = true};
    Hook hook(options);
    hook.get_collection("weights").include("tanh");
    hook.set_mode(Mode::Train);
    std::vector<float> value(kElements);
    std::uint32_t random = 1;
    for (std::int64_t step = 0; step < steps; ++step) {
      hook.next_step();
      const float scale = 1.0F / (1.0F + static_cast<float>(step));
      for (int tensor = 0; tensor < kTensors; ++tensor) {
        for (float& x : value) {
          random = random * 1664525U + 1013904223U;
          x = 1.0F + scale + static_cast<float>(random >> 8U) * 0x1p-24F;
        }
        hook.save_tensor("gradient/tanh_" + std::to_string(tensor),
                         TensorView(std::span<const float>(value)));
      }
    }
    hook.close();
  }
  std::string location() const { return directory_ / "run"; }

 private:
  BenchDirectory directory_;
};

double judge(const std::string& run, std::span<const Rules::value_type> rules) {
  const auto trial = create_trial(run);
  RuleRunner runner(*trial, {.jobs = 1});
  for (const auto& [rule, parameters] : rules) runner.add(rule, parameters);
  std::int64_t evaluated = 0;
  const double took = seconds_of([&] {
    for (const RuleSummary& rule : runner.run([](const VerdictLine&) {}).rules)
      evaluated += rule.steps_evaluated;
  });
  if (evaluated == 0) std::abort();
  return took;
}

void ten_rules_together(benchmark::State& state) {
  const TensorsRun run(state.range(0), state.range(1) != 0);
  const Rules rules = ten_rules();
  std::size_t slowest = 0;
  std::vector<double> alone(rules.size(), 0);
  for (int warm = 0; warm < 2; ++warm)
    for (std::size_t i = 0; i < rules.size(); ++i) {
      alone[i] = judge(run.location(), std::span(rules).subspan(i, 1));
      if (alone[i] > alone[slowest]) slowest = i;
    }
  Paired paired;
  paired.run(
      state, [&] { return judge(run.location(), rules); },
      [&] { return judge(run.location(), std::span(rules).subspan(slowest, 1)); });
  double sum = 0;
  for (const double took : alone) sum += took;
  state.counters["sum_alone_s"] = sum;
  state.SetLabel("slowest: " + rules[slowest].first);
  state.SetItemsProcessed(state.iterations() * state.range(0) * TensorsRun::kTensors * 10);
}

BENCHMARK(ten_rules_together)
    ->ArgNames({"steps", "reductions"})
    ->Args({2000, 0})
    ->Args({2000, 1})
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

}  // namespace
}  // namespace cupel
