-- stopped by: error
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    error({})
  end,
  invoke_at_step = function(self, trial, step) end,
}
