-- stopped by: allow-list
-- at: needs
return cupel.rule {
  name = "Attack",
  needs = function(params)
    return _G.io.open("../canary.txt"):read("a")
  end,
  invoke_at_step = function(self, trial, step) end,
}
