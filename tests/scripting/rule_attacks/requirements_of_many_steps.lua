-- stopped by: memory
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    local steps = {}
    for i = 1, 10000 do steps[i] = step end
    for i = 1, 9000 do req:add("loss", steps) end
  end,
  invoke_at_step = function(self, trial, step) end,
}
