-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do pcall(trial.tensor_names, trial, {regex = "(((.*)*)*)*[^a-z/0-9.]"}) end
  end,
}
