-- ActivationOutliers: some activations are far from all others. They spoil quantization, dominate
-- the dot products behind them, and often grow until they overflow in half precision.
--
--   cupel watch TRIAL --rule activation_outliers.lua,tensor_regex=relu,gelu,deviations=8
--
-- It reads raw values, which have to be saved: all arithmetic on them is done in C++.

-- The share of the elements that are further from their mean than so many standard deviations.
local function share_of_outliers(numbers, deviations)
  local mean, std = numbers:mean(), numbers:std()
  -- Of equal numbers, or of none, nothing is an outlier.
  if not (std > 0) then return 0.0 end
  local is_outlier = (numbers - mean):abs():gt(deviations * std)
  return is_outlier:mean()
end

local function judge(self, name, worker, value)
  -- NaN and infinities are what ExplodingTensor looks for. They would spoil mean and std.
  local numbers = value:where(value:isfinite())
  local share = share_of_outliers(numbers, self.params.deviations)
  if share > self.params.share then
    local magnitudes = numbers:abs()
    self:issue {
      tensor = name,
      worker = worker,
      value = share,
      threshold = self.params.share,
      message = string.format("outliers %s: the largest is %s, 99 %% are up to %s",
        cupel.comparison(share, ">", self.params.share), cupel.text(magnitudes:max()),
        cupel.text(magnitudes:quantile(0.99))),
    }
  end
end

return cupel.rule {
  name = "ActivationOutliers",
  summary = "activations are far from all others",

  params = {
    tensor_regex = { default = { "output" }, help = "patterns of the names of activations" },
    deviations = {
      default = 6.0, at_least = 1, help = "an outlier is so many standard deviations from the mean",
    },
    share = {
      default = 0.001, at_least = 0, at_most = 1, help = "fires when a larger share are outliers",
    },
  },

  needs = function(params)
    return { patterns = params.tensor_regex, raw = true }
  end,

  invoke_at_step = function(self, trial, step)
    for name, worker in trial:each { step = step, regex = self.params.tensor_regex } do
      local tensor = trial:tensor(name)
      local record = tensor:record(step, { worker = worker })
      if record.dtype == "utf8" then
        self:skip { tensor = name, worker = worker, reason = "text is no numbers" }
      elseif not record.has_value then
        self:skip { tensor = name, worker = worker, reason = "its raw value was not saved" }
      else
        judge(self, name, worker, tensor:value(step, { worker = worker }))
      end
    end
  end,
}
