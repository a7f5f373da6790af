-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    for name in trial:each{step = step} do
      while true do end
    end
  end,
}
