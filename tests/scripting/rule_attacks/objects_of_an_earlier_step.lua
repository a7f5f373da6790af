-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    if self.each then
      for i = 1, 10 do self.each() end
      pcall(self.tensor.value, self.tensor, step)
      self.trial:steps()
      local sum = (self.value + 1):mean()
    end
    self.trial = trial
    self.each = trial:each{step = step}
    self.tensor = trial:tensor("loss")
    self.value = self.tensor:value(step)
  end,
}
