-- stopped by: error
-- at: on_end
return cupel.rule {
  name = "Attack",
  on_end = function(self)
    error({})
  end,
  invoke_at_step = function(self, trial, step) end,
}
