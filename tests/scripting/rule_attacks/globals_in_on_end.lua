-- stopped by: allow-list
-- at: on_end
return cupel.rule {
  name = "Attack",
  on_end = function(self)
    return _G.io.open("../canary.txt"):read("a")
  end,
  invoke_at_step = function(self, trial, step) end,
}
