-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    trial:tensor("large"):value(step):histogram{bins = 1 << 60}
  end,
}
