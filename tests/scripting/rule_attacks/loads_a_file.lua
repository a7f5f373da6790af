-- stopped by: allow-list
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    print(_G.dofile("../canary.lua"))
  end,
}
