-- stopped by: memory
-- at: needs
return cupel.rule {
  name = "Attack",
  needs = function(params)
    local t = {}
    while true do t[#t + 1] = {} end
  end,
  invoke_at_step = function(self, trial, step) end,
}
