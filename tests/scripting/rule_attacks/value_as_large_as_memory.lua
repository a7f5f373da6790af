-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    return cupel.zeros({64 << 20})
  end,
}
