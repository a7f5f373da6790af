-- stopped by: clock
-- at: on_end
return cupel.rule {
  name = "Attack",
  on_end = function(self)
    pcall(function() while true do end end)
  end,
  invoke_at_step = function(self, trial, step) end,
}
