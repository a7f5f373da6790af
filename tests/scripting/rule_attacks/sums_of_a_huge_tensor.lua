-- stopped by: clock
-- run: huge
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    if step < 4 then return end
    while true do trial:tensor("bytes"):reduction_value(step, "sum") end
  end,
}
