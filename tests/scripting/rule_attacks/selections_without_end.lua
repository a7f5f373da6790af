-- stopped by: instructions
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    for i = 1, 1e9 do trial:each{step = step, regex = "x{" .. i % 900 .. "}y"} end
  end,
}
