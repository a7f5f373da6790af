-- stopped by: clock
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do
      for name, worker, median in trial:each{step = step, regex = "large", reductions = "median"} do end
    end
  end,
}
