-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local kept = {}
    while true do
      local patterns = {}
      for i = 1, 32 do patterns[i] = "x" .. i .. string.rep("(?:ab){40}", 40 - #kept % 16) end
      trial:each{step = step, regex = patterns}
      kept[#kept + 1] = string.rep("x", 1000000) .. #kept
    end
  end,
}
