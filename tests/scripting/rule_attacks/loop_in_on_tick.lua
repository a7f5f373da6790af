-- stopped by: instructions
-- at: on_tick
return cupel.rule {
  name = "Attack",
  on_tick = function(self, now)
    while true do end
  end,
  invoke_at_step = function(self, trial, step) end,
}
