-- stopped by: allow-list
-- at: load
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    print(io.open("../canary.txt"):read("a"))
  end,
}
