-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local large = trial:tensor("large"):value(step)
    while true do large:histogram{bins = 1000} end
  end,
}
