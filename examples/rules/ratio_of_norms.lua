-- RatioOfNorms: the gradient of a layer is very large or very small beside its weights. The norm of
-- a gradient by itself says little: 0.1 is a lot for weights of 0.01 and nothing for weights of
-- 100. The ratio of the norms, times the learning rate, is how far a step moves the weights.
--
--   cupel watch TRIAL --rule ratio_of_norms.lua,at_least=1e-5,at_most=1
--
-- A gradient is paired with the weight of the same name (see names.lua) and the same worker.

local names = require "names"

-- The norms of a collection at a step, by worker and name.
local function norms_of(trial, step, collection)
  local norms = {}
  for name, worker, norm in trial:each {
    step = step, collection = collection, reductions = { "l2" },
  } do
    norms[worker .. " " .. name] = norm
  end
  return norms
end

-- Records a ratio that is out of bounds.
local function judge(self, name, worker, ratio)
  local sign, bound
  if ratio < self.params.at_least then
    sign, bound = "<", self.params.at_least
  elseif ratio > self.params.at_most then
    sign, bound = ">", self.params.at_most
  else
    return
  end
  self:issue {
    tensor = name,
    worker = worker,
    value = ratio,
    threshold = bound,
    message = "|gradient| / |weight| " .. cupel.comparison(ratio, sign, bound),
  }
end

return cupel.rule {
  name = "RatioOfNorms",
  summary = "a gradient is too large or too small for its weights",

  params = {
    at_least = { default = 1e-7, at_least = 0, help = "fires when |gradient| / |weight| is below" },
    at_most = { default = 10.0, at_least = 0, help = "fires when |gradient| / |weight| is above" },
  },

  needs = {
    { collections = { "gradients" }, reductions = { "l2" } },
    { collections = { "weights" }, reductions = { "l2" } },
  },

  invoke_at_step = function(self, trial, step)
    local weights = norms_of(trial, step, "weights")
    for name, worker, gradient in trial:each {
      step = step, collection = "gradients", reductions = { "l2" },
    } do
      local parameter = names.parameter_of(name) or "of that name"
      local weight = weights[worker .. " " .. parameter]
      if weight == nil then
        self:skip {
          tensor = name, worker = worker, reason = "no weight " .. parameter .. " at this step",
        }
      elseif weight == 0 then
        self:skip { tensor = name, worker = worker, reason = parameter .. " is all 0" }
      else
        judge(self, name, worker, gradient / weight)
      end
    end
  end,
}
