#pragma once

namespace cupel {

/// The built-in rule of that name, in Lua.
inline constexpr const char* kVanishingGradientInLua = R"(
return cupel.rule {
  name = "VanishingGradient",
  params = { threshold = 1e-7 },
  needs = { collections = { "gradients" }, reductions = { "abs_mean" } },
  invoke_at_step = function(self, trial, step)
    local threshold = self.params.threshold
    for name, worker, mean in trial:each {
      step = step, collection = "gradients", reductions = { "abs_mean" },
    } do
      if mean < threshold then
        self:issue { tensor = name, worker = worker, value = mean, threshold = threshold }
      end
    end
  end,
})";

}  // namespace cupel
