-- stopped by: error
return cupel.rule {
  name = "Attack",
  invoke_at_step = function(self, trial, step)
    error("../canary.lua:1: look here", 0)
  end,
}
