-- stopped by: clock
-- at: on_tick
return cupel.rule {
  name = "Attack",
  on_tick = function(self, now)
    pcall(function() while true do end end)
  end,
  invoke_at_step = function(self, trial, step) end,
}
