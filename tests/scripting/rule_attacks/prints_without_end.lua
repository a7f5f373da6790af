-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do print(("x"):rep(1e5)) end
  end,
}
