-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local value = trial:tensor("large"):value(step)
    pcall(function() return value:reshape({-5}) end)
    pcall(function() return value + trial end)
    pcall(error, value)
    local sum = value:mean()
    local _, same = pcall(error, trial)
    assert(same == trial and #same:steps() > 0)
  end,
}
