-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local t = {}
    while true do t[#t + 1] = {} end
  end,
}
