-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    for _, name in ipairs{"", "none", "\0", ("x"):rep(1e5), "loss\0", "../canary.txt"} do
      pcall(trial.tensor, trial, name)
      pcall(trial.collection, trial, name)
      pcall(trial.has_tensor, trial, name)
      pcall(trial.steps, trial, name)
      pcall(trial.tensor_names, trial, {collection = name})
      pcall(trial.tensor_names, trial, {mode = name})
      pcall(trial.each, trial, {step = step, reductions = name})
    end
  end,
}
