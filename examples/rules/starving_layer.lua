-- StarvingLayer: a layer gets hardly any gradient beside the layer that gets the most, so it does
-- not learn. Deep networks starve from their first layer on.
--
--   cupel watch TRIAL --rule starving_layer.lua,share=1e-6
--
-- It reads the index of the run only: save the reduction abs_mean of the gradients.

return cupel.rule {
  name = "StarvingLayer",
  summary = "a layer gets hardly any gradient",

  params = {
    share = {
      default = 1e-4, at_least = 0, at_most = 1, help = "fires below this share of the largest",
    },
  },

  needs = { collections = { "gradients" }, reductions = { "abs_mean" } },

  invoke_at_step = function(self, trial, step)
    local gradients = { step = step, collection = "gradients", reductions = { "abs_mean" } }
    local largest = 0
    for _, _, mean in trial:each(gradients) do largest = math.max(largest, mean) end

    local threshold = self.params.share * largest
    for name, worker, mean in trial:each(gradients) do
      if mean < threshold then
        self:issue { tensor = name, worker = worker, value = mean, threshold = threshold }
      end
    end
  end,
}
