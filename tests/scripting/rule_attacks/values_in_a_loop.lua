-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local large = trial:tensor("large"):value(step)
    while true do local sum = (large * large + large):mean() end
  end,
}
