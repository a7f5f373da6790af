-- stopped by: clock
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    pcall(function() while true do end end)
  end,
  invoke_at_step = function(self, trial, step) end,
}
