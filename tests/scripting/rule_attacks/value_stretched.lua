-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local large = trial:tensor("large"):value(step)
    return large:reshape({1 << 18, 1}) * large:reshape({1, 1 << 18})
  end,
}
