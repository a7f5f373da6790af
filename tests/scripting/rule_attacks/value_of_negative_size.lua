-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    cupel.zeros({-1, -1})
  end,
}
