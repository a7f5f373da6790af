-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do trial:each{step = step, regex = "nothing|words", reductions = "median"} end
  end,
}
