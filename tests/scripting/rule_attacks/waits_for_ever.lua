-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    self:ask_again(("for ever "):rep(1000))
  end,
}
