-- stopped by: memory
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    local t = {}
    while true do t[#t + 1] = {} end
  end,
  invoke_at_step = function(self, trial, step) end,
}
