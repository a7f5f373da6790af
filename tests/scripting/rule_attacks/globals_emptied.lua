-- stopped by: nothing
local pairs, all = pairs, _G
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    for name in pairs(all) do all[name] = nil end
  end,
}
