-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do
      for name, worker, mean in trial:each{step = step, reductions = "mean", collection = "gradients"} do end
    end
  end,
}
