-- stopped by: allow-list
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    _G.io.open("made_by_attack.txt", "w"):write("x")
  end,
}
