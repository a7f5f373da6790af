-- stopped by: allow-list
-- at: required
return cupel.rule {
  name = "Attack",
  required = function(self, step, req)
    return _G.io.open("../canary.txt"):read("a")
  end,
  invoke_at_step = function(self, trial, step) end,
}
