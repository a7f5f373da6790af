-- stopped by: memory
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    self.kept = self.kept or {}
    for i = 1, 4e5 do self.kept[#self.kept + 1] = {i} end
  end,
}
