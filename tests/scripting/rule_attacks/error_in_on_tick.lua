-- stopped by: error
-- at: on_tick
return cupel.rule {
  name = "Attack",
  on_tick = function(self, now)
    error({})
  end,
  invoke_at_step = function(self, trial, step) end,
}
