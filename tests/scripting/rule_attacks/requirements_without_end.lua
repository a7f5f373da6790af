-- stopped by: error
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    while true do req:add("loss", step) end
  end,
  invoke_at_step = function(self, trial, step) end,
}
