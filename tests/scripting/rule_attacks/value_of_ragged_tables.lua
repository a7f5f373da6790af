-- stopped by: nothing
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    local round = {1}
    round[1] = round
    pcall(cupel.value, round)
    pcall(cupel.value, {{1}, {1, 2}, 3})
    pcall(cupel.value, {1, "x", true})
    pcall(cupel.value, {{}, {}})
    pcall(cupel.value, {}, {shape = {0, 1 << 62}})
    pcall(cupel.value, print)
  end,
}
