-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    while true do self:issue{tensor = "loss", value = 1} end
  end,
}
