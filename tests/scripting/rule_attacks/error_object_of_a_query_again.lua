-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local _, missing = pcall(trial.tensor, trial, "none")
    error(missing)
  end,
}
