-- stopped by: clock
-- at: needs
return cupel.rule {
  name = "Attack",
  needs = function(params)
    pcall(function() while true do end end)
  end,
  invoke_at_step = function(self, trial, step) end,
}
