-- GradientTooLarge: the gradient of a layer has become so large that a step of the usual size may
-- throw its weights far away. A run that diverges passes here before its loss is NaN.
--
--   cupel check TRIAL --rule gradient_too_large.lua
--   cupel watch TRIAL --rule gradient_too_large.lua,threshold=5 --action stop
--
-- It reads the index of the run only: save the reduction abs_mean of the gradients, and no raw
-- values are needed.

return cupel.rule {
  name = "GradientTooLarge",
  summary = "gradients are too large",

  params = {
    threshold = { default = 10.0, at_least = 0, help = "fires when a mean magnitude is above" },
  },

  needs = { collections = { "gradients" }, reductions = { "abs_mean" } },

  invoke_at_step = function(self, trial, step)
    local threshold = self.params.threshold
    for name, worker, mean in trial:each {
      step = step, collection = "gradients", reductions = { "abs_mean" },
    } do
      if mean > threshold then
        self:issue {
          tensor = name,
          worker = worker,
          value = mean,
          threshold = threshold,
          message = "abs_mean " .. cupel.comparison(mean, ">", threshold),
        }
      end
    end
  end,
}
