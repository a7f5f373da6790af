-- stopped by: error
-- at: needs
return cupel.rule {
  name = "Attack",
  needs = function(params)
    error({})
  end,
  invoke_at_step = function(self, trial, step) end,
}
