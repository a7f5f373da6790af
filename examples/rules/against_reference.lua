-- AgainstReference: the loss is clearly worse than it was at the same step of another run, one that
-- is known to be good. So a change that broke training is seen long before the end.
--
--   cupel watch TRIAL --rule against_reference.lua,other_trials=runs/good,tolerance=0.5
--
-- Steps are global steps. Where the reference has several workers, its first one counts.

return cupel.rule {
  name = "AgainstReference",
  summary = "a loss is worse than in another run",

  params = {
    tolerance = {
      default = 0.2, at_least = 0, help = "fires when the loss is higher by this share",
    },
  },

  needs = { collections = { "losses" }, reductions = { "mean" } },

  -- The rule is not started without another run: other_trials=PATH.
  other_trials = 1,

  -- What has to be there before the step is judged. The reference may be a run that is still
  -- trained: the rule then waits for it. A step that it does not have is passed over.
  required = function(self, step, req)
    for _, name in ipairs(self.trial:tensor_names { step = step, collection = "losses" }) do
      req:add(name, step, { trial = self.other_trials[1] })
    end
  end,

  invoke_at_step = function(self, trial, step)
    local reference = self.other_trials[1]
    for name, worker, loss in trial:each {
      step = step, collection = "losses", reductions = { "mean" },
    } do
      local good = reference:tensor(name):reduction_value(step, "mean")
      local limit = good + self.params.tolerance * math.abs(good)
      if loss > limit then
        self:issue {
          tensor = name,
          worker = worker,
          value = loss,
          threshold = limit,
          message = cupel.comparison(loss, ">", limit) .. ": " .. reference:name() .. " has " ..
            cupel.text(good),
        }
      end
    end
  end,
}
