-- stopped by: memory
-- at: on_tick
return cupel.rule {
  name = "Attack",
  on_tick = function(self, now)
    local t = {}
    while true do t[#t + 1] = {} end
  end,
  invoke_at_step = function(self, trial, step) end,
}
