-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    xpcall(error, function() while true do end end)
  end,
}
