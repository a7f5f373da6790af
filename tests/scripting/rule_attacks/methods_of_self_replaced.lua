-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    self.issue = 5
    self:issue{tensor = "loss", value = 1}
  end,
}
