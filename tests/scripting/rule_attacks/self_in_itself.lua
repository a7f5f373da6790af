-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    self.me = self
    self[self] = {self, [self] = self}
  end,
}
