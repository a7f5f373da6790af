-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    if step > 0 then return end
    self.params.threshold = {}
    self.params = nil
    self.name = 5
    self.trial = nil
    self.other_trials = self
  end,
}
