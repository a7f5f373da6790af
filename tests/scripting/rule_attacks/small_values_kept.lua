-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local kept = {}
    while true do kept[#kept + 1] = cupel.value(1) end
  end,
}
