-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local large = trial:tensor("large"):value(step)
    while true do large:slice(1, 1, 9000):to_table(10000) end
  end,
}
