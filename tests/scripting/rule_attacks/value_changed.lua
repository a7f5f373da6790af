-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    trial:tensor("large"):value(step)[1] = 3
  end,
}
