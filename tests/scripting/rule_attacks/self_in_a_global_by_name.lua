-- stopped by: error
-- at: load
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    stolen = self
  end,
}
