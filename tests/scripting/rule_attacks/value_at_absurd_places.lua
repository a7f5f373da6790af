-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local large = trial:tensor("large"):value(step)
    for _, at in ipairs{0, -1 << 62, 1 << 62, math.mininteger, math.maxinteger, 0 / 0, 1 / 0, 0.5} do
      pcall(function() return large[at] end)
      pcall(large.at, large, at, at)
      pcall(large.slice, large, at, at, at)
      pcall(large.slice, large, 1, at, math.maxinteger)
      pcall(large.slice, large, 1, math.mininteger, at)
      pcall(large.reshape, large, {at, at})
      pcall(large.to_table, large, at)
      pcall(large.indices, large, at)
      pcall(large.quantile, large, at)
      pcall(large.norm, large, at)
      pcall(large.histogram, large, {bins = at, min = at, max = at})
      pcall(large.clip, large, at, at)
      pcall(cupel.zeros, {at})
      pcall(cupel.value, {1, 2}, {shape = {at, 2}})
    end
  end,
}
