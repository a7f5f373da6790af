-- stopped by: instructions
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    while true do end
  end,
  invoke_at_step = function(self, trial, step) end,
}
