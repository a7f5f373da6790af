-- LossPlateau: the loss has not come below its best value for many saved steps. Training longer
-- costs time and brings nothing; the learning rate may be too small, or the model has learned what
-- it can.
--
--   cupel watch TRIAL --rule loss_plateau.lua,patience=20,min_delta=0.001
--
-- The rule remembers the best loss of every tensor, worker and mode in self. A loss that is NaN or
-- infinite is not an improvement.

-- What is remembered of one loss; it is made when the loss is seen first.
local function remembered(self, key)
  self.best = self.best or {}
  self.best[key] = self.best[key] or { loss = math.huge, waited = 0 }
  return self.best[key]
end

return cupel.rule {
  name = "LossPlateau",
  summary = "a loss has stopped falling",

  params = {
    patience = { default = 10, at_least = 1, help = "so many saved steps without a better loss" },
    min_delta = { default = 0.0, at_least = 0, help = "a better loss is lower by more than this" },
    good_enough = { default = -1e30, help = "a best loss up to this may stay where it is" },
  },

  -- A function, since it depends on a parameter: of fewer saved steps the rule can say nothing.
  needs = function(params)
    return {
      collections = { "losses" },
      reductions = { "mean" },
      steps = params.patience + 1,
    }
  end,

  invoke_at_step = function(self, trial, step)
    local mode = trial:mode(step)
    for name, worker, loss in trial:each {
      step = step, collection = "losses", reductions = { "mean" },
    } do
      local best = remembered(self, mode .. " " .. worker .. " " .. name)
      if loss < best.loss - self.params.min_delta then
        best.loss, best.waited = loss, 0
      else
        best.waited = best.waited + 1
      end
      if best.waited >= self.params.patience and best.loss > self.params.good_enough then
        self:issue {
          tensor = name,
          worker = worker,
          value = loss,
          threshold = best.loss,
          message = string.format("%s: for %d saved steps no better than %s",
            cupel.text(loss), best.waited, cupel.text(best.loss)),
        }
      end
    end
  end,
}
