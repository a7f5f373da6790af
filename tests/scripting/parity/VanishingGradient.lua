-- VanishingGradient: gradients became so small that learning stops. A gradient fires where the mean
-- of its magnitudes is below the threshold, each worker's copy by itself, in every mode.
--
-- The index is all that is read where the hook saved abs_mean or l1, as `needs` asks for. Where it
-- did not, trial:each reads the raw value, and it skips tensors that have neither.

return cupel.rule {
  name = "VanishingGradient",
  summary = "gradients became so small that learning stops",
  params = {
    threshold = {
      default = 1e-7,
      at_least = 0,
      help = "fires when the mean magnitude of a gradient is below this (>= 0)",
    },
  },
  needs = { collections = { "gradients" }, reductions = { "abs_mean" } },

  invoke_at_step = function(self, trial, step)
    local threshold = self.params.threshold
    local gradients = { step = step, collection = "gradients", reductions = { "abs_mean" } }
    for name, worker, mean in trial:each(gradients) do
      if mean < threshold then
        self:issue {
          tensor = name,
          worker = worker,
          value = mean,
          threshold = threshold,
          message = "abs_mean " .. cupel.comparison(mean, "<", threshold),
        }
      end
      if self:explaining() then
        local compared = cupel.comparison(mean, "<", threshold)
        self:explain { tensor = name, worker = worker, compared = compared }
      end
    end
  end,
}
