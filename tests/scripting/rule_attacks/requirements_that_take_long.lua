-- stopped by: clock
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    local steps = {}
    for i = 1, 10000 do steps[i] = 0 end
    for i = 1, 700 do req:add(".", steps, {regex = true}) end
  end,
  invoke_at_step = function(self, trial, step) end,
}
