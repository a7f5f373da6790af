-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do end
  end,
}
