-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local kept = {}
    for i = 1, 1e9 do
      local _, missing = pcall(trial.tensor, trial, ("x"):rep(10000) .. i)
      kept[i] = missing
    end
  end,
}
