-- stopped by: allow-list
-- at: on_tick
return cupel.rule {
  name = "Attack",
  on_tick = function(self, now)
    return _G.io.open("../canary.txt"):read("a")
  end,
  invoke_at_step = function(self, trial, step) end,
}
