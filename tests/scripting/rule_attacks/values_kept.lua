-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    self.kept = self.kept or {}
    local large = trial:tensor("large"):value(step)
    for i = 1, 100 do self.kept[#self.kept + 1] = large + i end
  end,
}
