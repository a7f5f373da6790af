-- stopped by: memory
-- at: on_end
return cupel.rule {
  name = "Attack",
  on_end = function(self)
    local t = {}
    while true do t[#t + 1] = {} end
  end,
  invoke_at_step = function(self, trial, step) end,
}
