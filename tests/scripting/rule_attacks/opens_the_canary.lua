-- stopped by: allow-list
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    print(_G.io.open("../canary.txt"):read("a"))
  end,
}
