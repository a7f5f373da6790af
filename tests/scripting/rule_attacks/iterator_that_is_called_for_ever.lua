-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local next_one = trial:each{step = step}
    while true do next_one() end
  end,
}
