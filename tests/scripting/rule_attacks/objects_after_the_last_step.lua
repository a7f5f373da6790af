-- stopped by: nothing
-- at: on_end
return cupel.rule {
  name = "Attack",
  on_end = function(self)
    local trial = self.trial
    for name in trial:each{step = 0} do pcall(trial.tensor, trial, name) end
    pcall(self.issue, self, {tensor = "x", value = 1})
    pcall(self.ask_again, self, "x")
    self:end_rule()
  end,
  invoke_at_step = function(self, trial, step) end,
}
