// Rules in Lua against the same rules in C++, over the same run: each evaluates every step, one
// thread. The run is on tmpfs, where there is one, and in the page cache.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench_directory.h"
#include "cupel/rules/rule_catalog.h"
#include "cupel/rules/rule_evaluation.h"
#include "cupel/scripting/lua_rules.h"
#include "cupel/stats/statistics.h"
#include "cupel/trial/run_follower.h"
#include "cupel/trial/trial.h"
#include "cupel/writer/hook.h"
#include "lua_vanishing_gradient.h"
#include "paired.h"

namespace cupel {
namespace {

using Make = std::function<std::unique_ptr<Rule>(Trial&)>;

/// A run of gradients: `reductions` or raw values of them.
class GradientsRun {
 public:
  GradientsRun(std::int64_t steps, int tensors, std::size_t elements, bool reductions) {
    HookOptions options;
    options.out_dir = directory_ / "run";
    options.include_collections = {"gradients"};
    options.save_config = {.save_interval = 1};
    if (reductions) options.reduction_config = {.abs_reductions = {"mean"}};
    Hook hook(options);
    hook.set_mode(Mode::Train);
    std::vector<float> value(elements);
    for (std::int64_t step = 0; step < steps; ++step) {
      hook.next_step();
      for (int tensor = 0; tensor < tensors; ++tensor) {
        value.assign(elements, 1.0F / static_cast<float>(1 + step + tensor));
        hook.save_tensor("gradient/layer_" + std::to_string(tensor) + ".weight",
                         TensorView(std::span<const float>(value)));
      }
    }
    hook.close();
  }
  std::string location() const { return directory_ / "run"; }

  /// A rule of this text.
  Make lua(const std::string& text) const {
    const std::string path = directory_ / "rule.lua";
    std::ofstream(path) << text;
    const auto rule = read_lua_rules(path).definitions.at(0);
    return [rule](Trial& trial) { return rule->make(trial); };
  }

 private:
  BenchDirectory directory_;
};

double judge(const GradientsRun& run, const Make& make) {
  const auto trial = create_trial(run.location());
  const std::vector<std::int64_t> steps = trial->steps();
  const std::unique_ptr<Rule> rule = make(*trial);
  RuleEvaluation(*rule).at_step(steps.front(), RunFollower(*trial).snapshot());
  std::int64_t found = 0;
  const double took = seconds_of([&] {
    for (const std::int64_t step : steps)
      found += RuleEvaluation(*rule).at_step(step, RunFollower(*trial).snapshot()).datapoints();
  });
  if (found == 0) std::abort();
  return took;
}

// Interleaves the two and reports the ratio.
void compare(benchmark::State& state, const GradientsRun& run, const Make& lua, const Make& cpp) {
  Paired paired;
  paired.run(
      state, [&] { return judge(run, lua); }, [&] { return judge(run, cpp); });
}

constexpr int kTensors = 1000;

void vanishing_gradient(benchmark::State& state) {
  const GradientsRun run(1000, kTensors, 4, true);
  compare(state, run, run.lua(kVanishingGradientInLua), [](Trial& trial) {
    return builtin_rules().require("VanishingGradient").make(trial, {});
  });
  state.SetItemsProcessed(state.iterations() * 1000 * kTensors);
}

// Asks tensor by tensor.
constexpr const char* kTooLarge = R"(
return cupel.rule {
  name = "GradientTooLarge",
  params = { threshold = 10.0 },
  needs = { collections = { "gradients" }, reductions = { "abs_mean" } },
  invoke_at_step = function(self, trial, step)
    for _, name in ipairs(trial:tensor_names { collection = "gradients", step = step }) do
      local v = trial:tensor(name):reduction_value(step, "mean", { abs = true })
      if v > self.params.threshold then
        self:issue { tensor = name, value = v, threshold = self.params.threshold }
      end
    end
  end,
})";

struct TooLarge : Rule {
  using Rule::Rule;
  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    for (const auto& name : base_trial().tensor_names({.step = step, .collection = "gradients"})) {
      verdict.count(1);
      if (const double x = base_trial().tensor(name).reduction_value(step, "mean", {.abs = true});
          x > 10)
        verdict.add({.tensor = name, .value = x, .threshold = 10});
    }
    return verdict;
  }
};

void tensor_by_tensor(benchmark::State& state) {
  const GradientsRun run(200, kTensors, 4, true);
  compare(state, run, run.lua(kTooLarge),
          [](Trial& trial) { return std::make_unique<TooLarge>(trial); });
  state.SetItemsProcessed(state.iterations() * 200 * kTensors);
}

constexpr const char* kOutlier = R"(
return cupel.rule {
  name = "Outlier",
  params = { threshold = 10.0 },
  needs = { collections = { "gradients" }, raw = true },
  invoke_at_step = function(self, trial, step)
    for _, name in ipairs(trial:tensor_names { collection = "gradients", step = step }) do
      local value = trial:tensor(name):value(step)
      local most = value:reduction("abs_max")
      if most > self.params.threshold * value:std() + 1 then
        self:issue { tensor = name, value = most, threshold = self.params.threshold }
      end
    end
  end,
})";

struct Outlier : Rule {
  using Rule::Rule;
  Verdict invoke_at_step(std::int64_t step) override {
    Verdict verdict;
    for (const auto& name : base_trial().tensor_names({.step = step, .collection = "gradients"})) {
      verdict.count(1);
      const TensorValue value = base_trial().tensor(name).value(step);
      const Statistics statistics = compute_statistics(value.view());
      if (statistics.abs_max > 10 * std::sqrt(statistics.variance) + 1)
        verdict.add({.tensor = name, .value = statistics.abs_max, .threshold = 10});
    }
    return verdict;
  }
};

void raw_values(benchmark::State& state) {
  const GradientsRun run(40, 10, std::size_t{1} << 18U, false);
  compare(state, run, run.lua(kOutlier),
          [](Trial& trial) { return std::make_unique<Outlier>(trial); });
  state.SetBytesProcessed(state.iterations() * 40 * 10 * (1 << 20));
}

BENCHMARK(vanishing_gradient)->Iterations(9)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK(tensor_by_tensor)->Iterations(9)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK(raw_values)->Iterations(9)->Unit(benchmark::kMillisecond)->UseManualTime();

}  // namespace
}  // namespace cupel
