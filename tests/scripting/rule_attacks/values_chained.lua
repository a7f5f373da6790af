-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local last = trial:tensor("large"):value(step)
    local all = {last}
    while true do
      last = -last
      all[#all + 1] = last
    end
  end,
}
